package taskkit_test

import (
	"context"
	"fmt"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

type exitSpec struct {
	Program string `json:"program"`
}

type exitState struct {
	After int `json:"after,omitempty"` // the last student who was processed
}

// exitKind is the kind of //taskkit:executor exit ledger.
var exitKind = taskkit.NewKind(taskkind.Definition[exitSpec, exitState, struct{}]{Name: "exit", BatchSize: 2, Ledger: true})

type exitExecutor struct{}

func (exitExecutor) Execute(ctx context.Context, b *taskkit.Batch[exitSpec, exitState]) (taskkit.Next, error) {
	rows, err := b.Tx.QueryContext(ctx, "SELECT id FROM student WHERE program = $1 AND id > $2 ORDER BY id LIMIT $3",
		b.Spec.Program, b.State.After, b.Limit)
	if err != nil {
		return taskkit.More, err
	}
	defer rows.Close()
	next := taskkit.Done
	for rows.Next() {
		if err := rows.Scan(&b.State.After); err != nil {
			return taskkit.More, err
		}
		b.Succeed(b.State.After)
		next = taskkit.More
	}
	return next, rows.Err()
}

// A task that walks through a table stores which students it has processed.
func ExampleBatch_Succeed() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	_, _ = db.Exec(`CREATE TABLE student (id integer, program text)`)
	_, _ = db.Exec(`INSERT INTO student VALUES (4, 'math'), (7, 'art'), (8, 'math'), (15, 'math')`)
	var r taskkit.Registry
	taskkit.Register(&r, exitKind, exitExecutor{})
	id, err := taskkit.Submit(ctx, db, exitKind, exitSpec{Program: "math"}, taskkit.System())
	if err != nil {
		fmt.Println(err)
		return
	}
	task := runToEnd(db, &r, id, taskkit.Config{})
	fmt.Println(task.Status, task.Progress.Done)
	for item, err := range taskkit.NewClient(db).Items(ctx, id, taskkit.OutcomeSucceeded) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(item.Text())
	}
	// Output:
	// COMPLETED 3
	// 4
	// 8
	// 15
}
