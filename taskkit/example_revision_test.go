package taskkit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"taskkit.dev/taskkit"
)

// A field of the spec has got another name. taskgen asks for the function; tasks
// of the revision before go through it wherever they are read.
func ExampleUpgrade() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()

	// What the release before has submitted.
	before := taskkit.NewKind(taskkit.Definition[struct {
		Names []string `json:"names"`
	}, greetState]{
		Name: "greet", State: taskkit.Reflected[greetState](), Spec: taskkit.Reflected[struct {
			Names []string `json:"names"`
		}](),
	})
	id, _ := taskkit.Submit(ctx, db, before, struct {
		Names []string `json:"names"`
	}{[]string{"Ada", "Kurt"}})

	now := taskkit.NewKind(taskkit.Definition[greetSpec, greetState]{
		Name: "greet", Revision: 2, Batch: 1,
		Spec: taskkit.Reflected[greetSpec](), State: taskkit.Reflected[greetState](),
		Upgrades: []taskkit.Upgrade{{From: 1, Spec: func(old json.RawMessage) (json.RawMessage, error) {
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
	fmt.Printf("spec of revision %d, state of %d: %v\n", task.SpecRevision, task.Revision, task.Spec.People)
	// Output:
	// hello, Ada
	// hello, Kurt
	// spec of revision 1, state of 2: [Ada Kurt]
}

// A kind that was renamed still runs the tasks of its former name.
func ExampleDefinition_aliases() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada"}})

	welcome := taskkit.NewKind(taskkit.Definition[greetSpec, greetState]{
		Name: "welcome", Aliases: []string{"greet"},
		Spec: taskkit.Reflected[greetSpec](), State: taskkit.Reflected[greetState](),
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

// Secrets are for the executor. Whoever shows a task shows "***".
func ExampleDefinition_secrets() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	type spec struct {
		User  string `json:"user"`
		Token string `json:"token"` // with taskgen: `taskkit:"secret"`
	}
	kind := taskkit.NewKind(taskkit.Definition[spec, struct{}]{
		Name: "login", Secrets: []string{"/spec/token"},
		Spec: taskkit.Reflected[spec](), State: taskkit.Reflected[struct{}](),
	})
	id, _ := taskkit.Submit(ctx, db, kind, spec{"ada", "hunter2"})

	client := taskkit.NewClient(db)
	task, _ := client.Task(ctx, id)
	fmt.Printf("%s\n", task.Spec)
	typed, _ := taskkit.Get(ctx, client, kind, id)
	fmt.Println(typed.Spec.Token)
	// Output:
	// {"user":"ada","token":"***"}
	// hunter2
}

// A retired kind takes no new tasks, and runs those that are there.
func ExampleRetiredKindError() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	retired := taskkit.NewKind(taskkit.Definition[greetSpec, greetState]{
		Name: "greet", Retired: true, Spec: taskkit.Reflected[greetSpec](), State: taskkit.Reflected[greetState](),
	})
	_, err := taskkit.Submit(ctx, db, retired, nobody)
	fmt.Println(err)
	// Output: taskkit: kind greet is retired: its tasks are run, but none are submitted any more; nothing was stored
}
