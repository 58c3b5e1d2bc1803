package taskkit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// A field of the spec was renamed. taskgen requires the upgrade function, and specs of
// the previous revision are converted by it wherever they are read.
func ExampleUpgrade() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()

	// What the release before has submitted.
	before := taskkit.NewKind(taskkind.Definition[struct {
		Names []string `json:"names"`
	}, greetState, struct{}]{
		Name: "greet",
	})
	id, _ := taskkit.Submit(ctx, db, before, struct {
		Names []string `json:"names"`
	}{[]string{"Ada", "Kurt"}}, taskkit.System())

	now := taskkit.NewKind(taskkind.Definition[greetSpec, greetState, struct{}]{
		Name: "greet", Revision: 2, BatchSize: 1,
		Upgrades: []taskkind.Upgrade{{From: 1, Spec: func(old json.RawMessage) (json.RawMessage, error) {
			return bytes.Replace(old, []byte(`"names"`), []byte(`"people"`), 1), nil
		}}},
	})
	var r taskkit.Registry
	taskkit.Register[greetSpec, greetState](&r, now, greeter(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		people, next := taskkit.Take(b, b.Spec.People)
		fmt.Println("hello,", people[0])
		return next, nil
	}))
	runToEnd(db, &r, id, taskkit.Config{})

	task, err := taskkit.Get(ctx, taskkit.NewClient(db), now, id)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("spec of revision %d, state of %d: %v\n", task.Task.SpecRevision, task.Task.Revision, task.Spec.People)
	// Output:
	// hello, Ada
	// hello, Kurt
	// spec of revision 1, state of 2: [Ada Kurt]
}

// A kind that was renamed still runs the tasks of its former name.
func ExampleDefinition_aliases() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada"}}, taskkit.System())

	welcome := taskkit.NewKind(taskkind.Definition[greetSpec, greetState, struct{}]{
		Name: "welcome", Aliases: []string{"greet"},
	})
	var r taskkit.Registry
	taskkit.Register[greetSpec, greetState](&r, welcome, greeter(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		people, next := taskkit.Take(b, b.Spec.People)
		fmt.Println("welcome,", people[0])
		return next, nil
	}))
	task := runToEnd(db, &r, id, taskkit.Config{})
	fmt.Println(task.Kind, task.Status)
	// Output:
	// welcome, Ada
	// greet COMPLETED
}

// Only the executor and typed reads get secrets. A shown task has "***" instead.
func ExampleDefinition_secrets() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	type spec struct {
		User  string `json:"user"`
		Token string `json:"token"` // with taskgen: `taskkit:"secret"`
	}
	kind := taskkit.NewKind(taskkind.Definition[spec, struct{}, struct{}]{
		Name: "login", Secrets: []string{"/spec/token"},
	})
	id, _ := taskkit.Submit(ctx, db, kind, spec{"ada", "hunter2"}, taskkit.System())

	client := taskkit.NewClient(db)
	task, _ := client.Task(ctx, id)
	fmt.Printf("%s\n", task.SpecJSON)
	typed, _ := taskkit.Get(ctx, client, kind, id)
	fmt.Println(typed.Spec.Token)
	// Output:
	// {"user":"ada","token":"***"}
	// hunter2
}

// A retired kind accepts no new tasks and runs the existing ones.
func ExampleUsageError_retired() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	retired := taskkit.NewKind(taskkind.Definition[greetSpec, greetState, struct{}]{
		Name: "greet", Retired: true,
	})
	_, err := taskkit.Submit(ctx, db, retired, nobody, taskkit.System())
	fmt.Println(err)
	// Output: taskkit: kind "greet": retired, so it accepts no new tasks; nothing was stored
}
