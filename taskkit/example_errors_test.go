package taskkit_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/taskkit"
)

func ExamplePermanent() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(context.Context, *greetBatch) (taskkit.Next, error) {
		return taskkit.More, taskkit.Permanent("party_cancelled", errors.New("no cake"))
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	task := runToEnd(db, r, id, taskkit.Config{})
	fmt.Println(task.Status, task.StatusDetail)
	// Output: FAILURE party_cancelled: no cake
}

func ExampleIsPermanent() {
	ctx, err := context.Background(), errors.New("429")
	fmt.Println(taskkit.IsPermanent(ctx, err))
	fmt.Println(taskkit.IsPermanent(ctx, taskkit.RetryAfter(err, time.Minute)))
	fmt.Println(taskkit.IsPermanent(ctx, taskkit.Transient(err)))
	fmt.Println(taskkit.IsPermanent(ctx, fmt.Errorf("greet: %w", taskkit.Permanent("gone", err))))
	// Output:
	// false
	// false
	// false
	// true
}

// RetryAfter makes the delay of a retry longer than the backoff.
func ExampleRetryAfter() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		if b.Attempt == 1 {
			return taskkit.More, taskkit.RetryAfter(errors.New("429 too many greetings"), 20*time.Millisecond)
		}
		return taskkit.Done, nil
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	task := runToEnd(db, r, id, taskkit.Config{Backoff: time.Millisecond})
	attempts, _ := taskkit.NewClient(db).Attempts(ctx, id, 10)
	fmt.Println(task.Status, "after", len(attempts), "failed attempt:", attempts[0].Class, attempts[0].Detail)
	// Output: COMPLETED after 1 failed attempt: transient 429 too many greetings
}

// Transient marks an error that would otherwise be permanent, such as a violated
// constraint that another transaction is about to satisfy.
func ExampleTransient() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	_, _ = db.Exec(`CREATE TABLE greeting (person text CHECK (person <> 'Kurt'))`)
	_, err := db.ExecContext(ctx, `INSERT INTO greeting VALUES ('Kurt')`)
	fmt.Println(taskkit.IsPermanent(ctx, err))
	fmt.Println(taskkit.IsPermanent(ctx, taskkit.Transient(err)))
	// Output:
	// true
	// false
}

// A program that submits tries again after errors that pass by themselves. An error of which nothing is known does not count.
func ExampleIsTransient() {
	err := errors.New("no such person")
	fmt.Println(taskkit.IsTransient(err))
	fmt.Println(taskkit.IsTransient(fmt.Errorf("submit: %w", driver.ErrBadConn)))
	fmt.Println(taskkit.IsTransient(taskkit.RetryAfter(err, time.Minute)))
	fmt.Println(taskkit.IsTransient(fmt.Errorf("submit: %w", context.DeadlineExceeded)))
	// Output:
	// false
	// true
	// true
	// true
}

// NewWorker says what the role of a worker lacks, and which statement grants it.
func ExampleRefusedError() {
	start := func() error { // what calls NewWorker
		return fmt.Errorf("start the worker: %w", &taskkit.RefusedError{
			Problem: `role "worker" lacks UPDATE on taskkit.taskkit_schedule`,
			Remedy:  `GRANT UPDATE ON taskkit.taskkit_schedule TO "worker"`,
		})
	}
	if refused, ok := errors.AsType[*taskkit.RefusedError](start()); ok {
		fmt.Println(refused.Problem)
		fmt.Println(refused.Remedy)
	}
	// Output:
	// role "worker" lacks UPDATE on taskkit.taskkit_schedule
	// GRANT UPDATE ON taskkit.taskkit_schedule TO "worker"
}
