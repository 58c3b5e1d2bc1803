package taskkit_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// Old events are deleted and young ones are kept, while every plain DELETE of an
// event is refused.
func TestPruneEvents(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		c := clientOf(db)
		id := submitted(t, db, newKind[countSpec, countState]("count", 10), countSpec{})
		if _, err := c.Pause(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		old := uuid.NewString()
		const events = 100
		for range events {
			if _, err := db.ExecContext(t.Context(), `INSERT INTO taskkit_task_event (id, task_id, created_date, action, was)
VALUES ($1, $2, '2020-01-01 00:00:00.000', 'pause', 'QUEUED')`, uuid.Must(uuid.NewV7()).String(), old); err != nil {
				t.Fatal(err)
			}
		}
		for _, wrong := range []struct {
			olderThan time.Duration
			limit     int
		}{{0, 1}, {-time.Hour, 1}, {time.Hour, 0}, {time.Hour, -1}} {
			n, err := taskops.New(c).PruneEvents(t.Context(), wrong.olderThan, wrong.limit)
			if _, ok := errors.AsType[*taskkit.OptionError](err); !ok || n != 0 {
				t.Errorf("%+v: %d, %v; want *OptionError", wrong, n, err)
			}
		}
		pruned := make(chan struct{})
		var attack sync.WaitGroup
		attack.Go(func() {
			for {
				r, err := db.ExecContext(t.Context(), "DELETE FROM taskkit_task_event WHERE task_id = $1", old)
				if err == nil {
					if n, err := r.RowsAffected(); n != 0 || err != nil {
						t.Errorf("a plain DELETE removed %d events, %v", n, err)
					}
				}
				select {
				case <-pruned:
					return
				case <-time.After(time.Millisecond):
				}
			}
		})
		total := 0
		for total < events && t.Context().Err() == nil {
			n, err := taskops.New(c).PruneEvents(t.Context(), 24*time.Hour, 7)
			if err != nil || n > 7 {
				t.Errorf("%d events deleted, %v; want at most 7", n, err)
				break
			}
			total += n
		}
		close(pruned)
		attack.Wait()
		if n, err := taskops.New(c).PruneEvents(t.Context(), 24*time.Hour, 7); n != 0 || err != nil || total != events {
			t.Errorf("%d events deleted, then %d, %v; want %d, then 0", total, n, err, events)
		}
		if es, err := c.Events(t.Context(), id, 10); err != nil || len(es) != 1 {
			t.Errorf("young events %+v, %v; want 1", es, err)
		}
		if _, err := db.ExecContext(t.Context(), "DELETE FROM taskkit_task_event"); err == nil {
			t.Error("a plain DELETE passed")
		}
	})
}

// In a transaction of the caller, the deletion is part of it, and its marker does
// not permit a later DELETE.
func TestPruneEventsInTransaction(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		id := submitted(t, db, newKind[countSpec, countState]("count", 10), countSpec{})
		if _, err := clientOf(db).Pause(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		c := taskkit.NewClient(tx, taskkit.WithSchema(schemaOf(db)))
		n := 0
		until(t, "the event is old enough", func() bool {
			n, err = taskops.New(c).PruneEvents(t.Context(), time.Millisecond, 10)
			return n > 0 || err != nil
		})
		if n != 1 || err != nil {
			t.Fatalf("%d events deleted, %v; want 1", n, err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if es, err := clientOf(db).Events(t.Context(), id, 10); err != nil || len(es) != 1 {
			t.Errorf("events after the rollback %+v, %v; want 1", es, err)
		}
	})
}
