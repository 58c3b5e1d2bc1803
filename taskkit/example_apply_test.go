package taskkit_test

import (
	"context"
	"errors"
	"fmt"

	"taskkit.dev/taskkit"
)

// The task over exactly what was previewed.
func ExampleClient_Apply() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	_, _ = db.Exec(`CREATE TABLE account (person text, balance integer)`)
	_, _ = db.Exec(`INSERT INTO account VALUES ('Ada', 20), ('Kurt', 3)`)
	c := taskkit.NewClient(db)
	var r taskkit.Registry
	taskkit.Register(&r, fineKind, fineExecutor{})
	preview, err := taskkit.Submit(ctx, db, fineKind, fineSpec{People: []string{"Ada", "Kurt"}}, taskkit.System(), taskkit.WithPreview())
	if err != nil {
		fmt.Println(err)
		return
	}
	runToEnd(db, &r, preview, taskkit.Config{})

	id, err := c.Apply(ctx, preview, taskkit.WithReason("the report was read"))
	if err != nil {
		fmt.Println(err)
		return
	}
	task := runToEnd(db, &r, id, taskkit.Config{})
	var sum int
	_ = db.QueryRow("SELECT sum(balance) FROM account").Scan(&sum)
	fmt.Println(task.Status, task.Follows == preview, "balance", sum)
	// Output:
	// COMPLETED true balance 13
}

// A preview that would change too much cannot be applied.
func ExampleWithMaxChanges() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	_, _ = db.Exec(`CREATE TABLE account (person text, balance integer)`)
	_, _ = db.Exec(`INSERT INTO account VALUES ('Ada', 20), ('Kurt', 3)`)
	var r taskkit.Registry
	taskkit.Register(&r, fineKind, fineExecutor{})
	preview, err := taskkit.Submit(ctx, db, fineKind, fineSpec{People: []string{"Ada", "Kurt"}}, taskkit.System(),
		taskkit.WithPreview(), taskkit.WithMaxChanges("account", "update", 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	task := runToEnd(db, &r, preview, taskkit.Config{})
	fmt.Println(task.StatusDetail)
	_, err = taskkit.NewClient(db).Apply(ctx, preview)
	var refused *taskkit.PreviewError
	fmt.Println(errors.As(err, &refused))
	// Output:
	// max_changes: it would update 2 rows of account, and 1 at most are allowed
	// true
}
