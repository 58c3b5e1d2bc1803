package taskkit_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
)

// A delete that was accepted removes the task, however its last batch ends it
// (PTV-33).
func TestAcceptedDeleteIsNeverLost(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE work (item bigint)"); err != nil {
			t.Fatal(err)
		}
		entered, proceed := make(chan struct{}), make(chan error)
		k := newKind[countSpec, countState]("count", 10)
		x := &aborting[countSpec, countState]{
			funcs: funcs[countSpec, countState]{execute: func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
				entered <- struct{}{}
				err := <-proceed
				b.Advance(1)
				if b.Spec.Items == 2 { // it writes
					if _, err := b.Tx.ExecContext(ctx, "INSERT INTO work (item) VALUES (1)"); err != nil {
						return taskkit.Done, err
					}
				}
				return taskkit.Done, err
			}},
			abort:  func(context.Context, *countBatch) error { return nil },
			report: func(context.Context, *countBatch) (string, error) { return "result", nil },
		}
		cfg := quick(t, db)
		r := &recorder{}
		cfg.Observer = r
		started(t, db, registered[countSpec, countState](k, x), cfg)
		c := clientOf(db)
		for _, tc := range []struct {
			name  string
			items int
			err   error
		}{
			{"done, with a transaction of its own", 2, nil},
			{"done, in the group commit", 1, nil},
			{"failed for good, with a transaction", 2, taskkit.Permanent("broken", errors.New("broken"))},
			{"failed for good", 1, taskkit.Permanent("broken", errors.New("broken"))},
			{"to be tried again", 1, errors.New("try again")},
		} {
			id := submitted(t, db, k, countSpec{Items: tc.items})
			<-entered
			task, err := c.Delete(t.Context(), id)
			if err != nil || task.Control != taskkit.ControlDelete {
				t.Fatalf("%s: delete: %+v, %v", tc.name, task, err)
			}
			proceed <- tc.err
			if task, err := c.Wait(testdb.Within(t), id, nil); !errors.Is(err, taskkit.ErrNotFound) {
				t.Errorf("%s: the task is %+v, %v; want %v", tc.name, task, err, taskkit.ErrNotFound)
			}
			removed := func() bool {
				return slices.ContainsFunc(r.of(id), func(e taskevent.Event) bool {
					ended, ok := e.(taskevent.TaskEnded)
					return ok && ended.Removed
				})
			}
			until(t, tc.name+": an event says that the task was removed", removed)
			if events, err := c.Events(t.Context(), id, 10); err != nil || len(events) != 1 {
				t.Errorf("%s: events %+v, %v", tc.name, events, err)
			}
		}
		// What the last batch of the first wrote was committed with the removal.
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM work").Scan(&n); err != nil || n != 1 {
			t.Errorf("%d rows of work, %v; want 1", n, err)
		}
	})
}

// A stop that comes too late leaves nothing on a task that is done.
func TestStopThatComesTooLate(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		entered, proceed := make(chan struct{}), make(chan error)
		k := newKind[countSpec, countState]("count", 10)
		x := &funcs[countSpec, countState]{execute: func(context.Context, *countBatch) (taskkit.Next, error) {
			entered <- struct{}{}
			return taskkit.Done, <-proceed
		}}
		cfg := quick(t, db)
		r := &recorder{}
		cfg.Observer = r
		stop := started(t, db, registered[countSpec, countState](k, x), cfg)
		for want, err := range map[taskkit.Status]error{
			taskkit.StatusCompleted: nil, taskkit.StatusFailure: taskkit.Permanent("broken", errors.New("broken")),
		} {
			id := submitted(t, db, k, countSpec{})
			<-entered
			if _, err := clientOf(db).Stop(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			proceed <- err
			task := ended(t, db, id)
			if task.Status != want || task.Partial || task.Control != "" || task.ControlReason != "" {
				t.Errorf("%s: %+v", want, task)
			}
		}
		stop()
		for _, e := range r.all() {
			if e, ok := e.(taskevent.TaskEnded); ok && e.Removed {
				t.Errorf("%+v: the task was not removed", e)
			}
		}
	})
}
