package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"taskkit.dev/taskkit"
)

// What is submitted to a transaction exists if it commits.
func ExampleSubmit() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	client := taskkit.NewClient(db)

	tx, _ := db.BeginTx(ctx, nil)
	id, err := taskkit.Submit(ctx, tx, greetKind, greetSpec{People: []string{"Ada", "Kurt"}})
	fmt.Println("submitted:", err)
	_ = tx.Rollback()
	_, err = client.Task(ctx, id)
	fmt.Println("after a rollback:", err)

	_, err = taskkit.Submit(ctx, db, greetKind, greetSpec{})
	fmt.Println(err)
	// Output:
	// submitted: <nil>
	// after a rollback: taskkit: no such task
	// taskkit: spec of greet refused, nothing was stored: people breaks the rule required (it is of length 0)
}

func ExampleSubmitMany() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	ids, err := taskkit.SubmitMany(ctx, db, greetKind, []greetSpec{{People: []string{"Ada"}}, {People: []string{"Kurt"}}},
		taskkit.WithPriority(taskkit.PriorityLow), taskkit.WithReason("the new year"), taskkit.Quiet())
	fmt.Println(len(ids), err)
	// Output: 2 <nil>
}

// At most one live task of a kind has a unique key.
func ExampleUniqueKey() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	first, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.UniqueKey("cohort:7"))
	_, err := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.UniqueKey("cohort:7"))
	var dup *taskkit.DuplicateError
	fmt.Println(errors.As(err, &dup) && dup.ID == first)
	// Output: true
}

// A request that a client repeats is submitted once, also after it has run.
func ExampleIdempotencyKey() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	first, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.IdempotencyKey("request 4711"))
	_, err := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.IdempotencyKey("request 4711"))
	var dup *taskkit.DuplicateError
	fmt.Println(errors.As(err, &dup) && dup.ID == first)
	// Output: true
}

// Tasks about one thing are merged while they wait.
func ExampleCoalesce() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	first, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada"}}, taskkit.Coalesce("person 7"))
	second, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada", "Kurt"}}, taskkit.Coalesce("person 7"))
	task, _ := taskkit.Get(ctx, taskkit.NewClient(db), greetKind, second)
	fmt.Println(first == second, task.Spec.People)
	// Output: true [Ada Kurt]
}

func ExampleDelay() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.Delay(time.Hour), taskkit.InQueue("night"))
	task, _ := taskkit.NewClient(db).Task(ctx, id)
	fmt.Println(task.Status, task.Queue, task.Wait.Round(time.Minute))
	// Output: QUEUED night 1h0m0s
}

func ExampleNotBefore() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.NotBefore(time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)))
	task, _ := taskkit.NewClient(db).Task(ctx, id)
	fmt.Println(task.NotBefore.UTC().Format(time.DateOnly))
	// Output: 2040-01-01
}

// The owner asked; the task runs as the owner unless RunAs says otherwise.
func ExampleOwnedBy() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	asked, acts := uuid.New(), uuid.New()
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.OwnedBy(asked), taskkit.RunAs(acts))
	task, _ := taskkit.NewClient(db).Task(ctx, id)
	fmt.Println(task.Owner == asked, task.RunAs == acts)
	// Output: true true
}

// PgxTx submits in a transaction of pgx. (It needs a server, and so it has no
// output here.)
func ExamplePgxTx() {
	var conn *pgx.Conn // your connection
	if conn == nil {
		return
	}
	ctx := context.Background()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := taskkit.Submit(ctx, taskkit.PgxTx(tx), greetKind, nobody); err != nil {
		return
	}
	_ = tx.Commit(ctx)
	// Output:
}

// A program that learns the kind at run time submits JSON.
func ExampleRegistry_SubmitJSON() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(context.Context, *greetBatch) (taskkit.Next, error) { return taskkit.Done, nil })
	_, err := r.SubmitJSON(ctx, db, "greet", []byte(`{"people":["Ada"]}`))
	fmt.Println(err)
	_, err = r.SubmitJSON(ctx, db, "fax", []byte(`{}`))
	fmt.Println(err)
	// Output:
	// <nil>
	// taskkit: unknown kind "fax": register its executor; known are greet
}
