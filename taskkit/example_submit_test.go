package taskkit_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"taskkit.dev/taskkit"
)

// A task submitted in a transaction exists if the transaction commits.
func ExampleSubmit() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	client := taskkit.NewClient(db)

	tx, _ := db.BeginTx(ctx, nil)
	id, err := taskkit.Submit(ctx, tx, greetKind, greetSpec{People: []string{"Ada", "Kurt"}}, taskkit.System())
	fmt.Println("submitted:", err)
	_ = tx.Rollback()
	_, err = client.Task(ctx, id)
	fmt.Println("after a rollback:", err)

	_, err = taskkit.Submit(ctx, db, greetKind, greetSpec{}, taskkit.System())
	fmt.Println(err)
	// Output:
	// submitted: <nil>
	// after a rollback: taskkit: no such task
	// taskkit: spec of greet refused, nothing was stored: /people breaks the rule required (it is of length 0)
}

func ExampleSubmitMany() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	ids, err := taskkit.SubmitMany(ctx, db, greetKind, []greetSpec{{People: []string{"Ada"}}, {People: []string{"Kurt"}}},
		taskkit.WithPriority(taskkit.PriorityLow), taskkit.WithReason("the new year"), taskkit.WithoutNotify(), taskkit.System())
	fmt.Println(len(ids), err)
	// Output: 2 <nil>
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
	if _, err := taskkit.Submit(ctx, taskkit.PgxTx(tx), greetKind, nobody, taskkit.System()); err != nil {
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
	_, err := r.SubmitJSON(ctx, db, "greet", []byte(`{"people":["Ada"]}`), taskkit.System())
	fmt.Println(err)
	_, err = r.SubmitJSON(ctx, db, "fax", []byte(`{}`), taskkit.System())
	fmt.Println(err)
	// Output:
	// <nil>
	// taskkit: kind "fax": no executor: register one; known are greet
}
