package taskkit_test

import (
	"context"
	"fmt"
	"strings"

	"taskkit.dev/taskkit"
)

// Each writes all items by one statement. When one of them is refused, it finds that
// one, fails it, and keeps the others.
func ExampleEach() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	_, _ = db.Exec(`CREATE TABLE greeting (person text CHECK (person <> 'Kurt'))`)
	calls := 0
	r := greeting(func(ctx context.Context, b *greetBatch) (taskkit.Next, error) {
		people, next := taskkit.Take(b, b.Spec.People)
		err := taskkit.Each(ctx, b, people, func(ctx context.Context, people []string) error {
			calls++
			return insertGreetings(ctx, b.Tx, people)
		})
		return next, err
	})
	people := greetSpec{People: []string{"Ada", "Kurt"}}
	id, _ := taskkit.Submit(ctx, db, greetKind, people, taskkit.System())
	task := runToEnd(db, r, id, taskkit.Config{})
	fmt.Println(task.Status, task.Progress.Done, "greeted in", calls, "calls")
	for item, err := range taskkit.NewClient(db).Items(ctx, id, taskkit.OutcomeFailed) {
		fmt.Println(item.Text(), item.Code, err)
	}
	// Output:
	// COMPLETED 1 greeted in 3 calls
	// Kurt item_failed <nil>
}

// insertGreetings inserts all people by one statement.
func insertGreetings(ctx context.Context, tx taskkit.Execer, people []string) error {
	var values []string
	var args []any
	for i, p := range people {
		values = append(values, fmt.Sprintf("($%d)", i+1))
		args = append(args, p)
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO greeting (person) VALUES "+strings.Join(values, ", "), args...)
	return err
}
