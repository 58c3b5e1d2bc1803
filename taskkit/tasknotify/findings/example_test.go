package findings_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/tasknotify"
	"taskkit.dev/taskkit/tasknotify/findings"
	"taskkit.dev/taskkit/taskops"
)

// printed is a target that prints.
type printed chan struct{}

func (p printed) Deliver(_ context.Context, m *tasknotify.Message) error {
	fmt.Println(m.Event, m.Code)
	close(p)
	return nil
}

// A worker examines the database every five minutes, and notifies the operators of what it finds: here a task that waits for its approval.
func Example() {
	ctx := context.Background()
	db, _ := sql.Open("sqlite", "file:/findings?vfs=memdb&_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=foreign_keys(ON)")
	defer db.Close()
	db.SetMaxIdleConns(8)
	_ = taskkit.Migrate(ctx, db, taskkit.DefaultSchema)
	_, _ = taskkit.Submit(ctx, db, letter, spec{}, taskkit.System(), taskkit.WithApproval())

	ops := make(printed)
	var registry taskkit.Registry
	_ = tasknotify.Register(&registry, tasknotify.Config{DB: db, Targets: map[string]tasknotify.Target{"ops": ops}})
	_ = findings.Register(&registry, findings.Config{DB: db, Doctor: taskdoctor.Options{Approval: time.Nanosecond}})
	err := taskops.SetSchedule(ctx, db, findings.Kind, "findings", findings.Spec{Targets: []string{"ops"}}, taskops.Schedule{Cron: "@every 5m"})
	if err != nil {
		panic(err)
	}

	w, err := taskkit.NewWorker(ctx, db, &registry, taskkit.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	_, _ = taskops.New(taskkit.NewClient(db)).TriggerSchedule(ctx, "findings") // do not wait
	<-ops
	stop()
	if err := <-done; err != nil {
		fmt.Println(err)
	}
	// Output:
	// finding_opened approval_waits
}
