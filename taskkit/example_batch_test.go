package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/taskkit"
)

// Take returns the next items of a list, and what to return from Execute.
func ExampleTake() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		people, next := taskkit.Take(b, b.Spec.People)
		fmt.Println("a batch of", people, "then", next)
		return next, nil
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada", "Kurt", "Emmy"}}, taskkit.System())
	task := runToEnd(db, r, id, taskkit.Config{})
	fmt.Println(task.Status, task.Progress.Done, "of", task.Progress.Total)
	// Output:
	// a batch of [Ada Kurt] then more
	// a batch of [Emmy] then done
	// COMPLETED 3 of 3
}

// One item that will never work does not stop the task.
func ExampleBatch_Fail() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		people, next := taskkit.Take(b, b.Spec.People)
		for _, p := range people {
			if p == "Kurt" {
				b.Fail(p, taskkit.Permanent("no_address", errors.New("Kurt has moved")))
			}
		}
		return next, nil
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada", "Kurt"}}, taskkit.System())
	task := runToEnd(db, r, id, taskkit.Config{})
	fmt.Println(task.Status, task.Progress.Done, "done")
	for item, err := range taskkit.NewClient(db).Items(ctx, id, taskkit.OutcomeFailed) {
		fmt.Println(item.Text(), item.Code, err)
	}
	// Output:
	// COMPLETED 1 done
	// Kurt no_address <nil>
}

// A skipped item is recorded with the reason.
func ExampleBatch_Skip() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		people, next := taskkit.Take(b, b.Spec.People)
		for _, p := range people {
			if p == "Kurt" {
				b.Skip(p, "greeted_before")
			}
		}
		return next, nil
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada", "Kurt"}}, taskkit.System())
	task := runToEnd(db, r, id, taskkit.Config{})
	fmt.Println(task.Progress.Done, "done,", task.Progress.Skipped, "skipped")
	for item, err := range taskkit.NewClient(db).Items(ctx, id, taskkit.OutcomeSkipped) {
		fmt.Println(item.Text(), item.Code, err)
	}
	// Output:
	// 1 done, 1 skipped
	// Kurt greeted_before <nil>
}

// A failed Try is rolled back, and the batch continues.
func ExampleBatch_Try() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	_, _ = db.Exec(`CREATE TABLE greeting (person text CHECK (person <> 'Kurt'))`)
	r := greeting(func(ctx context.Context, b *greetBatch) (taskkit.Next, error) {
		people, next := taskkit.Take(b, b.Spec.People)
		for _, p := range people {
			err := b.Try(ctx, func() error {
				_, err := b.Tx.ExecContext(ctx, `INSERT INTO greeting VALUES ($1)`, p)
				return err
			})
			if err != nil {
				b.Fail(p, err)
			}
		}
		return next, nil
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada", "Kurt", "Emmy"}}, taskkit.System())
	task := runToEnd(db, r, id, taskkit.Config{})
	var n int
	_ = db.QueryRow(`SELECT count(*) FROM greeting`).Scan(&n)
	fmt.Println(task.Status, n, "greeted,", task.Progress.Failed, "failed")
	// Output: COMPLETED 2 greeted, 1 failed
}

// The key of an item is the same on every attempt, so a receiver can ignore repetitions.
func ExampleBatch_IdempotencyKey() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	keys := make(map[string]bool)
	r := greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		keys[b.IdempotencyKey("Ada")] = true
		if b.Attempt == 1 {
			return taskkit.More, errors.New("the line went dead")
		}
		return taskkit.Done, nil
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	runToEnd(db, r, id, taskkit.Config{Backoff: time.Millisecond})
	fmt.Println(len(keys), "key in two attempts")
	// Output: 1 key in two attempts
}

// An executor that does not use Take counts its items itself.
func ExampleBatch_Advance() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		b.Total(100)
		b.Advance(40)
		return taskkit.Done, nil
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	fmt.Printf("%+v\n", runToEnd(db, r, id, taskkit.Config{}).Progress)
	// Output: {Total:100 Done:40 Failed:0 Skipped:0}
}

// Waiting is no error and spends no attempt.
func ExampleLater() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		if b.State.Greeted++; b.State.Greeted < 3 {
			return taskkit.Later(10 * time.Millisecond), nil
		}
		return taskkit.Done, nil
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	task := runToEnd(db, r, id, taskkit.Config{})
	fmt.Println(task.Status, task.Fence, "holds,", task.Attempts, "attempts spent")
	// Output: COMPLETED 3 holds, 0 attempts spent
}

// A batch that has to wait says until when, and why.
func ExampleLaterAt() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	opens := time.Now().Add(50 * time.Millisecond)
	r := greeting(func(context.Context, *greetBatch) (taskkit.Next, error) {
		if time.Now().Before(opens) {
			return taskkit.LaterAt(opens, "the office is closed"), nil
		}
		return taskkit.Done, nil
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, nobody, taskkit.System())
	task := runToEnd(db, r, id, taskkit.Config{})
	fmt.Println(task.Status, task.Attempts, "attempts spent")
	// Output: COMPLETED 0 attempts spent
}

// EntDriver makes an ent client that works inside the batch:
//
//	client := ent.NewClient(ent.Driver(b.EntDriver()))
func ExampleBatch_EntDriver() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	_, _ = db.Exec(`CREATE TABLE greeting (person text)`)
	r := greeting(func(ctx context.Context, b *greetBatch) (taskkit.Next, error) {
		driver := b.EntDriver()
		people, next := taskkit.Take(b, b.Spec.People)
		for _, p := range people {
			if err := driver.Exec(ctx, `INSERT INTO greeting VALUES ($1)`, []any{p}, nil); err != nil {
				return next, err
			}
		}
		tx, err := driver.Tx(ctx) // the same transaction, which cannot end
		if err != nil {
			return next, err
		}
		return next, tx.Commit()
	})
	id, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada", "Kurt", "Emmy"}}, taskkit.System())
	runToEnd(db, r, id, taskkit.Config{})
	var n int
	_ = db.QueryRow(`SELECT count(*) FROM greeting`).Scan(&n)
	fmt.Println(n, "greeted")
	// Output: 3 greeted
}
