package taskbulk_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
)

// All waiting tasks of a kind are stopped by one bulk operation, which a worker executes.
func ExampleSubmit_stop() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:/bulk?vfs=memdb&_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=foreign_keys(ON)")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	db.SetMaxIdleConns(8)
	if err := taskkit.Migrate(ctx, db, taskkit.DefaultSchema); err != nil {
		fmt.Println(err)
		return
	}
	mails := newKind("send_email")
	_, _ = taskkit.SubmitMany(ctx, db, mails, make([]spec, 250), taskkit.System())
	var registry taskkit.Registry
	taskbulk.Register(&registry)

	request := taskbulk.Request{
		Verb:   taskbulk.Stop,
		Filter: taskkit.Filter{Kinds: []string{mails.Name()}, Statuses: []taskkit.Status{taskkit.StatusQueued}},
		Reason: "the template is wrong",
		Actor:  person,
	}
	client := taskkit.NewClient(db)
	n, exact, err := taskbulk.Count(ctx, client, request, 10_000)
	fmt.Println(n, "match, exact:", exact, err)
	id, n, err := taskbulk.Submit(ctx, db, request)
	fmt.Println(n, "are frozen", err)

	worker, err := taskkit.NewWorker(ctx, db, &registry, taskkit.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- worker.Run(running) }()
	task, err := client.Wait(ctx, id, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	stop()
	fmt.Println(task.Status, task.Progress.Done, "stopped", <-done)
	// Output:
	// 250 match, exact: true <nil>
	// 250 are frozen <nil>
	// COMPLETED 250 stopped <nil>
}
