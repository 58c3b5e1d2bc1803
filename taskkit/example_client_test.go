package taskkit_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

func ExampleClient_Tasks() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	for range 3 {
		_, _ = taskkit.Submit(ctx, db, greetKind, nobody)
	}
	client, page := taskkit.NewClient(db), taskkit.Filter{Kinds: []string{"greet"}, Limit: 2}
	for {
		tasks, err := client.Tasks(ctx, page)
		if err != nil || len(tasks) == 0 {
			break
		}
		fmt.Println("a page of", len(tasks))
		page.Before = tasks[len(tasks)-1].ID
	}
	// Output:
	// a page of 2
	// a page of 1
}

// A stop keeps what was done. A task that nobody has begun ends at once.
func ExampleClient_Stop() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody)
	task, err := taskkit.NewClient(db).Stop(ctx, id, taskkit.By(uuid.New()), taskkit.Because("wrong people"))
	fmt.Println(task.Status, task.Partial(), err)
	// Output: COMPLETED true <nil>
}

func ExampleClient_Pause() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	client := taskkit.NewClient(db)
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody)
	_, _ = client.Pause(ctx, id)
	fmt.Println(client.Explain(ctx, id))
	_, _ = client.Resume(ctx, id)
	_, err := client.Resume(ctx, id)
	var state *taskkit.StateError
	fmt.Println(errors.As(err, &state))
	// Output:
	// It is paused at checkpoint 0; resume lets it go on. <nil>
	// true
}

// A retry goes on from the last checkpoint with a fresh budget.
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
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody)
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
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody)
	_, _ = client.Delete(ctx, id)
	_, err := client.Task(ctx, id)
	events, _ := client.Events(ctx, id, 1)
	fmt.Println(errors.Is(err, taskkit.ErrNotFound), events[0].Action)
	// Output: true delete
}

// Explain says in one sentence why a task is not running.
func ExampleClient_Explain() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody)
	fmt.Println(taskkit.NewClient(db).Explain(ctx, id))
	// Output: It is due but no worker can take it: no worker is alive. <nil>
}

// A person names a task by its id, by the end of it, or by @last.
func ExampleClient_Resolve() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	client := taskkit.NewClient(db)
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody)
	last, _ := client.Resolve(ctx, "@last")
	short, _ := client.Resolve(ctx, id.String()[28:])
	_, err := client.Resolve(ctx, "x")
	fmt.Println(last == id, short == id)
	fmt.Println(err)
	// Output:
	// true true
	// taskkit: "x" is no task: want a full id, its last 4 or more characters, or @last
}

// A client on a transaction takes part in it.
func ExampleNewClient() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody)
	tx, _ := db.BeginTx(ctx, nil)
	_, _ = taskkit.NewClient(tx).Delete(ctx, id)
	_ = tx.Rollback()
	task, err := taskkit.NewClient(db).Task(ctx, id)
	fmt.Println(task.Status, err)
	// Output: QUEUED <nil>
}

// CheckSchema names the command that helps.
func ExampleCheckSchema() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	fmt.Println(taskkit.CheckSchema(ctx, db, taskkit.DefaultSchema))
	_, _ = db.Exec(`DELETE FROM taskkit_goose_version WHERE version_id > 0`)
	var schema *taskkit.SchemaError
	err := taskkit.CheckSchema(ctx, db, taskkit.DefaultSchema)
	fmt.Println(errors.As(err, &schema) && schema.Behind())
	// Output:
	// <nil>
	// true
}
