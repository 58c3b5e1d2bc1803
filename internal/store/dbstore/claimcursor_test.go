package dbstore_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
)

// cursorEnv is a worker that claims from a cursor: a snapshot keeps the entries of the tasks that it has claimed, and
// the tasks that wait have been due for an hour.
type cursorEnv struct {
	*testing.T
	s     store.Store
	db    *testdb.DB
	claim store.Claim
	hour  time.Time // the tasks of the backlog are due from then on
	added int

	other uuid.UUID // a task of the case
	lease store.Lease
	tx    *sql.Tx
}

// cursorClaimed and cursorWaiting are how many tasks are claimed before the cursor, and how many wait after it.
const cursorClaimed, cursorWaiting = 2000, 100

// newCursorEnv claims tasks under a snapshot, after before has stored others. The lease is that of the first one. The next claim is the
// first with a cursor.
func newCursorEnv(t *testing.T, before func(*cursorEnv)) *cursorEnv {
	t.Helper()
	s, db := opened(t, testdb.Postgres(t))
	e := &cursorEnv{T: t, s: s, db: db, hour: time.Now().Add(-time.Hour).Truncate(time.Microsecond)}
	e.claim = store.Claim{Process: "p", Queues: []string{"default", "other"}, Kinds: map[string][]int{"demo": {1}}, SpecMax: 1 << 20}
	e.ok(s.RegisterWorker(t.Context(), store.Process{ID: "p", Kinds: e.claim.Kinds, Queues: e.claim.Queues, DeadAfter: time.Hour}))
	pin, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	e.ok(err)
	t.Cleanup(func() { _ = pin.Rollback() })
	_, err = pin.ExecContext(t.Context(), "SELECT count(*) FROM pg_class")
	e.ok(err)
	var tasks []store.NewTask
	for range cursorClaimed + cursorWaiting {
		tasks = append(tasks, e.next())
	}
	e.ok(store.Insert(t.Context(), db.DB, db.Schema, tasks, false))
	if before != nil {
		before(e)
	}
	e.lease = e.take(cursorClaimed)[0].Lease
	e.take(10) // reads the entries of all that were claimed
	return e
}

// next is the next task of the backlog.
func (e *cursorEnv) next() store.NewTask {
	e.added++
	return newTask(func(n *store.NewTask) { n.NotBefore = e.hour.Add(time.Duration(e.added) * time.Millisecond) })
}

// early is a task that has been due for longer than the backlog.
func (e *cursorEnv) early(change ...func(*store.NewTask)) store.NewTask {
	n := newTask(change...)
	n.NotBefore = e.hour.Add(-time.Hour)
	return n
}

func (e *cursorEnv) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e *cursorEnv) insert(tasks ...store.NewTask) {
	e.Helper()
	e.ok(store.Insert(e.Context(), e.db.DB, e.db.Schema, tasks, false))
}

func (e *cursorEnv) exec(query string, args ...any) {
	e.Helper()
	_, err := e.db.ExecContext(e.Context(), query, args...)
	e.ok(err)
}

func (e *cursorEnv) request(id uuid.UUID, a lifecycle.Action) {
	e.Helper()
	_, err := e.s.Request(e.Context(), id, store.Request{Action: a})
	e.ok(err)
}

// release gives the task of the lease back as one that has not failed.
func (e *cursorEnv) release(w store.Write) {
	e.Helper()
	w.Lease, w.To = e.lease, lifecycle.Queued
	if a, err := e.s.Apply(e.Context(), "p", []*store.Write{&w}); err != nil || !a[0].OK {
		e.Fatalf("released %+v, %v", a, err)
	}
}

// some claims tasks.
func (e *cursorEnv) some(n int) store.ClaimResult {
	e.Helper()
	c := e.claim
	c.Limit = n
	r, err := e.s.Claim(e.Context(), c)
	e.ok(err)
	return r
}

// take claims tasks, of which there are enough.
func (e *cursorEnv) take(n int) []store.ClaimedTask {
	e.Helper()
	r := e.some(n)
	if len(r.Tasks) != n {
		e.Fatalf("claimed %d tasks, want %d", len(r.Tasks), n)
	}
	return r.Tasks
}

// passesOver fails the test unless the next claim does not find a task.
func (e *cursorEnv) passesOver(id uuid.UUID) {
	e.Helper()
	if got := e.take(1)[0].ID; got == id {
		e.Fatal("the claim had no cursor")
	}
}

// comes claims, while there are always enough other tasks, until this one is claimed.
func (e *cursorEnv) comes(id uuid.UUID) {
	e.Helper()
	until(e.T, "the task before the cursor is claimed", func() bool {
		e.insert(e.next())
		return e.take(1)[0].ID == id
	})
}

// A task that comes to be before the cursor from which a worker claims is passed over for a while, and then claimed,
// although the worker always finds enough others.
func TestTaskBeforeCursorIsClaimed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(*cursorEnv)           // before there is a cursor
		after  func(*cursorEnv) uuid.UUID // brings a task below it
	}{
		"clock that was set back": {after: func(e *cursorEnv) uuid.UUID {
			n := e.early()
			e.insert(n)
			return n.ID
		}},
		"late commit": {after: func(e *cursorEnv) uuid.UUID {
			tx, err := e.db.BeginTx(e.Context(), nil)
			e.ok(err)
			n := e.early()
			e.ok(store.Insert(e.Context(), tx, e.db.Schema, []store.NewTask{n}, false))
			e.ok(tx.Commit())
			return n.ID
		}},
		"rollback of another claim": {
			before: func(e *cursorEnv) {
				n := e.early(func(n *store.NewTask) { n.Reference = "locked" })
				e.insert(n)
				tx, err := e.db.BeginTx(e.Context(), nil)
				e.ok(err)
				_, err = tx.ExecContext(e.Context(), "UPDATE taskkit_queued_task SET workflow_status = 'SCHEDULING', scheduled_by_process = 'p', scheduling_started_date = now(), fence = fence + 1 WHERE id = $1", n.ID.String())
				e.ok(err)
				e.other, e.tx = n.ID, tx
			},
			after: func(e *cursorEnv) uuid.UUID {
				e.ok(e.tx.Rollback())
				return e.other
			},
		},
		"resume": {
			before: func(e *cursorEnv) {
				n := e.early()
				e.insert(n)
				e.request(n.ID, lifecycle.ActPause)
				e.other = n.ID
			},
			after: func(e *cursorEnv) uuid.UUID {
				e.request(e.other, lifecycle.ActResume)
				return e.other
			},
		},
		"earlier not_before, as of a task that is woken": {
			before: func(e *cursorEnv) {
				n := newTask(func(n *store.NewTask) { n.NotBefore = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) })
				e.insert(n)
				e.other = n.ID
			},
			after: func(e *cursorEnv) uuid.UUID {
				e.exec("UPDATE taskkit_queued_task SET not_before = $2 WHERE id = $1", e.other.String(), e.hour.Add(-time.Hour))
				return e.other
			},
		},
		"release without a delay": {
			before: func(e *cursorEnv) { e.insert(e.early()) },
			after: func(e *cursorEnv) uuid.UUID {
				e.release(store.Write{Delay: -1})
				return e.lease.ID
			},
		},
		"retry at an earlier time": {
			after: func(e *cursorEnv) uuid.UUID {
				e.release(store.Write{At: e.hour.Add(-time.Hour)})
				return e.lease.ID
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newCursorEnv(t, c.before)
			id := c.after(e)
			e.passesOver(id)
			e.comes(id)
		})
	}
}

// A claim finds at once, with any cursors, tasks of a kind that the worker did not know, tasks of a queue that
// was paused, and those that were retried or released by a reaper.
func TestTasksAfterCursors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(*cursorEnv)
		after  func(*cursorEnv) uuid.UUID
	}{
		"of an unknown kind": {
			before: func(e *cursorEnv) {
				n := e.early(func(n *store.NewTask) { n.Kind = "later" })
				e.insert(n)
				e.other = n.ID
			},
			after: func(e *cursorEnv) uuid.UUID {
				e.take(1)
				e.claim.Kinds = map[string][]int{"demo": {1}, "later": {1}}
				return e.other
			},
		},
		"of a paused queue": {
			before: func(e *cursorEnv) {
				e.ok(e.s.PauseQueue(e.Context(), store.QueueChange{Queue: "other", Paused: true}))
				n := e.early(func(n *store.NewTask) { n.Queue, n.Priority = "other", 1 })
				e.insert(n)
				e.other = n.ID
			},
			after: func(e *cursorEnv) uuid.UUID {
				e.take(1)
				e.ok(e.s.PauseQueue(e.Context(), store.QueueChange{Queue: "other"}))
				return e.other
			},
		},
		"of a dead worker": {
			before: func(e *cursorEnv) {
				e.ok(e.s.RegisterWorker(e.Context(), store.Process{ID: "dead", Kinds: e.claim.Kinds, Queues: e.claim.Queues, DeadAfter: time.Hour}))
				c := e.claim
				c.Process, c.Limit = "dead", 1
				r, err := e.s.Claim(e.Context(), c)
				e.ok(err)
				e.other = r.Tasks[0].ID
			},
			after: func(e *cursorEnv) uuid.UUID {
				e.exec("UPDATE taskkit_task_process SET last_heartbeat_date = now() - interval '2 hours' WHERE id = 'dead'")
				_, err := e.s.Reap(e.Context(), nil)
				e.ok(err)
				return e.other
			},
		},
		"just submitted with a high priority": {after: func(e *cursorEnv) uuid.UUID {
			n := newTask(func(n *store.NewTask) { n.Priority = 1 })
			e.insert(n)
			return n.ID
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newCursorEnv(t, c.before)
			id := c.after(e)
			if got := e.take(1)[0].ID; got != id {
				t.Errorf("claimed %s, want %s", got, id)
			}
		})
	}
}

// A worker that finds fewer tasks after the cursor than it may take claims those below it at once.
func TestCursorOfIdleWorker(t *testing.T) {
	t.Parallel()
	e := newCursorEnv(t, nil)
	low := e.early()
	e.insert(low)
	e.passesOver(low.ID)
	r := e.some(cursorWaiting)
	if len(r.Tasks) == 0 || len(r.Tasks) == cursorWaiting || r.Next != 0 {
		t.Fatalf("claimed %d tasks and then in %v, want fewer than %d, and then at once", len(r.Tasks), r.Next, cursorWaiting)
	}
	if got := e.some(10); len(got.Tasks) != 1 || got.Tasks[0].ID != low.ID || got.Next != -1 {
		t.Fatalf("claimed %+v, want the task before the cursor", got)
	}
	// There are cursors again, and no task after them.
	c := e.claim
	low = e.early(func(n *store.NewTask) { n.Owner, n.RunAs = uuid.New(), uuid.New() })
	e.insert(low)
	if waiting, err := e.s.Waiting(t.Context(), c); err != nil || !waiting {
		t.Errorf("waiting: %t (%v), want true", waiting, err)
	}
	until(t, "the owner of the task before the cursor waits", func() bool {
		owners, err := e.s.WaitingOwners(t.Context(), c)
		e.ok(err)
		_, waits := owners[low.Owner]
		return waits
	})
	if got := e.some(10); len(got.Tasks) != 1 || got.Tasks[0].ID != low.ID {
		t.Fatalf("claimed %+v, want the task before the cursor", got)
	}
}

// Claims from a cursor take what they find in the order of claims.
func TestCursorKeepsOrder(t *testing.T) {
	t.Parallel()
	e := newCursorEnv(t, nil)
	next := cursorClaimed + 10
	for range 4 {
		for _, task := range e.take(20) {
			next++
			n, err := e.s.Task(t.Context(), task.ID)
			e.ok(err)
			if want := e.hour.Add(time.Duration(next) * time.Millisecond); !n.NotBefore.Equal(want) {
				t.Fatalf("claimed one due %v, want %v", n.NotBefore, want)
			}
		}
	}
}
