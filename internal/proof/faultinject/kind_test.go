package faultinject_test

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/taskkit"
)

const (
	// items of a task, and how many of them a batch deals with: three batches.
	items  = 12
	atOnce = 4

	// Twice the shortest that there is: on a busy machine workers that are
	// silent for half a second live.
	heartbeat = 100 * time.Millisecond
	deadAfter = time.Second
	// overdue is longer than that: a worker that is silent so long is dead.
	overdue = 1200 * time.Millisecond
	// The server ends the transaction of a stopped worker a second after this.
	batchTimeout = 700 * time.Millisecond
	// callTimeout leaves room for a second try within a lease, as the defaults
	// do.
	callTimeout = 350 * time.Millisecond
	maxAttempts = 10
)

// steps asks for the entities First to First+items-1.
type stepsSpec struct {
	First int64 `json:"first"`
}

// stepsState is how far it is.
type stepsState struct {
	Next int64 `json:"next"`
}

var stepsKind = taskkit.NewKind(taskkit.Definition[stepsSpec, stepsState, struct{}]{
	Name: "steps", BatchSize: atOnce,
})

// steps touches the entities of its task, a few at a time.
type steps struct {
	oracle *oracle.Oracle
	worker string
}

func (x steps) Execute(ctx context.Context, b *taskkit.Batch[stepsSpec, stepsState]) (taskkit.Next, error) {
	first := b.Spec.First + b.State.Next
	n := min(atOnce, int64(b.Limit), items-b.State.Next)
	if err := x.oracle.Touch(ctx, b.Tx, b.Task.String(), x.worker, oracle.Range{First: first, Past: first + n}); err != nil {
		return taskkit.More, err
	}
	b.Total(items)
	b.Advance(int(n))
	if b.State.Next += n; b.State.Next == items {
		return taskkit.Done, nil
	}
	return taskkit.More, nil
}

// newWorker makes a worker with the shortest times that there are.
func newWorker(db *sql.DB, schema, name string, o *oracle.Oracle, slots int, log *slog.Logger) (*taskkit.Worker, error) {
	var r taskkit.Registry
	taskkit.Register(&r, stepsKind, steps{o, name})
	return taskkit.NewWorker(db, &r, taskkit.Config{
		Schema: schema, SystemID: name, Slots: slots,
		Heartbeat: heartbeat, DeadAfter: deadAfter, BatchTimeout: batchTimeout, LockTimeout: batchTimeout / 2,
		CallTimeout: callTimeout, Drain: 4 * time.Second, MaxAttempts: maxAttempts,
		Poll: 20 * time.Millisecond, PollListening: 100 * time.Millisecond,
		Backoff: 10 * time.Millisecond, BackoffMax: 100 * time.Millisecond,
		Logger: log,
	})
}
