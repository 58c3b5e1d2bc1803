package taskkit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/takeover"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
	"taskkit.dev/taskkit/taskops"
)

// runs records which specs were executed, in their order.
type runs struct {
	mu    sync.Mutex
	specs []int
}

func (r *runs) add(b *countBatch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.specs = append(r.specs, b.Spec.Items)
}

func (r *runs) all() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.specs)
}

// offered submits version n of a thing, whose spec has as many items, and returns its task and the error.
func offered(t *testing.T, db *testdb.DB, n int64, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
	t.Helper()
	opts = append([]taskkit.SubmitOption{taskkit.System(), taskkit.WithSchema(schemaOf(db)), taskkit.WithCoalescing("person 7"), taskkit.WithVersion(n)}, opts...)
	return taskkit.Submit(t.Context(), db.DB, countKind, countSpec{Items: int(n)}, opts...)
}

// accepted submits a version that is the newest.
func accepted(t *testing.T, db *testdb.DB, n int64, opts ...taskkit.SubmitOption) taskkit.ID {
	t.Helper()
	id, err := offered(t, db, n, opts...)
	if err != nil {
		t.Fatalf("version %d: %v", n, err)
	}
	return id
}

// Messages that come in the order 5 6 7 8 1 2 3 4, as after the death of a consumer: version 8 is executed, whether
// the older ones come before or after that.
func TestNewestVersionWins(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		id := accepted(t, db, 5)
		for n := int64(6); n <= 8; n++ {
			if again := accepted(t, db, n); again != id {
				t.Errorf("version %d is task %s, not merged into %s", n, again, id)
			}
		}
		refused := func() {
			t.Helper()
			for _, n := range []int64{0, 1, 2, 3, 4, 8} {
				_, err := offered(t, db, n)
				old, ok := errors.AsType[*taskkit.SupersededError](err)
				if want := (taskkit.SupersededError{Kind: "count", Reference: "person 7", Version: n, Newest: 8}); !ok || *old != want {
					t.Errorf("version %d: got %v, want %+v", n, err, want)
				}
			}
		}
		refused()
		var r runs
		started(t, db, registered(countKind, &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			r.add(b)
			return taskkit.Done, nil
		}}), quick(t, db))
		if task := ended(t, db, id); task.Version == nil || *task.Version != 8 || task.Status != taskkit.StatusCompleted || task.Partial {
			t.Errorf("the task is %+v", task)
		}
		refused()
		ended(t, db, accepted(t, db, 9))
		if got := r.all(); !slices.Equal(got, []int{8, 9}) {
			t.Errorf("executed %v, want versions 8 and 9", got)
		}
	})
}

// A version that is refused leaves the transaction usable, and one whose transaction is rolled back does not count.
func TestVersionInTransaction(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		submit := func(n int64, opts ...taskkit.SubmitOption) error {
			opts = append(opts, taskkit.System(), taskkit.WithSchema(schemaOf(db)), taskkit.WithCoalescing("person 7"), taskkit.WithVersion(n))
			_, err := taskkit.Submit(t.Context(), tx, countKind, countSpec{Items: int(n)}, opts...)
			return err
		}
		if err := submit(5); err != nil {
			t.Fatal(err)
		}
		if _, ok := errors.AsType[*taskkit.SupersededError](submit(3)); !ok {
			t.Error("version 3 after 5 was stored")
		}
		if _, ok := errors.AsType[*taskkit.CoalesceError](submit(9, taskkit.WithQueue("night"))); !ok {
			t.Error("version 9 in another queue was stored")
		}
		if err := submit(6); err != nil {
			t.Errorf("version 6 after 9 was refused for its queue: %v", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		accepted(t, db, 1)
	})
}

// The newest version starts at its own time: neither earlier nor later, whatever waits for it.
func TestVersionStartsAtItsOwnTime(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		at := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		id := accepted(t, db, 1, taskkit.WithNotBefore(at))
		check := func(what string, want func(*taskkit.Task) bool) {
			t.Helper()
			if task, err := clientOf(db).Task(t.Context(), id); err != nil || !want(task) {
				t.Errorf("%s: not before %v, in %v, %v", what, task.NotBefore, task.Wait, err)
			}
		}
		later := at.Add(5 * time.Hour)
		accepted(t, db, 2, taskkit.WithNotBefore(later))
		check("a later time", func(task *taskkit.Task) bool { return task.NotBefore.Equal(later) })
		accepted(t, db, 3)
		check("now", func(task *taskkit.Task) bool { return task.Wait <= 0 })
		if again := accepted(t, db, 4, taskkit.WithDelay(time.Hour)); again != id {
			t.Errorf("the delayed version is task %s, beside %s", again, id)
		}
		check("a delay", func(task *taskkit.Task) bool { return task.Wait > 50*time.Minute })
	})
}

// A merge keeps the higher priority, so that a submission does not hold up what is urgent.
func TestCoalesceKeepsPriority(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		reference := taskkit.WithCoalescing("person 7")
		for _, c := range []struct{ given, want taskkit.Priority }{
			{taskkit.PriorityLow, taskkit.PriorityLow}, {taskkit.PriorityHigh, taskkit.PriorityHigh}, {taskkit.PriorityIdle, taskkit.PriorityHigh},
		} {
			id := submitted(t, db, countKind, countSpec{}, reference, taskkit.WithPriority(c.given))
			if task, err := clientOf(db).Task(t.Context(), id); err != nil || task.Priority != c.want {
				t.Errorf("after priority %d: %d, %v, want %d", c.given, task.Priority, err, c.want)
			}
		}
	})
}

// Two tasks wait with a reference, since the first was executing when the second was submitted. One takes the third
// submission, which is executed once.
func TestCoalesceIntoOneOfTwo(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var r runs
		begun, fail := make(chan struct{}), make(chan struct{})
		started(t, db, registered(countKind, &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			r.add(b)
			if b.Spec.Items == 1 {
				close(begun)
				<-fail
				return taskkit.More, taskkit.RetryAfter(errPlanned, time.Hour)
			}
			return taskkit.Done, nil
		}}), quick(t, db))
		submit := func(n int) taskkit.ID {
			return submitted(t, db, countKind, countSpec{Items: n}, taskkit.WithCoalescing("person 7"))
		}
		first := submit(1)
		<-begun
		op := taskops.New(clientOf(db))
		if err := op.PauseQueue(t.Context(), "default"); err != nil {
			t.Fatal(err)
		}
		second := submit(2)
		close(fail)
		until(t, "the first waits for its retry", func() bool {
			task, err := clientOf(db).Task(t.Context(), first)
			return err == nil && task.Status == taskkit.StatusQueued
		})
		third := submit(3)
		if err := op.ResumeQueue(t.Context(), "default"); err != nil {
			t.Fatal(err)
		}
		if third != second || third == first {
			t.Errorf("tasks %s, %s, %s: the last two must be one", first, second, third)
		}
		ended(t, db, third)
		task := ended(t, db, first)
		if task.Status != taskkit.StatusCompleted || !task.Partial || !strings.HasPrefix(task.StatusDetail, "superseded: ") {
			t.Errorf("the first ended as %s, partial %t, %q", task.Status, task.Partial, task.StatusDetail)
		}
		if got := r.all(); !slices.Equal(got, []int{1, 3}) {
			t.Errorf("executed %v, want 1 and then 3 once", got)
		}
	})
}

// A version that executes is followed by the newer one, not overtaken: that one waits, and takes in what comes meanwhile.
func TestVersionFollowsTheOneThatRuns(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var r runs
		g := newGauge()
		begun, release := make(chan struct{}), make(chan struct{})
		registry := registered(countKind, &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			defer g.enter("person 7", b.Task)()
			r.add(b)
			if b.Spec.Items == 1 {
				close(begun)
				<-release
			}
			return taskkit.Done, nil
		}})
		for range 2 {
			started(t, db, registry, quick(t, db))
		}
		first := accepted(t, db, 1)
		<-begun
		second := accepted(t, db, 2)
		until(t, "the second waits for the first", func() bool {
			task, err := clientOf(db).Task(t.Context(), second)
			return err == nil && task.Status == taskkit.StatusQueued && task.Cause() == taskcause.Limit
		})
		if why, err := clientOf(db).Explain(t.Context(), second); err != nil || !strings.Contains(why.Text, first.String()) {
			t.Errorf("explained as %+v, %v, which does not name %s", why, err, first)
		}
		if uses, err := taskops.New(clientOf(db)).Limits(t.Context(), "", 9); err != nil || len(uses) > 0 {
			t.Errorf("limits that are listed: %+v, %v", uses, err)
		}
		third := accepted(t, db, 3)
		close(release)
		if third != second || third == first {
			t.Errorf("tasks %s, %s, %s: want the last two to be one", first, second, third)
		}
		ended(t, db, third)
		if task := ended(t, db, first); task.Partial {
			t.Errorf("the first was executing, and ended as %s, %s", task.Status, task.StatusDetail)
		}
		if got := r.all(); !slices.Equal(got, []int{1, 3}) || g.most("person 7") != 1 {
			t.Errorf("executed %v, %d at once: want 1 and then 3", got, g.most("person 7"))
		}
	})
}

// A version that has left its worker is not executed after a newer one was submitted, for whatever reason it left.
func TestOlderVersionIsNotExecutedLater(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]func(b *countBatch) (taskkit.Next, error){
		"tried again": func(*countBatch) (taskkit.Next, error) { return taskkit.More, errPlanned },
		"asks for later": func(b *countBatch) (taskkit.Next, error) {
			b.State.Next = 1
			return taskkit.Later(time.Millisecond), nil
		},
		"dead letter": func(*countBatch) (taskkit.Next, error) { return taskkit.More, taskkit.Permanent("bad", errPlanned) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				var r runs
				begun, release := make(chan struct{}), make(chan struct{})
				started(t, db, registered(countKind, &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
					r.add(b)
					if b.Spec.Items > 1 {
						return taskkit.Done, nil
					}
					close(begun)
					<-release
					return result(b)
				}}), quick(t, db))
				first := accepted(t, db, 1)
				<-begun
				second := accepted(t, db, 2)
				close(release)
				task := ended(t, db, first)
				ended(t, db, second)
				if task.Status == taskkit.StatusFailure {
					if _, err := clientOf(db).Retry(t.Context(), first); err != nil {
						t.Fatal(err)
					}
					task = ended(t, db, first)
				}
				if want := "superseded: version 2 of the reference was submitted after version 1"; task.Status != taskkit.StatusCompleted || !task.Partial || task.StatusDetail != want {
					t.Errorf("the first ended as %s, partial %t, %q, want %q", task.Status, task.Partial, task.StatusDetail, want)
				}
				if why, err := clientOf(db).Explain(t.Context(), first); err != nil || !strings.Contains(why.Text, "It was superseded after 0 items: version 2 of the reference") {
					t.Errorf("explained as %+v, %v", why, err)
				}
				if got := r.all(); !slices.Equal(got, []int{1, 2}) {
					t.Errorf("executed %v, want 1 and then 2", got)
				}
			})
		})
	}
}

// No task is made from one with a version, also while that is the newest: it would take effect beside a newer version, or after
// it. The task itself can be retried.
func TestNoTaskIsMadeFromVersion(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var r runs
		started(t, db, registered(countKind, &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			r.add(b)
			if len(r.all()) == 1 {
				return taskkit.More, taskkit.Permanent("bad", errPlanned)
			}
			return taskkit.Done, nil
		}}), quick(t, db))
		first, client := accepted(t, db, 1), clientOf(db)
		refused := func() {
			t.Helper()
			for action, f := range map[string]func() error{
				"Continue":         func() error { _, err := client.Continue(t.Context(), first, taskkit.WithDelay(time.Hour)); return err },
				"CheckContinue":    func() error { return client.CheckContinue(t.Context(), first) },
				"RetryFailed":      func() error { _, err := client.RetryFailed(t.Context(), first); return err },
				"CheckRetryFailed": func() error { return client.CheckRetryFailed(t.Context(), first) },
				"RetryCorrected": func() error {
					_, err := client.RetryCorrected(t.Context(), first, func(func(taskkit.Correction, error) bool) {})
					return err
				},
			} {
				err := f()
				if items, ok := errors.AsType[*taskkit.ItemsError](err); !ok || !strings.Contains(items.Problem, "it has a version") {
					t.Errorf("%s: got %v, want an *ItemsError about the version", action, err)
				}
			}
		}
		if task := ended(t, db, first); task.Status != taskkit.StatusFailure {
			t.Fatalf("ended as %s", task.Status)
		}
		refused()
		if _, err := client.Retry(t.Context(), first); err != nil {
			t.Errorf("the newest is retried: %v", err)
		}
		ended(t, db, first)
		ended(t, db, accepted(t, db, 2))
		if got := r.all(); !slices.Equal(got, []int{1, 1, 2}) {
			t.Errorf("executed %v, want 1 twice and then 2", got)
		}
	})
}

// A version whose worker is lost is not executed again after a newer one was submitted.
func TestOlderVersionOfLostWorker(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var r runs
		begun := make(chan struct{})
		registry := registered(countKind, &funcs[countSpec, countState]{execute: func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			r.add(b)
			if b.Spec.Items == 1 {
				close(begun)
				<-ctx.Done()
			}
			return taskkit.Done, ctx.Err()
		}})
		lost := quick(t, db)
		lost.SystemID = "lost"
		w, err := taskkit.NewWorker(t.Context(), db.DB, registry, lost)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { _ = w.Run(ctx) }) // it finds out that it was declared dead, or is cancelled
		defer func() {
			cancel()
			run.Wait()
		}()
		first := accepted(t, db, 1)
		<-begun
		second := accepted(t, db, 2)
		if err := takeover.Declare(testdb.Within(t), db, schemaOf(db), "lost"); err != nil {
			t.Fatal(err)
		}
		started(t, db, registry, quick(t, db))
		ended(t, db, second)
		if task := ended(t, db, first); !task.Partial || !strings.HasPrefix(task.StatusDetail, "superseded: ") {
			t.Errorf("the first ended as %s, %q", task.Status, task.StatusDetail)
		}
		// The worker may have begun with the second before it found out.
		if got := slices.Compact(r.all()); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("executed %v, want 1 and then 2", got)
		}
	})
}

// The version of a reference goes 14 days after its last task, and not while one waits, executes or is kept, however long ago it was submitted.
func TestVersionsAreForgotten(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		client, versions := clientOf(db), table(db, "taskkit_reference_version")
		exec := func(query string) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
		kept := func() (rows, unused, old int) {
			t.Helper()
			if err := db.QueryRowContext(t.Context(), "SELECT count(*), coalesce(sum(CASE WHEN unused THEN 1 ELSE 0 END), 0), coalesce(sum(CASE WHEN checked_date < '2002-01-01' THEN 1 ELSE 0 END), 0) FROM "+
				versions).Scan(&rows, &unused, &old); err != nil {
				t.Fatal(err)
			}
			return rows, unused, old
		}
		var r runs
		begun, release := make(chan struct{}), make(chan struct{})
		registry := registered(countKind, &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			r.add(b)
			close(begun)
			<-release
			return taskkit.Done, nil
		}})
		stop := started(t, db, registry, quick(t, db))
		first := accepted(t, db, 9)
		<-begun
		for reference, f := range map[string]func(context.Context, taskkit.ID, ...taskkit.RequestOption) (*taskkit.Task, error){
			"waits": nil, "ended": client.Stop, "removed": client.Delete,
		} {
			id := accepted(t, db, 7, taskkit.WithCoalescing(reference), taskkit.WithNotBefore(time.Now().Add(time.Hour)))
			if f != nil {
				if _, err := f(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
		}
		const backdate = " SET checked_date = '2001-02-03 04:05:06.789'"
		exec("UPDATE " + versions + backdate)
		c := quick(t, db)
		c.Queues = []string{"another"}
		started(t, db, registry, taskkit.CleanEvery(c, 10*time.Millisecond))
		until(t, "the tasks of all versions were looked for", func() bool { _, _, old := kept(); return old == 0 })
		if rows, unused, _ := kept(); rows != 4 || unused != 1 {
			t.Errorf("%d versions, %d of them without a task, want 4 and 1", rows, unused)
		}
		close(release)
		ended(t, db, first)
		exec("UPDATE " + versions + backdate)
		until(t, "the version without tasks is forgotten", func() bool { rows, _, old := kept(); return rows == 3 && old == 0 })
		stop()
		for _, reference := range []string{"person 7", "waits", "ended"} {
			if _, err := offered(t, db, 6, taskkit.WithCoalescing(reference)); !isOlder(err) {
				t.Errorf("version 6 of %s: %v, want a *SupersededError", reference, err)
			}
		}
		accepted(t, db, 6, taskkit.WithCoalescing("removed"))
		if got := r.all(); !slices.Equal(got, []int{9}) {
			t.Errorf("executed %v, want version 9 alone", got)
		}
	})
}

func isOlder(err error) bool {
	_, ok := errors.AsType[*taskkit.SupersededError](err)
	return ok
}

// Where no version can be, the option is refused by name.
func TestVersionIsRefused(t *testing.T) {
	t.Parallel()
	db := migrated(t, testdb.SQLite(t))
	for name, opts := range map[string][]taskkit.SubmitOption{
		"no reference": {taskkit.WithVersion(1)},
		"negative":     {taskkit.WithVersion(-1), taskkit.WithCoalescing("r")},
	} {
		_, err := taskkit.Submit(t.Context(), db.DB, countKind, countSpec{}, append(opts, taskkit.System())...)
		if refused, ok := errors.AsType[*taskkit.OptionError](err); !ok || refused.Option != "WithVersion" {
			t.Errorf("%s: got %v, want an *OptionError of WithVersion", name, err)
		}
	}
}
