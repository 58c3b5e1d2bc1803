package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskjson"
)

// badExecutor runs the cases.
type badExecutor struct {
	o       *oracle.Oracle
	release chan struct{} // lets those go on that were abandoned
	behind  sync.WaitGroup
	mu      sync.Mutex
	kept    map[taskkit.ID]taskkit.ExecQuerier
}

// hostileCase is what a task does in its second batch, and what then becomes of it.
type hostileCase struct {
	do   func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error)
	want taskkit.Status
	// code is what the description begins with.
	code string
	// only names the database on which the case can be run; "" is both.
	only dialect.Name
	// abandoned: the case is that the time of the batch passes.
	abandoned bool
}

func (x *badExecutor) Execute(ctx context.Context, b *batch) (taskkit.Next, error) {
	if d, ok := cases[b.Spec.Case]; ok && b.State.Next == limit {
		return d.do(ctx, x, b)
	}
	return touch(ctx, x.o, b)
}

// planned is an error of which not even the text can be had.
type planned struct{ goexit bool }

func (p *planned) Error() string {
	if p.goexit {
		runtime.Goexit()
	}
	panic("no text")
}

var cases = map[string]hostileCase{
	"panic": {want: taskkit.StatusFailure, code: "panic: planned\n", do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		_, _ = touch(ctx, x.o, b)
		panic("planned")
	}},
	"panic with what panics": {want: taskkit.StatusFailure, code: "panic: ", do: func(context.Context, *badExecutor, *batch) (taskkit.Next, error) {
		panic(&planned{})
	}},
	"goexit": {want: taskkit.StatusFailure, code: "goexit: ", do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		_, _ = touch(ctx, x.o, b)
		runtime.Goexit()
		return taskkit.Done, nil
	}},
	"error that panics": {want: taskkit.StatusFailure, code: "panic: no text", do: func(context.Context, *badExecutor, *batch) (taskkit.Next, error) {
		return taskkit.More, &planned{}
	}},
	"marked error that panics": {want: taskkit.StatusFailure, code: "panic: no text", do: func(context.Context, *badExecutor, *batch) (taskkit.Next, error) {
		return taskkit.More, taskkit.Permanent("code", &planned{})
	}},
	"error that leaves": {want: taskkit.StatusFailure, code: "goexit: ", do: func(context.Context, *badExecutor, *batch) (taskkit.Next, error) {
		return taskkit.More, &planned{goexit: true}
	}},
	"error that is nil": {want: taskkit.StatusFailure, code: "panic: ", do: func(context.Context, *badExecutor, *batch) (taskkit.Next, error) {
		return taskkit.More, (*planned)(nil)
	}},
	"item that panics": {want: taskkit.StatusFailure, code: "panic: no text", do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		b.Fail(1, &planned{})
		return touch(ctx, x.o, b)
	}},
	"ignores its context": {want: taskkit.StatusCompleted, abandoned: true, do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		if b.Attempt > 1 {
			return touch(ctx, x.o, b)
		}
		x.behind.Add(1)
		defer x.behind.Done()
		if err := late(ctx, b.Tx, b.Task); err != nil {
			return taskkit.More, err
		}
		<-x.release
		// Neither its own transaction nor what it counts reaches anybody.
		if err := late(context.WithoutCancel(ctx), b.Tx, b.Task); err == nil {
			panic("the transaction of a batch that was abandoned can be used")
		}
		b.Fail("late", errors.New("late"))
		b.Advance(1000)
		b.State.Next = -1
		return taskkit.Done, nil
	}},
	"ignores its context before its transaction": {want: taskkit.StatusCompleted, abandoned: true, do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		if b.Attempt > 1 {
			return touch(ctx, x.o, b)
		}
		x.behind.Add(1)
		defer x.behind.Done()
		<-x.release
		if err := late(context.WithoutCancel(ctx), b.Tx, b.Task); err == nil {
			panic("a batch that was abandoned could begin")
		}
		return taskkit.Done, nil
	}},
	"transaction kept": {want: taskkit.StatusCompleted, do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		x.mu.Lock()
		kept := x.kept[b.Task]
		x.kept[b.Task] = b.Tx
		x.mu.Unlock()
		if kept == nil { // a batch that ends and leaves the state as it was
			return taskkit.More, late(ctx, b.Tx, b.Task)
		}
		if err := late(ctx, kept, b.Task); err == nil {
			return taskkit.More, taskkit.Permanent("kept", errors.New("the last batch's transaction can be used"))
		}
		if _, err := b.Tx.ExecContext(ctx, "DELETE FROM late WHERE task = $1", b.Task.String()); err != nil {
			return taskkit.More, err
		}
		return touch(ctx, x.o, b)
	}},
	"goroutine left": {want: taskkit.StatusCompleted, do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		tx, id := b.Tx, b.Task
		next, err := touch(ctx, x.o, b)
		returned := make(chan struct{})
		defer close(returned)
		x.behind.Go(func() {
			<-returned
			// What comes in time is part of the batch, so it must goexit nothing: the
			// batch may be over after any statement.
			for {
				if _, err := tx.ExecContext(context.Background(), "DELETE FROM late WHERE task = $1", id.String()); err != nil {
					return
				}
			}
		})
		return next, err
	}},
	"rows left open": {want: taskkit.StatusFailure, code: "misuse: ", do: leaveRows},
	"two goroutines": {want: taskkit.StatusCompleted, do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		var (
			both sync.WaitGroup
			errs [2]error
		)
		for i := range errs {
			both.Go(func() {
				for range 20 {
					if errs[i] == nil {
						errs[i] = late(ctx, b.Tx, b.Task)
					}
				}
			})
		}
		both.Wait()
		_, err := b.Tx.ExecContext(ctx, "DELETE FROM late WHERE task = $1", b.Task.String())
		if err := errors.Join(errs[0], errs[1], err); err != nil {
			return taskkit.More, err
		}
		return touch(ctx, x.o, b)
	}},
	"ends the transaction": {want: taskkit.StatusFailure, code: "misuse: ", do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		next, err := touch(ctx, x.o, b)
		if err != nil {
			return next, err
		}
		for _, q := range []string{
			"COMMIT", "commit;", "\t\f\nCommit AND NO CHAIN", "/* */ END", "-- \nROLLBACK", "ABORT", "BEGIN", "ROLLBACK WORK",
			"PREPARE TRANSACTION 'x'", "SELECT 1; COMMIT", "INSERT INTO late (task) VALUES ('x'); COMMIT; BEGIN",
		} {
			if err := refused(ctx, b.Tx, q); err != nil {
				return next, err
			}
			d := b.EntDriver()
			if err := d.Exec(ctx, q, []any{}, nil); err == nil {
				return next, taskkit.Permanent("executed", fmt.Errorf("%q through ent", q))
			}
			tx, err := d.Tx(ctx)
			if err := errors.Join(err, tx.Commit(), tx.Rollback()); err != nil {
				return next, err
			}
		}
		return next, nil
	}},
	"ends it within a block": {want: taskkit.StatusCompleted, only: dialect.Postgres, do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		for _, q := range []string{
			"DO $$ BEGIN COMMIT; END $$", "DO $$ BEGIN ROLLBACK; END $$", "DO $$ BEGIN EXECUTE 'COMMIT'; END $$",
			"ROLLBACK TO SAVEPOINT nowhere", "RELEASE SAVEPOINT nowhere",
		} {
			if err := b.Try(ctx, func() error { _, err := b.Tx.ExecContext(ctx, q); return err }); err == nil {
				return taskkit.More, taskkit.Permanent("executed", fmt.Errorf("%q", q))
			}
		}
		return touch(ctx, x.o, b)
	}},
	"savepoints": {want: taskkit.StatusCompleted, do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		for _, q := range []string{"SAVEPOINT s", "INSERT INTO late (task) VALUES ('x')", "SAVEPOINT s", "ROLLBACK TO s", "RELEASE s", "ROLLBACK TO SAVEPOINT s", "RELEASE SAVEPOINT s"} {
			if _, err := b.Tx.ExecContext(ctx, q); err != nil {
				return taskkit.More, fmt.Errorf("%s: %w", q, err)
			}
		}
		if _, err := b.Tx.ExecContext(ctx, "SAVEPOINT left_open"); err != nil {
			return taskkit.More, err
		}
		return touch(ctx, x.o, b)
	}},
	"failed statement ignored": {want: taskkit.StatusFailure, code: "spoiled_transaction: ", do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		next, err := touch(ctx, x.o, b)
		_, _ = b.Tx.ExecContext(ctx, "SELECT no_such_column")
		return next, err
	}},
	"backwards": {want: taskkit.StatusCompleted, do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		next, err := touch(ctx, x.o, b)
		b.Advance(-1000)
		return next, err
	}},
	"later than ever": {want: taskkit.StatusCompleted, do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		_, err := touch(ctx, x.o, b)
		return taskkit.Later(math.MaxInt64), err // the test stops it
	}},
	"later than before": {want: taskkit.StatusCompleted, do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		_, err := touch(ctx, x.o, b)
		return taskkit.Later(math.MinInt64), err
	}},
	"retry after ever": {want: taskkit.StatusCompleted, do: func(_ context.Context, _ *badExecutor, _ *batch) (taskkit.Next, error) {
		return taskkit.More, taskkit.RetryAfter(errors.New("never"), math.MaxInt64) // the test stops it
	}},
	"retry after before": {want: taskkit.StatusCompleted, do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		if b.Attempt == 1 {
			return taskkit.More, taskkit.RetryAfter(errors.New("once"), math.MinInt64)
		}
		return touch(ctx, x.o, b)
	}},
	"unknown next": {want: taskkit.StatusFailure, code: "", do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		_, err := touch(ctx, x.o, b)
		return taskkit.Done, errors.Join(err, taskkit.Permanent("", nil))
	}},
	"state that JSON cannot hold": {want: taskkit.StatusFailure, code: "unstorable_state: ", do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		next, err := touch(ctx, x.o, b)
		b.State.Odd = math.NaN()
		return next, err
	}},
	"state with a NUL": {want: taskkit.StatusFailure, code: "unstorable_state: ", do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		next, err := touch(ctx, x.o, b)
		b.State.Text = "a\x00b"
		return next, err
	}},
	"state that is not UTF-8": {want: taskkit.StatusFailure, code: "unstorable_state: ", do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		next, err := touch(ctx, x.o, b)
		b.State.Text = "\xff\xfe"
		return next, err
	}},
	"state that is too large": {want: taskkit.StatusFailure, code: "unstorable_state: ", do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		next, err := touch(ctx, x.o, b)
		b.State.Text = strings.Repeat("x", taskjson.MaxSize)
		return next, err
	}},
	"state that is large": {want: taskkit.StatusCompleted, do: func(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
		next, err := touch(ctx, x.o, b)
		b.State.Text = strings.Repeat("x", min(taskjson.MaxSize-1000, 4<<20))
		return next, err
	}},
}

func leaveRows(ctx context.Context, x *badExecutor, b *batch) (taskkit.Next, error) {
	next, err := touch(ctx, x.o, b)
	if err != nil {
		return next, err
	}
	//nolint:sqlclosecheck,rowserrcheck // leaving them open is the case
	rows, err := b.Tx.QueryContext(context.WithoutCancel(ctx), "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT i FROM n")
	if err == nil && !rows.Next() {
		err = errors.New("no row")
	}
	return next, err
}

// TestHostileExecutors runs every case once, in its long form again and again.
func TestHostileExecutors(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		w := newEnv(t, db)
		budget, long := prove.Budget(t) // for both, beside each other
		did := make(map[string]int)
		tasks, rounds, violations := 0, 0, 0
		defer func() {
			if !long {
				return
			}
			if t.Failed() {
				violations = max(violations, 1)
			}
			var names []map[string]any
			for _, name := range slices.Sorted(maps.Keys(did)) {
				names = append(names, map[string]any{"case": name, "done": did[name]})
			}
			prove.Record(t, "hostile-"+db.Short(), map[string]any{
				"rounds": rounds, "kinds of cases": len(did), "cases": names, "tasks": tasks, "violations": violations,
			})
		}()
		for end := time.Now().Add(budget); rounds == 0 || time.Now().Before(end) && !t.Failed(); rounds++ {
			n, wrong := w.round(did)
			tasks, violations = tasks+n, violations+wrong
		}
		c, wrong := w.check()
		violations += wrong
		t.Logf("%d tasks, %d touches, %d batches", c.Tasks, c.Touches, c.Batches)
		if c.Tasks != int64(tasks) || c.Batches < 100 {
			t.Errorf("the oracle has read %+v", c)
		}
	})
}

// round runs every case once, with a healthy task beside each, and returns how
// many tasks there were and how much was not as it should be.
func (w *env) round(did map[string]int) (tasks, wrong int) {
	w.Helper()
	err := func(format string, args ...any) {
		w.Helper()
		wrong++
		w.Errorf(format, args...)
	}
	x := &badExecutor{o: w.o, release: make(chan struct{}), kept: make(map[taskkit.ID]taskkit.ExecQuerier)}
	ids := make(map[string]taskkit.ID)
	var healthy []taskkit.ID
	for name, d := range cases {
		if d.only == "" || d.only == w.db.Dialect {
			ids[name] = w.submit(name)
			healthy = append(healthy, w.submit(""))
			did[name]++
		}
	}
	defer w.start(kind, x, batchTimeout)()
	defer w.start(abandonedKind, x, abandonAfter)()
	defer x.behind.Wait() // before the worker ends
	released := sync.OnceFunc(func() { close(x.release) })
	defer released()
	for _, name := range []string{"later than ever", "retry after ever"} {
		w.stopWaiting(name, ids[name])
	}
	for _, id := range healthy {
		// On SQLite an executor that ignores its context within a transaction keeps the only write lock
		// until it is abandoned, and others may have to try again.
		task := w.ended("healthy", id)
		attempts, readErr := w.client.Attempts(w.Context(), id, maxAttempts)
		if readErr != nil || task.Status != taskkit.StatusCompleted || len(attempts) != 0 && w.db.Dialect == dialect.Postgres || task.Progress.Done != items {
			err("a healthy task ended in %s %q with %+v after failed attempts %+v (%v)", task.Status, task.StatusDetail, task.Progress, attempts, readErr)
		}
	}
	for name, id := range ids {
		task := w.ended(name, id)
		if d := cases[name]; task.Status != d.want || !strings.HasPrefix(task.StatusDetail, d.code) {
			err("%s: ended in %s %.300q, want %s %q", name, task.Status, task.StatusDetail, d.want, d.code)
		}
	}
	released()
	x.behind.Wait()
	if n := w.count("SELECT count(*) FROM late"); n != 0 {
		err("%d rows of batches that were given up were committed", n)
	}
	return len(ids) + len(healthy), wrong
}

// stopWaiting stops a task that waits for a time that never comes.
func (w *env) stopWaiting(name string, id taskkit.ID) {
	w.Helper()
	waits := errors.New("waits")
	ctx, found := context.WithCancelCause(testdb.Within(w.T))
	defer found(nil)
	t, err := w.client.Wait(ctx, id, func(t *taskkit.Task, err error) {
		if err == nil && t.Status == taskkit.StatusQueued && t.Fence > 0 && t.Wait > 24*time.Hour {
			found(waits)
		}
	})
	if !errors.Is(err, waits) {
		w.Fatalf("%s: got %v, %+v, want a task that waits for long", name, err, t)
	}
	if _, err := w.client.Stop(w.Context(), id); err != nil {
		w.Fatalf("stop %s: %v", name, err)
	}
}
