package fairness_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"taskkit.dev/internal/proof/workers"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// workSpec says how many items a task has, and how long each takes.
type workSpec struct {
	Items  int `json:"items"`
	Micros int `json:"micros"`
}

// workState is how many items are done.
type workState struct {
	Done int `json:"done"`
}

// batchSize is how many items a batch has at first; the workers make it up to ten times that.
const batchSize = 10

type workBatch = taskkit.Batch[workSpec, workState]

var workKind = taskkit.NewKind(taskkind.Definition[workSpec, workState, struct{}]{Name: "items", BatchSize: batchSize})

// The workers have the settings of a Config of which nothing is said, but for their slots and how soon a killed one is noticed.
func TestMain(m *testing.M) {
	workers.Main(m, 8, func(a workers.Args, r *taskkit.Registry) taskkit.Config {
		taskkit.Register(r, workKind, worker{})
		return taskkit.Config{Slots: a.Slots, Heartbeat: time.Second, DeadAfter: 4 * time.Second, BatchTimeout: 3 * time.Second, Logger: slog.New(slog.DiscardHandler)}
	})
}

// worker works on items, each of which takes its time.
type worker struct{}

// Execute implements [taskkit.Executor].
func (worker) Execute(ctx context.Context, b *workBatch) (taskkit.Next, error) {
	n := min(b.Limit, b.Spec.Items-b.State.Done)
	select {
	case <-time.After(time.Duration(n*b.Spec.Micros) * time.Microsecond):
	case <-ctx.Done():
		return taskkit.More, ctx.Err()
	}
	b.State.Done += n
	b.Advance(n)
	if b.State.Done == b.Spec.Items {
		return taskkit.Done, nil
	}
	return taskkit.More, nil
}
