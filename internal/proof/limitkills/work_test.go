package limitkills_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/workers"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// limit is how many tasks with a key execute at once.
const limit = 2

// batches is how many batches a task has.
const batches = 3

// workSpec says under which key the task works.
type workSpec struct {
	Key int `json:"key"`
}

// workState is how many batches there were.
type workState struct {
	Done int `json:"done"`
}

type workBatch = taskkit.Batch[workSpec, workState]

var workKind = taskkit.NewKind(taskkind.Definition[workSpec, workState, struct{}]{Name: "limited", BatchSize: 1})

func TestMain(m *testing.M) {
	workers.Main(m, 8, func(a workers.Args, r *taskkit.Registry) taskkit.Config {
		// A batch waits long enough for all slots to be busy while the machine is not. On SQLite it keeps the only write lock
		// meanwhile, so that it waits shortly: there the sessions of tasks overlap, and their batches do not.
		now, wait := "clock_timestamp()", 150*time.Millisecond
		if a.Dialect == dialect.SQLite {
			now, wait = "julianday('now') * 86400000.0", 5*time.Millisecond
		}
		taskkit.Register(r, workKind, &worker{table: a.Table("worked"), now: now, wait: wait, sessions: make(map[taskkit.ID]int)})
		return taskkit.Config{
			Slots: 4, Heartbeat: 300 * time.Millisecond, DeadAfter: 2 * time.Second, BatchTimeout: time.Second,
			Poll: 50 * time.Millisecond, PollListening: 200 * time.Millisecond,
			Backoff: 5 * time.Millisecond, BackoffMax: 50 * time.Millisecond, MaxAttempts: 1000, Logger: slog.New(slog.DiscardHandler),
		}
	})
}

// worker works on tasks, and writes when. Its sessions are counted: what a task does in one, without a
// break, is an interval.
type worker struct {
	table, now string
	wait       time.Duration // of each batch

	mu       sync.Mutex
	sessions map[taskkit.ID]int
}

// Limits implements [taskkit.Limiter]. It is called for each session.
func (w *worker) Limits(t taskkit.LimitedTask[workSpec]) map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions[t.ID]++
	return map[string]int{fmt.Sprintf("key %d", t.Spec.Key): limit}
}

// Execute implements [taskkit.Executor].
func (w *worker) Execute(ctx context.Context, b *workBatch) (taskkit.Next, error) {
	w.mu.Lock()
	session := fmt.Sprintf("%s of process %d, %d", b.Task, os.Getpid(), w.sessions[b.Task])
	w.mu.Unlock()
	write := func(what string) error {
		_, err := b.Tx.ExecContext(ctx, "INSERT INTO "+w.table+" (key, task, session, what, at) VALUES ($1, $2, $3, $4, "+w.now+")",
			b.Spec.Key, b.Task.String(), session, what)
		return err
	}
	if err := write("begins"); err != nil {
		return taskkit.More, err
	}
	select { // so that others could execute at the same time
	case <-time.After(w.wait):
	case <-ctx.Done():
		return taskkit.More, ctx.Err()
	}
	if err := write("ends"); err != nil {
		return taskkit.More, err
	}
	b.State.Done++
	b.Advance(1)
	if b.State.Done == batches {
		return taskkit.Done, nil
	}
	return taskkit.More, nil
}
