package taskkit_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// schemaOf returns the schema in which a test's taskkit lives: its own on
// PostgreSQL; on SQLite the name does not matter.
func schemaOf(db *testdb.DB) string {
	if db.Schema == "" {
		return taskkit.DefaultSchema
	}
	return db.Schema
}

// migrated brings a test's database up to date.
func migrated(tb testing.TB, db *testdb.DB) *testdb.DB {
	tb.Helper()
	if err := taskkit.Migrate(tb.Context(), db.DB, schemaOf(db)); err != nil {
		tb.Fatalf("migrate: %v", err)
	}
	return db
}

func clientOf(db *testdb.DB) *taskkit.Client {
	return taskkit.NewClient(db.DB, taskkit.WithSchema(schemaOf(db)))
}

// listed returns the items of a task with an outcome.
func listed(tb testing.TB, db *testdb.DB, id taskkit.ID, o taskkit.Outcome) (items []taskkit.Item) {
	tb.Helper()
	for i, err := range clientOf(db).Items(tb.Context(), id, o) {
		if err != nil {
			tb.Fatalf("%s items: %v", o, err)
		}
		items = append(items, i)
	}
	return items
}

// quick is a configuration in which a test does not wait for what takes seconds in
// production. What ends a live worker or its batches does so late: on a busy
// machine a test must not be about that.
func quick(tb testing.TB, db *testdb.DB) taskkit.Config {
	tb.Helper()
	return taskkit.Config{
		Schema: schemaOf(db), Slots: 4, SystemID: "test",
		Heartbeat: time.Second, DeadAfter: time.Minute, BatchTimeout: 40 * time.Second,
		Poll: 20 * time.Millisecond, PollListening: 200 * time.Millisecond,
		Backoff: 5 * time.Millisecond, BackoffMax: 20 * time.Millisecond, MaxAttempts: 3,
		Drain:  20 * time.Second,
		Logger: slog.New(slog.NewTextHandler(tb.Output(), nil)),
	}
}

// started runs a worker until the test ends or stop is called; stop returns
// when Run has returned.
func started(tb testing.TB, db *testdb.DB, r *taskkit.Registry, c taskkit.Config) (stop func()) {
	tb.Helper()
	w, err := taskkit.NewWorker(tb.Context(), db.DB, r, c)
	if err != nil {
		tb.Fatalf("new worker: %v", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				tb.Errorf("worker: %v", err)
			}
		case <-time.After(testdb.Patience(tb)):
			tb.Errorf("worker does not stop")
		}
	}
	tb.Cleanup(stop)
	return stop
}

// ended waits until a task has ended.
func ended(tb testing.TB, db *testdb.DB, id taskkit.ID) *taskkit.Task {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), testdb.Patience(tb))
	defer cancel()
	t, err := clientOf(db).Wait(ctx, id, nil)
	if err != nil {
		why, _ := clientOf(db).Explain(tb.Context(), id)
		tb.Fatalf("wait for task %s: %v (%s)", id, err, why)
	}
	return t
}

// until polls a condition on the database; what it waits for has no signal.
func until(tb testing.TB, what string, f func() bool) {
	tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(testdb.Patience(tb))
	for !f() {
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("still not so after %v: %s", testdb.Patience(tb), what)
		}
	}
}

// lasts is work of a batch that takes so long.
func lasts(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// submitted submits a task.
func submitted[Spec, State, Result any](tb testing.TB, db *testdb.DB, k *taskkit.Kind[Spec, State, Result], spec Spec, opts ...taskkit.SubmitOption) taskkit.ID {
	tb.Helper()
	opts = append([]taskkit.SubmitOption{taskkit.System(), taskkit.WithSchema(schemaOf(db))}, opts...)
	id, err := taskkit.Submit(tb.Context(), db.DB, k, spec, opts...)
	if err != nil {
		tb.Fatalf("submit: %v", err)
	}
	return id
}

// funcs is an executor made of functions.
type funcs[Spec, State any] struct {
	execute func(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error)
}

func (f *funcs[Spec, State]) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	return f.execute(ctx, b)
}

// aborting is an executor that also cleans up and reports.
type aborting[Spec, State any] struct {
	funcs[Spec, State]
	abort  func(ctx context.Context, b *taskkit.Batch[Spec, State]) error
	report func(ctx context.Context, b *taskkit.Batch[Spec, State]) (string, error)
}

func (f *aborting[Spec, State]) Abort(ctx context.Context, b *taskkit.Batch[Spec, State]) error {
	return f.abort(ctx, b)
}

func (f *aborting[Spec, State]) Report(ctx context.Context, b *taskkit.Batch[Spec, State]) (string, error) {
	return f.report(ctx, b)
}

// countSpec asks for so many items.
type countSpec struct {
	Items int `json:"items" validate:"min=0"`
}

// countState is how far it is.
type countState struct {
	Next int `json:"next"`
}

// newKind makes a kind for a test.
func newKind[Spec, State any](name string, batch int) *taskkit.Kind[Spec, State, string] {
	return taskkit.NewKind(taskkind.Definition[Spec, State, string]{
		Name: name, BatchSize: batch,
	})
}

// registered makes a registry of one executor.
func registered[Spec, State, Result any](k *taskkit.Kind[Spec, State, Result], x taskkit.Executor[Spec, State]) *taskkit.Registry {
	var r taskkit.Registry
	taskkit.Register(&r, k, x)
	return &r
}

// makeTouch creates the ledger of which worker processed which item, without
// constraints.
func makeTouch(tb testing.TB, db *sql.DB) {
	tb.Helper()
	if _, err := db.ExecContext(tb.Context(), `CREATE TABLE touch (task text NOT NULL, item integer NOT NULL, worker text NOT NULL)`); err != nil {
		tb.Fatalf("make ledger: %v", err)
	}
}

// touch writes the items [from, to) into the ledger.
func touch(ctx context.Context, tx taskkit.ExecQuerier, task taskkit.ID, from, to int, worker string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO touch (task, item, worker)
		WITH RECURSIVE n(i) AS (SELECT CAST($2 AS integer) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < CAST($3 AS integer))
		SELECT CAST($1 AS text), i, CAST($4 AS text) FROM n`, task.String(), from, to, worker)
	return err
}

// checkTouched fails the test unless each of the items 0 to n-1 of a task was
// touched exactly once.
func checkTouched(tb testing.TB, db *sql.DB, task taskkit.ID, n int) {
	tb.Helper()
	var rows, items, outside int
	err := db.QueryRowContext(tb.Context(), `SELECT count(*), count(DISTINCT item), count(CASE WHEN item < 0 OR item >= $2 THEN 1 END)
		FROM touch WHERE task = $1`, task.String(), n).Scan(&rows, &items, &outside)
	if err != nil {
		tb.Fatalf("read ledger: %v", err)
	}
	if rows != n || items != n || outside != 0 {
		tb.Errorf("task %s: %d touches of %d items, %d outside; want %d touches, each item once", task, rows, items, outside, n)
	}
}

// counting touches its items batch by batch.
func counting(worker string) *funcs[countSpec, countState] {
	return &funcs[countSpec, countState]{execute: func(ctx context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
		return count(ctx, b, worker)
	}}
}

func count(ctx context.Context, b *taskkit.Batch[countSpec, countState], worker string) (taskkit.Next, error) {
	from, to := b.State.Next, min(b.State.Next+b.Limit, b.Spec.Items)
	if to > from {
		if err := touch(ctx, b.Tx, b.Task, from, to, worker); err != nil {
			return taskkit.More, fmt.Errorf("touch %d to %d: %w", from, to, err)
		}
	}
	b.Total(b.Spec.Items)
	b.Advance(to - from)
	b.State.Next = to
	if to == b.Spec.Items {
		return taskkit.Done, nil
	}
	return taskkit.More, nil
}

var errPlanned = errors.New("planned")

// doneAtOnce is an Execute with nothing to do.
func doneAtOnce(context.Context, *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
	return taskkit.Done, nil
}
