package taskkit_test

import (
	"context"
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// A worker that starts with the name of one that has ended, on the same machine, has
// another identity and is not mistaken for it. Both have the name and the start in it (SSP-24).
func TestRestartUnderOneName(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		for range 2 {
			id := submitted(t, db, countKind, countSpec{Items: 10})
			stop := started(t, db, registered(countKind, counting("w")), quick(t, db))
			if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
				t.Errorf("ended in %s %q", task.Status, task.StatusDetail)
			}
			stop()
			checkTouched(t, db.DB, id, 10)
		}
		workers, err := taskops.New(clientOf(db)).Workers(t.Context())
		if err != nil || len(workers) != 2 || workers[0].ID == workers[1].ID {
			t.Fatalf("workers %+v, %v; want two", workers, err)
		}
		for _, w := range workers {
			if !regexp.MustCompile(`^test-\d{8}T\d{6}\.\d{3}Z-`).MatchString(w.ID) {
				t.Errorf("a worker of the system test is %s", w.ID)
			}
		}
	})
}

// Config.Context is called before the start and before each batch, in which Report of a task that is done runs too, and
// before Abort.
func TestCallsOfContext(t *testing.T) {
	t.Parallel()
	done := funcs[countSpec, countState]{execute: func(context.Context, *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
		return taskkit.Done, nil
	}}
	fails := funcs[countSpec, countState]{execute: func(context.Context, *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
		return taskkit.Done, taskkit.Permanent("planned", errPlanned)
	}}
	abort := func(context.Context, *taskkit.Batch[countSpec, countState]) error { return nil }
	report := func(context.Context, *taskkit.Batch[countSpec, countState]) (string, error) { return "", nil }
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		for name, tc := range map[string]struct {
			executor taskkit.Executor[countSpec, countState]
			want     int64
		}{
			"done":                {&done, 2},
			"done, with a report": {&aborting[countSpec, countState]{done, abort, report}, 2},
			"failed":              {&fails, 2},
			"failed, with Abort":  {&aborting[countSpec, countState]{fails, abort, report}, 3},
		} {
			var calls atomic.Int64
			c := quick(t, db)
			c.Context = func(ctx context.Context, _, _ uuid.UUID) (context.Context, error) {
				calls.Add(1)
				return ctx, nil
			}
			id := submitted(t, db, countKind, countSpec{})
			stop := started(t, db, registered(countKind, tc.executor), c)
			ended(t, db, id)
			stop()
			if got := calls.Load(); got != tc.want {
				t.Errorf("%s: %d calls, want %d", name, got, tc.want)
			}
		}
	})
}
