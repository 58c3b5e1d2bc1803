package taskkit_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

// A stop keeps the completed batches. A task that no worker has begun ends at once.
func ExampleClient_Stop() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	task, err := taskkit.NewClient(db).Stop(ctx, id, taskkit.WithActor(uuid.New()), taskkit.WithReason("wrong people"))
	fmt.Println(task.Status, task.Partial, err)
	// Output: COMPLETED true <nil>
}

func ExampleClient_Pause() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	client := taskkit.NewClient(db)
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	_, _ = client.Pause(ctx, id)
	fmt.Println(client.Explain(ctx, id))
	_, _ = client.Resume(ctx, id)
	_, err := client.Resume(ctx, id)
	var state *taskkit.StateError
	fmt.Println(errors.As(err, &state))
	// Output:
	// It is paused at checkpoint 0; resume continues it. <nil>
	// true
}

// A retry continues from the last checkpoint with a new budget of attempts.
func ExampleClient_Retry() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	client, mended := taskkit.NewClient(db), false
	r := greeting(func(context.Context, *greetBatch) (taskkit.Next, error) {
		if !mended {
			return taskkit.More, taskkit.Permanent("broken", nil)
		}
		return taskkit.Done, nil
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	fmt.Println(runToEnd(db, r, id, taskkit.Config{}).Status)
	mended = true
	_, _ = client.Retry(ctx, id)
	fmt.Println(runToEnd(db, r, id, taskkit.Config{}).Status)
	// Output:
	// FAILURE
	// COMPLETED
}

func ExampleClient_Delete() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	client := taskkit.NewClient(db)
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	_, _ = client.Delete(ctx, id)
	_, err := client.Task(ctx, id)
	events, _ := client.Events(ctx, id, 1)
	fmt.Println(errors.Is(err, taskkit.ErrNotFound), events[0].Action)
	// Output: true delete
}
