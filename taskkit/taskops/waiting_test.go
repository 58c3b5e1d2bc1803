package taskops_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
	"taskkit.dev/taskkit/taskops"
)

// waitingTables are the tables of a test of this file.
type waitingTables struct {
	*testing.T
	db     *testdb.DB
	schema string
	prefix string // of tables
	op     *taskops.Operator
}

func newWaitingTables(t *testing.T, db *testdb.DB) waitingTables {
	t.Helper()
	w := waitingTables{T: t, db: db, schema: db.Schema}
	if w.schema == "" {
		w.schema = taskkit.DefaultSchema
	}
	if db.Dialect == dialect.Postgres {
		w.prefix = `"` + w.schema + `".`
	}
	w.op = taskops.New(taskkit.NewClient(db.DB, taskkit.WithSchema(w.schema)))
	return w
}

func (w waitingTables) exec(query string, args ...any) {
	w.Helper()
	if _, err := w.db.ExecContext(w.Context(), query, args...); err != nil {
		w.Fatal(err)
	}
}

// wait stores tasks that wait until a time for a reason.
func (w waitingTables) wait(n int, until, reason string) {
	w.Helper()
	tasks := make([]store.NewTask, n)
	for i := range tasks {
		tasks[i] = store.NewTask{
			ID: store.NewID(), Submitted: store.Submitted{Kind: "demo", Queue: "default", Owner: taskkit.SystemOwner, RunAs: taskkit.SystemOwner, Reason: "new"},
			Revision: 1, Priority: 2, Total: -1,
		}
	}
	if err := store.Insert(w.Context(), w.db.DB, w.schema, tasks, false); err != nil {
		w.Fatal(err)
	}
	w.exec(fmt.Sprintf("UPDATE %staskkit_queued_task SET not_before = '%s', waiting_reason = nullif('%s', ''), reason = NULL WHERE reason = 'new'", w.prefix, until, reason))
}

// The planner of PostgreSQL expects what it has analyzed.
func TestEstimates(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		w := newWaitingTables(t, db)
		is := func(want map[taskkit.Status]int64) {
			t.Helper()
			if got, err := w.op.Estimates(t.Context()); err != nil || !maps.Equal(got, want) {
				t.Errorf("estimates: %v, %v; want %v", got, err, want)
			}
		}
		w.wait(20, "2020-01-01 00:00:00.000", "")
		is(map[taskkit.Status]int64{})
		w.exec("ANALYZE")
		if db.Dialect == dialect.Postgres {
			is(map[taskkit.Status]int64{taskkit.StatusQueued: 20})
		} else {
			is(nil)
		}
		detached := taskops.New(taskkit.NewClient(struct{ taskkit.ExecQuerier }{db}, taskkit.WithSchema(w.schema)))
		if got, err := detached.Estimates(t.Context()); err != nil || got != nil {
			t.Errorf("without a handle: %v, %v", got, err)
		}
	})
}

// Tasks that are not due are counted by cause, and a bounded number of them is read.
func TestWaiting(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		w := newWaitingTables(t, db)
		const past, future, never = "2020-01-01 00:00:00.000", "2999-01-01 00:00:00.000", "9999-12-31 00:00:00.000"
		is := func(want map[taskcause.Cause]int64) {
			t.Helper()
			if got, err := w.op.Waiting(t.Context()); err != nil || !maps.Equal(got, want) {
				t.Errorf("waiting: %v, %v; want %v", got, err, want)
			}
		}
		is(map[taskcause.Cause]int64{})
		w.wait(3, past, "")
		w.wait(2, future, "")
		w.wait(3, future, lifecycle.ReasonRetry+"error")
		w.wait(1, future, lifecycle.ReasonThrottled+"lag")
		w.wait(1, future, lifecycle.ReasonWindow+"22:00-06:00 is closed")
		w.wait(1, future, lifecycle.ReasonRate+"5 items/s")
		w.wait(2, never, lifecycle.ReasonChildren)
		w.wait(1, never, lifecycle.ReasonEndingChildren)
		w.wait(2, never, lifecycle.ReasonNoPermit+`"k": at most 1 at once`)
		want := map[taskcause.Cause]int64{
			taskcause.Start: 2, taskcause.Retry: 3, taskcause.Throttled: 1, taskcause.Window: 1, taskcause.Rate: 1, taskcause.Children: 3, taskcause.Limit: 2,
		}
		is(want)
		w.exec("UPDATE " + w.prefix + "taskkit_queued_task SET control = 'PAUSE' WHERE waiting_reason LIKE 'throttled%'")
		delete(want, taskcause.Throttled)
		want[taskcause.Paused] = 1
		is(want)
		approval := fmt.Sprintf("control = 'PAUSE', control_reason = '%safter its first item'", lifecycle.ReasonApproval)
		w.exec("UPDATE " + w.prefix + "taskkit_queued_task SET " + approval + " WHERE waiting_reason = '" + lifecycle.ReasonChildren + "'")
		w.exec("UPDATE " + w.prefix + "taskkit_queued_task SET control = 'PAUSE' WHERE waiting_reason IS NULL AND not_before < '2021-01-01 00:00:00.000'")
		want[taskcause.Paused], want[taskcause.Approval], want[taskcause.Children] = 4, 2, 1
		is(want)
		w.exec("UPDATE " + w.prefix + "taskkit_queued_task SET control = '', control_reason = NULL WHERE control = 'PAUSE'")
		w.wait(1200, "2998-01-01 00:00:00.000", "the other system asked for it")
		want = map[taskcause.Cause]int64{taskcause.Later: 1000, taskcause.Children: 3, taskcause.Limit: 2}
		is(want)
		w.wait(7000, future, "")
		w.wait(7000, future, "")
		w.exec("UPDATE " + w.prefix + "taskkit_queued_task SET control = 'PAUSE' WHERE not_before > '2990-01-01 00:00:00.000' AND waiting_reason IS NULL")
		want[taskcause.Paused] = 10_000
		is(want)
	})
}

// One live worker is the reader, and another one goes on when it has ended.
func TestElectReader(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		w := newWaitingTables(t, db)
		s, err := dbstore.Open(t.Context(), db.DB, db.Schema, dbstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Release(t.Context())
		for _, id := range []string{"a", "b"} {
			if err := s.RegisterWorker(t.Context(), store.Process{ID: id, Kinds: map[string][]int{"demo": {1}}, Queues: []string{"default"}, Slots: 1, DeadAfter: time.Hour}); err != nil {
				t.Fatal(err)
			}
		}
		elect := func(worker string, want bool) {
			t.Helper()
			if got, err := w.op.ElectReader(t.Context(), worker, time.Hour); err != nil || got != want {
				t.Errorf("%s is the reader: %t, %v; want %t", worker, got, err, want)
			}
		}
		elect("b", true)
		elect("a", false)
		elect("b", true)
		elect("none", false)
		w.exec("UPDATE " + w.prefix + "taskkit_task_process SET reads_until_date = '2999-01-01 00:00:00.000'") // both were elected at once
		elect("b", false)
		elect("a", true)
		w.exec("UPDATE " + w.prefix + "taskkit_task_process SET reads_until_date = '2020-01-01 00:00:00.000' WHERE id = 'a'")
		elect("b", true)
		if err := s.Deregister(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		elect("b", false)
		elect("a", true)
	})
}
