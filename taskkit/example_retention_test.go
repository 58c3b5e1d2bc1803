package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/taskkit"
)

// Ended tasks are kept for 90 days. The results of one kind can be fetched again for an hour, and
// its tasks are kept for ever.
func ExampleRetention() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(context.Context, *greetBatch) (taskkit.Next, error) { return taskkit.Done, nil })
	config := taskkit.Config{
		Retention: taskkit.Retention{Ended: 90 * 24 * time.Hour},
		KindRetention: map[string]taskkit.Retention{
			"greet": {Fetched: time.Hour, Ended: taskkit.Never},
		},
	}
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	runToEnd(db, r, id, config)

	_, err := taskkit.NewClient(db).FetchJSON(ctx, id)
	fmt.Println("expired:", errors.Is(err, taskkit.ErrExpired))
	// Output: expired: false
}

// A template of options is an option. This one is of tasks that nobody needs for long.
func ExampleSubmitOptions() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	bulk := taskkit.SubmitOptions(taskkit.WithPriority(taskkit.PriorityLow), taskkit.WithRetention(24*time.Hour), taskkit.System())
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, bulk, taskkit.WithReason("the yearly letter"))
	task, _ := taskkit.NewClient(db).Task(ctx, id)
	fmt.Println(task.Priority == taskkit.PriorityLow, task.Reason)
	// Output: true the yearly letter
}

// A task is removed soon after its end, whatever its kind is kept for.
func ExampleWithRetention() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	_, err := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System(), taskkit.WithRetention(time.Hour))
	fmt.Println(err)
	// Output: <nil>
}
