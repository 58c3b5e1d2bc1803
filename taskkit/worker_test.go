package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

type countBatch = taskkit.Batch[countSpec, countState]

// A task runs batch by batch to its end, and every item is touched once.
func TestWorkerRunsTask(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		id := submitted(t, db, countKind, countSpec{Items: 1234})
		started(t, db, registered(countKind, counting("w")), quick(t, db))
		task := ended(t, db, id)
		if task.Status != taskkit.StatusCompleted || task.Partial {
			t.Fatalf("ended in %s: %s", task.Status, task.StatusDetail)
		}
		if want := (taskkit.Progress{Total: 1234, Done: 1234}); task.Progress != want {
			t.Errorf("progress %+v, want %+v", task.Progress, want)
		}
		if task.Fence != 1 || task.Checkpoints < 2 || task.Started == nil || task.Stopped == nil || task.Worker != "" {
			t.Errorf("row after the end: %+v", task)
		}
		checkTouched(t, db.DB, id, 1234)
	})
}

// Many tiny tasks without a transaction of their own are written by the group commit.
func TestWorkerRunsManyTinyTasks(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("tiny", 1)
		var ran atomic.Int64
		x := &funcs[countSpec, countState]{execute: func(context.Context, *countBatch) (taskkit.Next, error) {
			ran.Add(1)
			return taskkit.Done, nil
		}}
		const n = 2000
		ids, err := taskkit.SubmitMany(t.Context(), db.DB, k, make([]countSpec, n), taskkit.WithSchema(schemaOf(db)), taskkit.System())
		if err != nil {
			t.Fatalf("submit: %v", err)
		}
		started(t, db, registered(k, x), quick(t, db))
		until(t, "all have completed", func() bool {
			counts, _, err := clientOf(db).Counts(t.Context(), "tiny")
			if err != nil {
				t.Fatalf("count: %v", err)
			}
			return counts[taskkit.StatusCompleted] == n
		})
		if got := ran.Load(); got != n {
			t.Errorf("%d calls of Execute for %d tasks", got, n)
		}
		task, err := clientOf(db).Task(t.Context(), ids[n/2])
		if err != nil || task.Started == nil || task.Fence != 1 || task.Checkpoints != 1 {
			t.Errorf("task %+v, error %v", task, err)
		}
	})
}

// outcome is how a task that fails in some way is to end.
type outcome struct {
	status   taskkit.Status
	code     string // what the description begins with
	attempts int    // failed ones recorded, at the least
}

func TestWorkerErrors(t *testing.T) {
	t.Parallel()
	var once sync.Map // task and batch to whether it has failed
	for name, tc := range map[string]struct {
		execute func(ctx context.Context, b *countBatch) (taskkit.Next, error)
		want    outcome
	}{
		"permanent": {func(context.Context, *countBatch) (taskkit.Next, error) {
			return taskkit.More, taskkit.Permanent("no_such_program", errors.New("program 7 is gone"))
		}, outcome{taskkit.StatusFailure, "no_such_program: ", 1}},
		"transient without end": {func(context.Context, *countBatch) (taskkit.Next, error) {
			return taskkit.More, errPlanned
		}, outcome{taskkit.StatusFailure, "error: gave up after 3 tries", 3}},
		"transient twice": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			if b.Attempt < 3 && b.State.Next < 10 { // the batches that then follow are small
				return taskkit.More, errPlanned
			}
			return count(ctx, b, "w")
		}, outcome{taskkit.StatusCompleted, "", 2}},
		"panic": {func(context.Context, *countBatch) (taskkit.Next, error) {
			panic("nobody expects")
		}, outcome{taskkit.StatusFailure, "panic: nobody expects\n", 1}},
		"goexit": {func(context.Context, *countBatch) (taskkit.Next, error) {
			runtime.Goexit()
			return taskkit.Done, nil
		}, outcome{taskkit.StatusFailure, "goexit: ", 1}},
		"nasty text": {func(context.Context, *countBatch) (taskkit.Next, error) {
			return taskkit.More, taskkit.Permanent("bad\x00code", errors.New("\xff\x00"+strings.Repeat("long", 1<<20)))
		}, outcome{taskkit.StatusFailure, "bad\uFFFDcode: ", 1}},
		"wrong statement": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			_, err := b.Tx.ExecContext(ctx, "SELECT no_such_column")
			return taskkit.More, err
		}, outcome{taskkit.StatusFailure, "database: gave up after 3 tries", 3}},
		"error after work": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			batch := fmt.Sprint(b.Task, b.State.Next)
			next, err := count(ctx, b, "w")
			if _, failed := once.LoadOrStore(batch, true); !failed && err == nil {
				return next, errPlanned // after b.State has been changed
			}
			return next, err
		}, outcome{taskkit.StatusCompleted, "", 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				makeTouch(t, db.DB)
				k := newKind[countSpec, countState]("count", 250)
				id := submitted(t, db, k, countSpec{Items: 1000})
				started(t, db, registered(k, &funcs[countSpec, countState]{execute: tc.execute}), quick(t, db))
				task := ended(t, db, id)
				if task.Status != tc.want.status || !strings.HasPrefix(task.StatusDetail, tc.want.code) {
					t.Fatalf("ended in %s %q, want %s %q", task.Status, task.StatusDetail, tc.want.status, tc.want.code)
				}
				attempts, err := clientOf(db).Attempts(t.Context(), id, 100)
				if err != nil {
					t.Fatal(err)
				}
				if tc.want.status == taskkit.StatusCompleted {
					checkTouched(t, db.DB, id, 1000)
				} else {
					checkTouched(t, db.DB, id, 0)
				}
				// How many batches a task that completes takes is the limit's affair.
				if n := len(attempts); n < tc.want.attempts || tc.want.status == taskkit.StatusFailure && n > tc.want.attempts {
					t.Errorf("%d failed attempts recorded, want %d", n, tc.want.attempts)
				}
			})
		})
	}
}

// A spec that cannot be decoded ends its task with an error of the runtime.
func TestWorkerUndecodableSpec(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		// The same name with another spec: what a careless deploy makes.
		other := newKind[map[string]string, countState]("count", 10)
		id := submitted(t, db, other, map[string]string{"unknown": "field"})
		started(t, db, registered(countKind, counting("w")), quick(t, db))
		task := ended(t, db, id)
		if task.Status != taskkit.StatusError || !strings.HasPrefix(task.StatusDetail, "undecodable: ") {
			t.Errorf("ended in %s %q, want ERROR undecodable", task.Status, task.StatusDetail)
		}
	})
}

// A task that was claimed again and again without a checkpoint has killed its
// workers: it ends in ERROR, and an operator may retry it.
func TestWorkerCrashLoop(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		id := submitted(t, db, countKind, countSpec{Items: 10})
		if _, err := db.Exec("UPDATE " + table(db, "taskkit_queued_task") + " SET attempts = 3"); err != nil {
			t.Fatal(err)
		}
		started(t, db, registered(countKind, counting("w")), quick(t, db))
		if task := ended(t, db, id); task.Status != taskkit.StatusError || !strings.HasPrefix(task.StatusDetail, "crash_loop: tried 3 times") {
			t.Errorf("ended in %s %q, want ERROR crash_loop", task.Status, task.StatusDetail)
		}
		if _, err := clientOf(db).Retry(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
			t.Errorf("after a retry it ended in %s %q", task.Status, task.StatusDetail)
		}
		checkTouched(t, db.DB, id, 10)
	})
}

// Later releases the task without spending an attempt.
func TestWorkerLater(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("count", 10)
		id := submitted(t, db, k, countSpec{})
		started(t, db, registered(k, &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			if b.Attempt != 1 {
				return taskkit.More, taskkit.Permanent("attempt_spent", nil)
			}
			if b.State.Next++; b.State.Next < 5 {
				return taskkit.Later(20 * time.Millisecond), nil
			}
			return taskkit.Done, nil
		}}), quick(t, db))
		task := ended(t, db, id)
		if task.Status != taskkit.StatusCompleted || task.Fence != 5 || task.Checkpoints != 5 {
			t.Errorf("ended in %s %q with fence %d and %d checkpoints, want 5 and 5", task.Status, task.StatusDetail, task.Fence, task.Checkpoints)
		}
	})
}

// An executor that ignores its context is abandoned, and its task continues.
func TestWorkerAbandonsUnresponsiveExecutor(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		k := newKind[countSpec, countState]("count", 1000)
		release := make(chan struct{})
		late := make(chan error, 1)
		x := &funcs[countSpec, countState]{execute: func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			if b.Attempt == 1 {
				<-release
				_, err := b.Tx.ExecContext(context.WithoutCancel(ctx), "DELETE FROM touch")
				late <- err
				return taskkit.Done, nil
			}
			return count(ctx, b, "w")
		}}
		c := quick(t, db)
		c.BatchTimeout, c.MaxAttempts = time.Second, 100 // a busy machine may need more than two
		id := submitted(t, db, k, countSpec{Items: 10})
		started(t, db, registered(k, x), c)
		task := ended(t, db, id)
		close(release)
		if err := <-late; err == nil {
			t.Error("the abandoned executor could still use its transaction")
		}
		if task.Status != taskkit.StatusCompleted {
			t.Errorf("ended in %s %q", task.Status, task.StatusDetail)
		}
		checkTouched(t, db.DB, id, 10)
	})
}

// Items that fail are recorded and counted; a savepoint undoes one item alone.
func TestWorkerFailsItems(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		type spec struct {
			People []int `json:"people"`
		}
		type none struct{}
		k := newKind[spec, none]("items", 4)
		x := &funcs[spec, none]{execute: func(ctx context.Context, b *taskkit.Batch[spec, none]) (taskkit.Next, error) {
			people, next := taskkit.Take(b, b.Spec.People)
			for _, p := range people {
				err := b.Try(ctx, func() error {
					if err := touch(ctx, b.Tx, b.Task, p, p+1, "w"); err != nil {
						return err
					}
					if p%3 == 0 {
						return taskkit.Permanent("divisible", errPlanned)
					}
					return nil
				})
				if err != nil {
					b.Fail(p, err)
				}
				if p%5 == 0 {
					b.Skip(p, "divisible by 5")
				}
			}
			return next, nil
		}}
		id := submitted(t, db, k, spec{People: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}})
		started(t, db, registered(k, x), quick(t, db))
		task := ended(t, db, id)
		if want := (taskkit.Progress{Total: 10, Done: 5, Failed: 3, Skipped: 2}); task.Progress != want || task.Status != taskkit.StatusCompleted {
			t.Errorf("%s %q with progress %+v, want %+v", task.Status, task.StatusDetail, task.Progress, want)
		}
		var got []string
		for _, o := range []taskkit.Outcome{taskkit.OutcomeFailed, taskkit.OutcomeSkipped} {
			for _, i := range listed(t, db, id, o) {
				got = append(got, fmt.Sprintf("%s %s %s at %d, attempt %d", i.Text(), i.Code, i.Detail, i.Position, i.Attempt))
			}
		}
		if want := []string{
			"3 divisible planned at 3, attempt 1", "6 divisible planned at 6, attempt 1", "9 divisible planned at 9, attempt 1",
			"5 divisible by 5  at 5, attempt 1", "10 divisible by 5  at 10, attempt 1",
		}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("items %q, want %q", got, want)
		}
		var rows int
		if err := db.QueryRow(`SELECT count(*) FROM touch`).Scan(&rows); err != nil || rows != 7 {
			t.Errorf("%d rows survived the savepoints (error %v), want 7", rows, err)
		}
	})
}

// The security context is installed before the start, before every batch and
// before the end, with the task's own people.
func TestWorkerContext(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		type key struct{}
		owner, runAs := uuid.New(), uuid.New()
		k := newKind[countSpec, countState]("count", 10)
		var calls atomic.Int64
		var revoked atomic.Bool
		x := &aborting[countSpec, countState]{
			funcs: funcs[countSpec, countState]{execute: func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
				if ctx.Value(key{}) != runAs || b.Owner != owner || b.RunAs != runAs {
					return taskkit.More, taskkit.Permanent("wrong_person", nil)
				}
				if b.State.Next++; b.State.Next == 3 {
					revoked.Store(true)
				}
				return taskkit.More, nil
			}},
			abort:  func(context.Context, *countBatch) error { return nil },
			report: func(context.Context, *countBatch) (string, error) { return "", nil },
		}
		c := quick(t, db)
		c.Context = func(ctx context.Context, o, r uuid.UUID) (context.Context, error) {
			calls.Add(1)
			if o != owner {
				return nil, taskkit.Permanent("wrong_owner", nil)
			}
			if revoked.Load() {
				return nil, taskkit.Permanent("access_revoked", nil)
			}
			return context.WithValue(ctx, key{}, r), nil
		}
		id := submitted(t, db, k, countSpec{}, taskkit.OwnedBy(owner), taskkit.RunAs(runAs))
		started(t, db, registered[countSpec, countState](k, x), c)
		task := ended(t, db, id)
		if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "access_revoked") || task.Checkpoints != 3 {
			t.Errorf("ended in %s %q after %d checkpoints, want FAILURE access_revoked after 3", task.Status, task.StatusDetail, task.Checkpoints)
		}
		// One for the start, three for the batches, one for the batch that was
		// refused, at least one for the end.
		if n := calls.Load(); n < 6 {
			t.Errorf("the context was installed %d times, want at least 6", n)
		}
	})
}

// A task that has used up its quantum yields to one that waits.
func TestWorkerQuantum(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("count", 10)
		var done atomic.Int64 // tasks that are done
		x := &funcs[countSpec, countState]{execute: func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			if b.Spec.Items == 1 { // the short one
				done.Add(1)
				return taskkit.Done, nil
			}
			if done.Load() > 0 {
				return taskkit.Done, nil // the long one ends once the short one has run
			}
			b.State.Next++
			select {
			case <-time.After(2 * time.Millisecond):
			case <-ctx.Done():
			}
			return taskkit.More, nil
		}}
		c := quick(t, db)
		c.Slots, c.Quantum = 1, 20*time.Millisecond
		long := submitted(t, db, k, countSpec{Items: 2})
		started(t, db, registered(k, x), c)
		until(t, "the long task runs", func() bool {
			task, err := clientOf(db).Task(t.Context(), long)
			return err == nil && task.Checkpoints > 1
		})
		short := submitted(t, db, k, countSpec{Items: 1})
		if task := ended(t, db, short); task.Status != taskkit.StatusCompleted {
			t.Errorf("short task: %s %q", task.Status, task.StatusDetail)
		}
		task := ended(t, db, long)
		if task.Status != taskkit.StatusCompleted || task.Attempts != 0 || task.Fence < 2 {
			t.Errorf("long task: %s %q, attempts %d, fence %d", task.Status, task.StatusDetail, task.Attempts, task.Fence)
		}
	})
}

// Mistakes in the arguments of a worker are reported before it starts.
func TestNewWorkerRefuses(t *testing.T) {
	t.Parallel()
	good := func() *taskkit.Registry { return registered(countKind, counting("w")) }

	pg := testdb.Postgres(t)
	var schema *taskkit.SchemaError
	if _, err := taskkit.NewWorker(t.Context(), pg.DB, good(), taskkit.Config{Schema: pg.Schema}); !errors.As(err, &schema) || !schema.Behind() ||
		!strings.Contains(err.Error(), "taskkit migrate") {
		t.Errorf("unmigrated PostgreSQL: %v, want *SchemaError that names the command", err)
	}
	db := testdb.SQLite(t)
	if _, err := taskkit.NewWorker(t.Context(), db.DB, good(), taskkit.Config{}); err != nil {
		t.Errorf("an empty SQLite file: %v, want it to be migrated", err)
	}
	newer := testdb.SQLite(t)
	migrated(t, newer)
	if _, err := newer.Exec("INSERT INTO taskkit_goose_version (version_id, is_applied) VALUES (99999, 1)"); err != nil {
		t.Fatal(err)
	}
	if _, err := taskkit.NewWorker(t.Context(), newer.DB, good(), taskkit.Config{}); !errors.As(err, &schema) || schema.Behind() {
		t.Errorf("a newer schema: %v, want *SchemaError that is not behind", err)
	}

	var missing *taskkit.UsageError
	var r taskkit.Registry
	taskkit.Register[countSpec, countState](&r, countKind, nil)
	if _, err := taskkit.NewWorker(t.Context(), db.DB, &r, taskkit.Config{}); !errors.As(err, &missing) || missing.What != `kind "count"` {
		t.Errorf("nil executor: %v, want *UsageError of count", err)
	}
	var typedNil *funcs[countSpec, countState]
	r = taskkit.Registry{}
	taskkit.Register[countSpec, countState](&r, countKind, typedNil)
	if _, err := taskkit.NewWorker(t.Context(), db.DB, &r, taskkit.Config{}); !errors.As(err, &missing) {
		t.Errorf("nil pointer as executor: %v, want *UsageError", err)
	}
	var duplicate *taskkit.UsageError
	twice := good()
	taskkit.Register[countSpec, countState](twice, countKind, counting("w"))
	if _, err := taskkit.NewWorker(t.Context(), db.DB, twice, taskkit.Config{}); !errors.As(err, &duplicate) {
		t.Errorf("same kind twice: %v, want *UsageError", err)
	}
	var option *taskkit.OptionError
	_, err := taskkit.NewWorker(t.Context(), db.DB, &r, taskkit.Config{Slots: -1})
	if !errors.As(err, &missing) || !errors.As(err, &option) || option.Option != "Config.Slots" {
		t.Errorf("mistakes in the registry and the configuration: %v, want both", err)
	}
	for name, c := range map[string]taskkit.Config{
		"slots":     {Slots: -1},
		"heartbeat": {Heartbeat: time.Millisecond},
		"dead":      {Heartbeat: time.Second, DeadAfter: 2 * time.Second},
		"batch":     {BatchTimeout: time.Minute},
		"schema":    {Schema: `bad"name`},
		"attempts":  {MaxAttempts: -1},
	} {
		if _, err := taskkit.NewWorker(t.Context(), db.DB, good(), c); !errors.As(err, &option) {
			t.Errorf("%s: %v, want *OptionError", name, err)
		}
	}
	if _, err := taskkit.NewWorker(t.Context(), db.DB, &taskkit.Registry{}, taskkit.Config{}); !errors.As(err, &option) {
		t.Errorf("empty registry: %v, want *OptionError", err)
	}
}
