package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskpolicy"
)

// byDefault is what becomes of errors without a strategy.
var byDefault = taskpolicy.Strategy{
	{Of: taskpolicy.Item, Do: taskpolicy.FailItem},
	{Of: taskpolicy.Batch, Class: taskpolicy.Permanent, Do: taskpolicy.FailTask},
	{Of: taskpolicy.Batch, Do: taskpolicy.RetryBatch},
}

// A strategy decides about errors, by their class and code.
func ExampleWithStrategy() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	people := greetSpec{People: []string{"Ada", "Emmy", "Kurt", "Lise"}}
	id, _ := taskkit.Submit(ctx, db, greetKind, people, taskkit.System(), taskkit.WithStrategy(taskpolicy.Strategy{
		{Codes: []string{"moved"}, Do: taskpolicy.SkipItem},
		{Class: taskpolicy.Transient, Do: taskpolicy.DeferItem, First: 10 * time.Millisecond, Next: 6 * time.Hour, Tries: 4},
		{Of: taskpolicy.Batch, Do: taskpolicy.PauseTask},
	}))
	first := true
	r := greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		people, next := taskkit.Take(b, b.Spec.People)
		for _, p := range people {
			switch {
			case p == "Kurt":
				b.Fail(p, taskkit.Permanent("moved", errors.New("to Princeton")))
			case p == "Lise" && first:
				first = false
				b.Fail(p, taskkit.Transient(errors.New("the line is busy")))
			}
		}
		return next, nil
	})
	task := runToEnd(db, r, id, taskkit.Config{})
	fmt.Printf("%s: %d done, %d skipped, %d failed\n", task.Status, task.Progress.Done, task.Progress.Skipped, task.Progress.Failed)
	on, _ := byDefault.React(taskpolicy.Error{Of: taskpolicy.Batch, Class: taskpolicy.Transient})
	fmt.Println("by default:", on)
	// Output:
	// COMPLETED: 3 done, 1 skipped, 0 failed
	// by default: retry_batch on any error of a batch
}
