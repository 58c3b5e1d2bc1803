package taskkit_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

// runToPause runs a worker until a task is paused, and returns the task.
func runToPause(db *sql.DB, r *taskkit.Registry, id taskkit.ID) *taskkit.Task {
	w, err := taskkit.NewWorker(context.Background(), db, r, taskkit.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	waiting, found := context.WithCancel(ctx)
	t, _ := taskkit.NewClient(db).Wait(waiting, id, func(t *taskkit.Task, err error) {
		if err == nil && t.Status == taskkit.StatusQueued && t.Control == taskkit.ControlPause {
			found()
		}
	})
	found()
	stop()
	if err := <-done; err != nil {
		panic(err)
	}
	return t
}

// failingGreetings fails each person whose name is not known.
func failingGreetings() *taskkit.Registry {
	return greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		people, next := taskkit.Take(b, b.Spec.People)
		for _, p := range people {
			if p == "?" || p == "??" {
				b.Fail(p, taskkit.Permanent("unknown", nil))
			}
		}
		return next, nil
	})
}

// The task pauses as soon as two people are unknown. It is resumed with a higher limit.
func ExampleWithStopAfter() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r, client := failingGreetings(), taskkit.NewClient(db)
	people := greetSpec{People: []string{"?", "??", "Ada", "Kurt"}}
	id, err := taskkit.Submit(ctx, db, greetKind, people, taskkit.System(), taskkit.WithStopAfter("2"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(runToPause(db, r, id).ControlReason)
	_, err = client.Resume(ctx, id)
	var state *taskkit.StateError
	fmt.Println("refused:", errors.As(err, &state))
	_, err = client.Resume(ctx, id, taskkit.WithStopAfter("3"))
	fmt.Println(err, runToEnd(db, r, id, taskkit.Config{}).Status)
	// Output:
	// 2 of 2 processed items have failed, and the limit is 2
	// refused: true
	// <nil> COMPLETED
}

// The limit of a task that waits or runs can be changed.
func ExampleClient_Change() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	client := taskkit.NewClient(db)
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	_, err := client.Change(ctx, id, taskkit.Settings{StopAfter: "5%"}, taskkit.WithReason("it is late"))
	events, _ := client.Events(ctx, id, 1)
	fmt.Println(err, events[0].Reason)
	// Output: <nil> limit 5%: it is late
}

// The task pauses after one person. Somebody reads what became of that one, and approves
// the rest.
func ExampleWithCanary() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r, client := failingGreetings(), taskkit.NewClient(db)
	people := greetSpec{People: []string{"?", "Ada", "Kurt"}}
	id, _ := taskkit.Submit(ctx, db, greetKind, people, taskkit.System(), taskkit.WithCanary(1))
	task := runToPause(db, r, id)
	fmt.Println(task.Progress.Processed(), task.ControlReason)
	for item, err := range client.Items(ctx, id, taskkit.OutcomeFailed) {
		fmt.Println(item.Text(), item.Code, err)
	}
	_, err := client.Approve(ctx, id, taskkit.WithActor(uuid.New()))
	fmt.Println(err, runToEnd(db, r, id, taskkit.Config{}).Status)
	// Output:
	// 1 it waits for approval after its first item
	// ? unknown <nil>
	// <nil> COMPLETED
}

// A second person approves the task before its first batch.
func ExampleWithApproval() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	client, owner := taskkit.NewClient(db), uuid.New()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.OwnedBy(owner), taskkit.WithApproval())
	fmt.Println(client.Explain(ctx, id))
	_, err := client.Approve(ctx, id, taskkit.WithActor(owner))
	var state *taskkit.StateError
	fmt.Println("refused:", errors.As(err, &state))
	task, err := client.Approve(ctx, id, taskkit.WithActor(uuid.New()), taskkit.WithReason("checked"))
	fmt.Println(task.Control == "", err)
	// Output:
	// It is paused (it waits for approval before its first batch, by a second person) at checkpoint 0; approve continues it. <nil>
	// refused: true
	// true <nil>
}
