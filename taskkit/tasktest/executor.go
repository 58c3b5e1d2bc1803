package tasktest

import (
	"context"
	"database/sql"
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/taskkit"
)

// Case is a task that tests an executor. See [TestExecutor].
type Case[Spec, State, Result any] struct {
	Kind *taskkit.Kind[Spec, State, Result]
	// New makes an executor for a database, as the start of a process does. It
	// is called once for each worker: after a crash a new executor continues on
	// the same database, and the fields of the old one are lost. Make what outlives a
	// process, such as a fake mail server, in Open.
	New func(tb testing.TB, db *sql.DB) taskkit.Executor[Spec, State]
	// Kinds are further kinds, as those of stages and children are, with their executors for a
	// database. Like New it is called once for each worker. It may be nil.
	Kinds func(tb testing.TB, db *sql.DB) []KindOption
	// Setup creates and fills the executor's own tables, in the same way on every
	// call. It may be nil.
	Setup func(ctx context.Context, db *sql.DB) error
	// Spec should take at least three batches of Limit items.
	Spec Spec
	// Limit fixes b.Limit. Defaults to the kind's batch size.
	Limit int
	// Snapshot reads the effects of the executor, in a fixed order and without random ids
	// and times. Values are compared through pointers, so that it may return entities of ent.
	// The fields of structs that hold no data are left out: functions, channels, and fields
	// that are not exported and have the tag json:"-".
	Snapshot func(ctx context.Context, db *sql.DB) (any, error)
	// Tables is Snapshot without effects outside the database, such as mails. Those stay when a
	// batch is rolled back, and the executor's tables must not change then. Defaults to Snapshot.
	Tables func(ctx context.Context, db *sql.DB) (any, error)
	// Part checks, after the task was stopped, that the partial snapshot is a part
	// of the whole one. It may be nil.
	Part func(part, whole any) error
	// Open opens a fresh, migrated database. It is called once for each run of
	// the task. Defaults to [Open].
	Open func(tb testing.TB) *sql.DB
}

// TestExecutor runs the case without a fault and then, in a subtest each, under
// each fault, and compares the final snapshots.
func TestExecutor[Spec, State, Result any](t *testing.T, c Case[Spec, State, Result]) {
	t.Helper()
	want, whole, batches := c.run(t, "uninterrupted", faults{}, c.Limit, false)
	if want.Task.Status != taskkit.StatusCompleted {
		t.Fatalf("without a fault the task ended in %s: %s", want.Task.Status, want.Task.StatusDetail)
	}
	// A fault may repeat batches, but a task that needs many times as many never ends.
	bound := 4*batches + 20
	for _, sc := range []struct {
		name  string
		f     faults
		limit int
		fail  bool
	}{
		{name: "crash after every batch", f: faults{crash: true, maxBatches: bound}, limit: c.Limit},
		{name: "answer to every commit lost", f: faults{lostAnswer: true, maxBatches: bound}, limit: c.Limit},
		{name: "first commit of every batch lost", f: faults{lostCommit: true, maxBatches: bound}, limit: c.Limit},
		{name: "first commit of every batch late", f: faults{lateCommit: true, maxBatches: bound}, limit: c.Limit},
		{name: "error at the end of every batch", f: faults{maxBatches: bound}, limit: c.Limit, fail: true},
		{name: "limit 1", limit: 1},
	} {
		t.Run(sc.name, func(t *testing.T) {
			got, snapshot, _ := c.run(t, sc.name, sc.f, sc.limit, sc.fail)
			differ := diff(snapshot, whole)
			switch {
			case got.Task.Status != want.Task.Status:
				t.Errorf("ended in %s (%s), want %s", got.Task.Status, got.Task.StatusDetail, want.Task.Status)
			case !differ.equal():
				t.Errorf("the executor's tables differ from an uninterrupted run, which has the rows with a minus:\n%s", differ)
			case got.Task.Progress != want.Task.Progress:
				t.Errorf("progress %+v, want %+v", got.Task.Progress, want.Task.Progress)
			}
		})
	}
	t.Run("stop", func(t *testing.T) {
		got, part, _ := c.run(t, "stop", faults{stopAfter: 1}, c.Limit, false)
		if got.Task.Status != taskkit.StatusCompleted {
			t.Fatalf("ended in %s (%s), want COMPLETED", got.Task.Status, got.Task.StatusDetail)
		}
		if want.Task.Checkpoints > 1 && !got.Task.Partial {
			t.Errorf("the task was stopped after its first batch and is not partial")
		}
		if c.Part != nil {
			if err := c.Part(part, whole); err != nil {
				t.Errorf("after a stop: %v", err)
			}
		}
	})
}

// run runs the case on a database of its own and returns the outcome, the snapshot and the number of
// committed batches.
func (c Case[Spec, State, Result]) run(t *testing.T, name string, f faults, limit int, fail bool) (out *Outcome[Spec, State, Result], snapshot any, batches int) {
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
	h := &harness[Spec, State, Result]{
		tb: t, db: db, kind: c.Kind,
		newKinds: func() []KindOption {
			kinds := []KindOption{WithKind(c.Kind, c.New(t, db))}
			if c.Kinds != nil {
				kinds = append(kinds, c.Kinds(t, db)...)
			}
			return kinds
		},
		options: options{db: db, limit: limit, tries: 3, fail: fail},
		watch:   newRollbackWatch(0),
		tables:  c.Tables,
	}
	if h.tables == nil {
		h.tables = c.Snapshot
	}
	if fail || f.lostCommit {
		h.watch.left = watchedBatches
	}
	out, batches = h.run(c.Spec, f)
	snapshot, err := c.Snapshot(t.Context(), db)
	if err != nil {
		t.Fatalf("%s: snapshot: %v", name, err)
	}
	return out, snapshot, batches
}

// received wraps an executor and receives its kind when it is registered.
type received[Spec, State any] struct {
	taskkit.Executor[Spec, State]

	kind *session.Kind
}

// ReceiveKind implements [session.KindReceiver].
func (r *received[Spec, State]) ReceiveKind(k *session.Kind) { r.kind = k }

// Unwrap returns the executor within, for [taskkit.Register].
func (r *received[Spec, State]) Unwrap() any { return r.Executor }
