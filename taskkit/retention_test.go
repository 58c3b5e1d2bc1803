package taskkit_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/taskkind"
)

// removals keeps what workers say that they have removed.
type removals struct {
	mu  sync.Mutex
	sum taskevent.OldRemoved
}

func (r *removals) Observe(_ context.Context, e taskevent.Event) {
	if e, ok := e.(taskevent.OldRemoved); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sum.Results += e.Results
		r.sum.Tasks += e.Tasks
		r.sum.Idle += e.Idle
		r.sum.Events += e.Events
	}
}

func (r *removals) seen() taskevent.OldRemoved {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sum
}

// reporting returns a kind with results, and its executor.
func reporting(name string, aliases ...string) (*taskkit.Kind[countSpec, countState, string], *aborting[countSpec, countState]) {
	k := taskkit.NewKind(taskkind.Definition[countSpec, countState, string]{Name: name, Aliases: aliases, BatchSize: 10})
	return k, &aborting[countSpec, countState]{
		funcs: funcs[countSpec, countState]{execute: func(context.Context, *countBatch) (taskkit.Next, error) {
			return taskkit.Done, nil
		}},
		abort:  func(context.Context, *countBatch) error { return nil },
		report: func(context.Context, *countBatch) (string, error) { return "result", nil },
	}
}

// A result that was fetched can be fetched again within its time, and expires after it. Its
// task is still there. One that nobody fetches expires later.
func TestResultsExpire(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k, x := reporting("count")
		removed := &removals{}
		c := quick(t, db)
		c.Observer = removed
		c.Retention = taskkit.Retention{Fetched: 50 * time.Millisecond, Unfetched: time.Hour}
		started(t, db, registered[countSpec, countState](k, x), taskkit.CleanEvery(c, 10*time.Millisecond))
		id, other := submitted(t, db, k, countSpec{}), submitted(t, db, k, countSpec{})
		ended(t, db, id)
		ended(t, db, other)
		client := clientOf(db)
		if r, err := taskkit.Fetch(t.Context(), client, k, id); err != nil || r != "result" {
			t.Fatalf("fetch: %q, %v", r, err)
		}
		until(t, "the result has expired", func() bool {
			_, err := client.Result(t.Context(), id)
			return errors.Is(err, taskkit.ErrExpired)
		})
		if _, err := taskkit.Fetch(t.Context(), client, k, id); !errors.Is(err, taskkit.ErrExpired) {
			t.Errorf("fetch after the time: %v, want ErrExpired", err)
		}
		if _, err := client.FetchJSON(t.Context(), id); !errors.Is(err, taskkit.ErrExpired) {
			t.Errorf("fetch as JSON after the time: %v, want ErrExpired", err)
		}
		if got, err := taskkit.Get(t.Context(), client, k, id); err != nil || got.Result != nil || got.Task.Status != taskkit.StatusCompleted {
			t.Errorf("got %+v, %v; want the task without its result", got, err)
		}
		if raw, err := client.Result(t.Context(), other); err != nil || string(raw) != `"result"` {
			t.Errorf("the result that nobody fetched: %s, %v", raw, err)
		}
		until(t, "the worker has said so", func() bool { return removed.seen() == taskevent.OldRemoved{Results: 1} })
	})
}

// Tasks that have ended are removed after the time of their kind, also under another name of
// it; what is kept for ever stays, as do events.
func TestTasksAreRemoved(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k, x := reporting("count")
		kept, y := reporting("kept", "formerly_kept")
		formerly, _ := reporting("formerly_kept")
		removed := &removals{}
		r := registered[countSpec, countState](k, x)
		taskkit.Register(r, kept, y)
		c := quick(t, db)
		c.Observer = removed
		c.Retention = taskkit.Retention{Ended: time.Millisecond, Idle: time.Millisecond}
		c.KindRetention = map[string]taskkit.Retention{"kept": {Ended: taskkit.Never, Idle: taskkit.Never}}
		client := clientOf(db)
		stay := []taskkit.ID{
			submitted(t, db, kept, countSpec{}), submitted(t, db, formerly, countSpec{}),
			submitted(t, db, kept, countSpec{}, taskkit.WithQueue("unserved")),
			submitted(t, db, k, countSpec{}, taskkit.WithDelay(time.Hour)),
		}
		done := submitted(t, db, k, countSpec{})
		idle := submitted(t, db, k, countSpec{}, taskkit.WithQueue("unserved"))
		started(t, db, r, taskkit.CleanEvery(c, 10*time.Millisecond))
		gone := func(id taskkit.ID) bool {
			_, err := client.Task(t.Context(), id)
			return errors.Is(err, taskkit.ErrNotFound)
		}
		until(t, "both are removed", func() bool { return gone(done) && gone(idle) })
		for _, id := range stay {
			if gone(id) {
				t.Errorf("task %s is gone", id)
			}
		}
		es, err := client.Events(t.Context(), idle, 10)
		if err != nil || len(es) != 1 || es[0].Reason != "idle for too long" {
			t.Errorf("events of the idle task: %+v, %v", es, err)
		}
	})
}

// All mistakes are told at once, by name.
func TestRetentionRefused(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	k, x := reporting("count")
	c := taskkit.Config{
		Retention:     taskkit.Retention{Fetched: -1, Ended: -time.Hour},
		KindRetention: map[string]taskkit.Retention{"count": {Idle: -1, Events: time.Hour}},
	}
	_, err := taskkit.NewWorker(t.Context(), db.DB, registered[countSpec, countState](k, x), c)
	for _, want := range []string{
		"Config.Retention.Fetched", "Config.Retention.Ended", `Config.KindRetention["count"].Idle`, `Config.KindRetention["count"].Events`, "taskkit.Never",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
