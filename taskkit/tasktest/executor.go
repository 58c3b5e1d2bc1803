package tasktest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/taskkit"
)

// Case is a task with which to test an executor.
type Case[Spec, State any] struct {
	Kind *taskkit.Kind[Spec, State]
	// New makes the executor for a database. Fakes of the outside world that it
	// talks to are best made anew as well.
	New func(tb testing.TB, db *sql.DB) taskkit.Executor[Spec, State]
	// Setup makes the executor's own tables and fills them, the same on every
	// call. It may be nil.
	Setup func(ctx context.Context, db *sql.DB) error
	// Spec should take at least three batches of Limit items.
	Spec Spec
	// Limit fixes b.Limit. Defaults to the kind's own.
	Limit int
	// Snapshot reads what the executor has done, in a form that
	// reflect.DeepEqual can compare: no ids made at random, no times.
	Snapshot func(ctx context.Context, db *sql.DB) (any, error)
	// Part checks, after a stop in the middle, that what was done is a part of
	// the whole. It is given both snapshots. It may be nil.
	Part func(part, whole any) error
	// Open opens a fresh, migrated database. Defaults to [Open].
	Open func(tb testing.TB) *sql.DB
}

// TestExecutor runs the case without a fault, then under each fault, as
// subtests, and compares the end states.
func TestExecutor[Spec, State any](t *testing.T, c Case[Spec, State]) {
	t.Helper()
	want, whole := c.run(t, "uninterrupted", faults{}, c.Limit, false)
	if want.Status != taskkit.Completed {
		t.Fatalf("without a fault the task ended in %s: %s", want.Status, want.Desc)
	}
	for _, sc := range []struct {
		name  string
		f     faults
		limit int
		fail  bool
	}{
		{name: "crash after every batch", f: faults{crash: true}, limit: c.Limit},
		{name: "answer to every commit lost", f: faults{lostAnswer: true}, limit: c.Limit},
		{name: "first commit of every batch lost", f: faults{lostCommit: true}, limit: c.Limit},
		{name: "first commit of every batch late", f: faults{lateCommit: true}, limit: c.Limit},
		{name: "error at the end of every batch", limit: c.Limit, fail: true},
		{name: "limit 1", limit: 1},
	} {
		t.Run(sc.name, func(t *testing.T) {
			got, snapshot := c.run(t, sc.name, sc.f, sc.limit, sc.fail)
			switch {
			case got.Status != want.Status:
				t.Errorf("ended in %s (%s), want %s", got.Status, got.Desc, want.Status)
			case !reflect.DeepEqual(snapshot, whole):
				t.Errorf("the executor's tables differ from an uninterrupted run:\n got %v\nwant %v", snapshot, whole)
			case got.Progress != want.Progress:
				t.Errorf("progress %+v, want %+v", got.Progress, want.Progress)
			}
		})
	}
	t.Run("stop", func(t *testing.T) {
		got, part := c.run(t, "stop", faults{stopAfter: 1}, c.Limit, false)
		if got.Status != taskkit.Completed {
			t.Fatalf("ended in %s (%s), want COMPLETED", got.Status, got.Desc)
		}
		if want.Checkpoints > 1 && !got.Partial() {
			t.Errorf("the task was stopped after its first batch and is not partial")
		}
		if c.Part != nil {
			if err := c.Part(part, whole); err != nil {
				t.Errorf("after a stop: %v", err)
			}
		}
	})
}

// run makes a database, runs the case on it and returns what came of it.
func (c Case[Spec, State]) run(t *testing.T, name string, f faults, limit int, fail bool) (*Outcome[Spec, State], any) {
	t.Helper()
	open := c.Open
	if open == nil {
		open = Open
	}
	db := open(t)
	if name, err := dialect.Detect(t.Context(), db); err != nil {
		t.Fatal(err)
	} else if f.lateCommit && name == dialect.SQLite {
		t.Skip("SQLite commits within the worker's own process, where nothing is late")
	}
	if c.Setup != nil {
		if err := c.Setup(t.Context(), db); err != nil {
			t.Fatalf("%s: set up: %v", name, err)
		}
	}
	x := c.New(t, db)
	if fail {
		x = failing(x)
	}
	r := &rig[Spec, State]{
		tb: t, db: db, kind: c.Kind, x: x,
		options: options{db: db, limit: limit, tries: 3},
	}
	out := r.run(c.Spec, f)
	snapshot, err := c.Snapshot(t.Context(), db)
	if err != nil {
		t.Fatalf("%s: snapshot: %v", name, err)
	}
	return out, snapshot
}

// errPlanned is the error at the end of a batch.
var errPlanned = errors.New("tasktest: planned error after the executor had finished the batch")

// failing makes the first try of every batch fail after the executor has done
// its work. What the executor implements beside Execute stays in sight.
func failing[Spec, State any](x taskkit.Executor[Spec, State]) taskkit.Executor[Spec, State] {
	f := &failingExecutor[Spec, State]{x: x}
	if a, ok := x.(taskkit.Aborter[Spec, State]); ok {
		return &failingAborter[Spec, State]{f, a}
	}
	return f
}

type failingExecutor[Spec, State any] struct {
	x taskkit.Executor[Spec, State]
}

// Execute implements [taskkit.Executor].
func (f *failingExecutor[Spec, State]) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	next, err := f.x.Execute(ctx, b)
	if err != nil || b.Attempt > 1 {
		return next, err
	}
	return next, taskkit.Transient(fmt.Errorf("try %d: %w", b.Attempt, errPlanned))
}

// Unwrap returns the executor beneath, for [taskkit.ReportWith].
func (f *failingExecutor[Spec, State]) Unwrap() any { return f.x }

type failingAborter[Spec, State any] struct {
	*failingExecutor[Spec, State]
	taskkit.Aborter[Spec, State]
}
