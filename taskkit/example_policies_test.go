package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskpolicy"
)

// Policies notify and stop a task by what its items have come to.
func ExampleWithPolicies() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	people := greetSpec{People: []string{"Ada", "Emmy", "Kurt", "Lise"}}
	mark := func(of taskpolicy.Counter, n int64) taskpolicy.Condition {
		return taskpolicy.Condition{Items: &taskpolicy.Items{Of: of, AtLeast: n}}
	}
	id, _ := taskkit.Submit(ctx, db, greetKind, people, taskkit.System(), taskkit.WithPolicies(
		taskpolicy.Policy{Name: "first failure", When: mark(taskpolicy.Failed, 1), Do: taskpolicy.Notify},
		taskpolicy.Policy{Name: "broken", When: taskpolicy.Condition{All: []taskpolicy.Condition{
			{Items: &taskpolicy.Items{Of: taskpolicy.Failed, Code: "moved", Percent: 50, After: 3}},
			{Not: &taskpolicy.Condition{Runs: time.Hour}},
		}}, Do: taskpolicy.Stop},
	))
	r := greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		b.Limit = 1
		people, next := taskkit.Take(b, b.Spec.People)
		if people[0] != "Emmy" {
			b.Fail(people[0], taskkit.Permanent("moved", errors.New("to Princeton")))
		}
		return next, nil
	})
	task := runToEnd(db, r, id, taskkit.Config{})
	fmt.Println(task.Status, "partial:", task.Partial, "after", task.Progress.Processed(), "items")
	rules, _ := taskkit.NewClient(db).Rules(ctx, id)
	fmt.Println("fired:", rules.Fired)
	// Output:
	// COMPLETED partial: true after 3 items
	// fired: [first failure broken]
}
