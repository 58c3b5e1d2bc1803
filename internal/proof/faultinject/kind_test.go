package faultinject_test

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

const (
	// items of a task, and how many of them a batch deals with: three batches.
	items  = 12
	atOnce = 4

	// overdue is longer than the worker that is harmed may be silent.
	overdue = 1200 * time.Millisecond
	// maxAttempts is more than any run needs: on a busy machine the harmed worker
	// loses tasks without a fault too, which costs attempts.
	maxAttempts = 10_000
)

// limits are the times of a worker.
type limits struct{ heartbeat, deadAfter, batch, call time.Duration }

// times returns limits that are n times as long.
func (l limits) times(n int) limits {
	by := func(d time.Duration) time.Duration { return time.Duration(n) * d }
	return limits{by(l.heartbeat), by(l.deadAfter), by(l.batch), by(l.call)}
}

var (
	// A worker that is harmed is dead a second later. On a busy machine it may be
	// declared dead without a fault: then the healthy worker has more to do.
	harmedLimits = limits{
		heartbeat: 100 * time.Millisecond, deadAfter: time.Second,
		// The server ends the transaction of a stopped worker a second after this.
		batch: 700 * time.Millisecond,
		// It leaves room for a second try within a lease, as the default does.
		call: 350 * time.Millisecond,
	}
	// A worker that nothing happens to has time. Its reaper runs ten times while it
	// may be silent, and each run waits for that.
	healthyLimits = limits{heartbeat: time.Second, deadAfter: 10 * time.Second, batch: 7 * time.Second, call: 5 * time.Second}
)

// steps asks for the entities First to First+items-1.
type stepsSpec struct {
	First int64 `json:"first"`
}

// stepsState is how far it is.
type stepsState struct {
	Next int64 `json:"next"`
}

var stepsKind = taskkit.NewKind(taskkind.Definition[stepsSpec, stepsState, struct{}]{
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

// newWorker makes a worker with some times.
func newWorker(db *sql.DB, schema, name string, o *oracle.Oracle, slots int, l limits, log *slog.Logger) (*taskkit.Worker, error) {
	var r taskkit.Registry
	taskkit.Register(&r, stepsKind, steps{o, name})
	taskkit.Register(&r, mixedKind, mixed{steps{o, name}})
	taskkit.Register(&r, familyKind, family{steps{o, name}})
	return taskkit.NewWorker(context.Background(), db, &r, taskkit.Config{
		Schema: schema, SystemID: name, Slots: slots,
		Heartbeat: l.heartbeat, DeadAfter: l.deadAfter, BatchTimeout: l.batch, LockTimeout: l.batch / 2,
		CallTimeout: l.call, Drain: 4 * time.Second, MaxAttempts: maxAttempts,
		Poll: 20 * time.Millisecond, PollListening: 100 * time.Millisecond,
		Backoff: 10 * time.Millisecond, BackoffMax: 100 * time.Millisecond,
		Logger: log,
	})
}
