package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

func ExampleWorker_Run() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		_, next := taskkit.Take(b, b.Spec.People)
		return next, nil
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada"}}, taskkit.System())

	w, err := taskkit.NewWorker(ctx, db, r, taskkit.Config{Slots: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(ctx) // usually signal.NotifyContext
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()

	task, _ := taskkit.NewClient(db).Wait(ctx, id, nil)
	fmt.Println(task.Status)
	stop()
	fmt.Println(<-done)
	// Output:
	// COMPLETED
	// <nil>
}

// A missing executor is reported before the worker starts.
func ExampleRegister() {
	db := exampleDB()
	defer db.Close()
	var r taskkit.Registry
	taskkit.Register[greetSpec, greetState](&r, greetKind, nil)
	_, err := taskkit.NewWorker(context.Background(), db, &r, taskkit.Config{})
	var missing *taskkit.UsageError
	fmt.Println(errors.As(err, &missing), missing.What)
	// Output: true kind "greet"
}

// Config.Context installs the security context before each transaction, and
// ends the tasks of people who may no longer act.
func ExampleConfig_context() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	leaver := uuid.New()
	r := greeting(func(context.Context, *greetBatch) (taskkit.Next, error) { return taskkit.Done, nil })
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.OwnedBy(leaver))
	task := runToEnd(db, r, id, taskkit.Config{
		Context: func(ctx context.Context, _, runAs uuid.UUID) (context.Context, error) {
			if runAs == leaver {
				return nil, taskkit.Permanent("access_revoked", nil)
			}
			return ctx, nil // with a viewer in it
		},
	})
	fmt.Println(task.Status, task.StatusDetail[:14])
	// Output: FAILURE access_revoked
}

// A worker has two of its slots for long reports, and all for other tasks. On a second worker the reports have four.
func ExampleConfig_queueSlots() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(context.Context, *greetBatch) (taskkit.Next, error) { return taskkit.Done, nil })
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System(), taskkit.WithQueue("reports"))
	task := runToEnd(db, r, id, taskkit.Config{
		Queues: []string{"default", "reports"}, Slots: 12, QueueSlots: map[string]int{"reports": 2},
	})
	fmt.Println(task.Status)
	// Output: COMPLETED
}

// NewWorker reports all mistakes in a configuration at once, and starts nothing.
func ExampleNewWorker() {
	db := exampleDB()
	defer db.Close()
	r := greeting(func(context.Context, *greetBatch) (taskkit.Next, error) { return taskkit.Done, nil })
	_, err := taskkit.NewWorker(context.Background(), db, r, taskkit.Config{BatchTimeout: time.Second, DeadAfter: 10 * time.Second, Slots: -1})
	fmt.Println(err)
	// Output:
	// taskkit: Config.DeadAfter: 10s is less than three times Heartbeat (the default 10s): other workers would take over the tasks of a live worker whose heartbeat is late
	// taskkit: Config.Slots: -1 is not between 1 and 10,000
}
