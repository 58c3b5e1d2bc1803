package taskops_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// A worker that holds a presence lock is noticed within seconds when it is killed, and not only
// after DeadAfter.
func ExampleOperator_Workers_presence() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "tasks.db") // the lock is that of a file beside it
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(ON)&_pragma=synchronous(FULL)")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if err := taskkit.Migrate(ctx, db, taskkit.DefaultSchema); err != nil {
		fmt.Println(err)
		return
	}
	r := greeting(func(context.Context, *greetBatch) (taskkit.Next, error) { return taskkit.Done, nil })
	w, err := taskkit.NewWorker(ctx, db, r, taskkit.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()

	ops := taskops.New(taskkit.NewClient(db))
	for range time.Tick(10 * time.Millisecond) {
		workers, err := ops.Workers(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		if len(workers) == 1 && workers[0].Present {
			fmt.Println("present; silent for less than a minute:", workers[0].Silence < workers[0].DeadAfter)
			break
		}
	}
	stop()
	fmt.Println(<-done)
	// Output:
	// present; silent for less than a minute: true
	// <nil>
}
