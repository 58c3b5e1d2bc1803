package taskkit_test

import (
	"context"
	"fmt"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// tidy is an executor that cleans up and reports.
type tidy struct{ greeter }

// Abort implements [taskkit.Aborter].
func (tidy) Abort(_ context.Context, b *greetBatch) error {
	fmt.Println("abort:", b.EndReason())
	return nil
}

// Report implements [taskkit.Reporter].
func (tidy) Report(_ context.Context, b *greetBatch) (string, error) {
	return fmt.Sprint("greeted ", b.State.Greeted), nil
}

func ExampleAborter() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	var r taskkit.Registry
	taskkit.Register[greetSpec, greetState](&r, greetKind, tidy{func(context.Context, *greetBatch) (taskkit.Next, error) {
		return taskkit.More, taskkit.Permanent("rain", nil)
	}})
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	fmt.Println(runToEnd(db, &r, id, taskkit.Config{}).Status)
	// Output:
	// abort: failed
	// FAILURE
}

// Fetch reads the result of a Reporter. Generated packages have a Fetch of their
// own.
func ExampleReporter() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	kind := taskkit.NewKind(taskkind.Definition[greetSpec, greetState, string]{
		Name: "greet_and_tell",
	})
	var r taskkit.Registry
	taskkit.Register[greetSpec, greetState](&r, kind, tidy{func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		people, next := taskkit.Take(b, b.Spec.People)
		b.State.Greeted += len(people)
		return next, nil
	}})
	id, _ := taskkit.Submit(ctx, db, kind, greetSpec{People: []string{"Ada", "Kurt"}}, taskkit.System())
	runToEnd(db, &r, id, taskkit.Config{})
	fmt.Println(taskkit.Fetch(ctx, taskkit.NewClient(db), kind, id))
	// Output: greeted 2 <nil>
}
