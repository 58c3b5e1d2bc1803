package dbstore_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/notice"
)

// noticeEnv is a store with a process, and what it has stored for deliveries.
type noticeEnv struct {
	*testing.T
	s  store.Store
	db *testdb.DB
}

const noticeProcess = "test-1-a"

func newNoticeEnv(t *testing.T, db *testdb.DB) *noticeEnv {
	t.Helper()
	s, _ := opened(t, db)
	e := &noticeEnv{T: t, s: s, db: db}
	e.register(noticeProcess, "demo")
	return e
}

func (e *noticeEnv) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e *noticeEnv) register(id, kind string) {
	e.Helper()
	e.ok(e.s.RegisterWorker(e.Context(), store.Process{ID: id, Kinds: map[string][]int{kind: {1}}, Queues: []string{"default"}, Slots: 10, DeadAfter: time.Hour}))
}

// submit stores a task with these subscriptions.
func (e *noticeEnv) submit(notify string, change ...func(*store.NewTask)) uuid.UUID {
	e.Helper()
	t := store.NewTask{
		Submitted: store.Submitted{Kind: "demo", Owner: store.SystemOwner, RunAs: store.SystemOwner, Queue: "default"},
		ID:        store.NewID(), Revision: 1, Spec: []byte("{}"), Priority: 2, Total: -1, Options: new(store.Options),
	}
	if notify != "" {
		var err error
		t.Options.Notify, err = notice.Parse(notify)
		e.ok(err)
	}
	for _, f := range change {
		f(&t)
	}
	e.ok(store.Insert(e.Context(), e.db.DB, e.s.Schema(), []store.NewTask{t}, false))
	return t.ID
}

// claim claims all tasks that are due.
func (e *noticeEnv) claim() map[uuid.UUID]store.Lease {
	e.Helper()
	c, err := e.s.Claim(e.Context(), store.Claim{Process: noticeProcess, Queues: []string{"default"}, Kinds: map[string][]int{"demo": {1}}, Limit: 100, SpecMax: 1 << 20})
	e.ok(err)
	leases := make(map[uuid.UUID]store.Lease)
	for _, t := range c.Tasks {
		leases[t.ID] = t.Lease
	}
	return leases
}

// notices returns what is to be delivered about tasks: of each the event, the target and the code.
func (e *noticeEnv) notices(about ...uuid.UUID) (list []string) {
	e.Helper()
	page, _, err := e.s.Tasks(e.Context(), store.Filter{Kinds: []string{notice.Kind}, Limit: 1000})
	e.ok(err)
	for _, t := range page {
		p, err := e.s.Plan(e.Context(), t.ID)
		e.ok(err)
		var n notice.Notice
		e.ok(json.Unmarshal(p.Spec, &n))
		if i := slices.Index(about, n.Task); i >= 0 {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%d %s %s %s", i, n.Event, n.Target, n.Code)))
		}
	}
	slices.Sort(list)
	return list
}

func (e *noticeEnv) expect(what string, got []string, want ...string) {
	e.Helper()
	if !slices.Equal(got, want) {
		e.Errorf("%s: %q is to be delivered, want %q", what, got, want)
	}
}

// Ends that one group commit writes have a notification for each subscription, and none without, and none for an end that was not made.
func TestNoticesOfAGroup(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		e := newNoticeEnv(t, db)
		ids := []uuid.UUID{e.submit("ops,owner:partial"), e.submit(""), e.submit("ops:dead_letter"), e.submit("ops:partial+late,owner:dead_letter"), e.submit("ops")}
		leases := e.claim()
		end := func(i int, to lifecycle.Status, partial bool, detail string) *store.Write {
			w := &store.Write{Lease: leases[ids[i]], To: to, Attempts: 1, Partial: partial, StatusDetail: detail}
			if i != 1 { // its session has read that there are no subscriptions
				w.Notify = notice.Ended
			}
			return w
		}
		lost := end(4, lifecycle.Completed, false, "")
		lost.Fence++
		applied, err := e.s.Apply(t.Context(), noticeProcess, []*store.Write{
			end(0, lifecycle.Completed, true, ""), end(1, lifecycle.Completed, false, ""), end(2, lifecycle.Error, false, "undecodable: x"),
			end(3, lifecycle.Failure, false, "deadline_exceeded: it had to end"), lost,
		})
		e.ok(err)
		if applied[4].OK {
			t.Error("an end without a lease was made")
		}
		e.expect("ends", e.notices(ids...), "0 partial ops", "0 partial owner", "2 dead_letter ops undecodable", "3 late ops deadline_exceeded", "3 late owner deadline_exceeded")
	})
}

// The start of a task is notified once, however often it is begun, and that it waits for the database once a day.
func TestNoticesOnce(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		e := newNoticeEnv(t, db)
		id := e.submit("ops:started+throttled,owner:started")
		for range 2 {
			lease, ok := e.claim()[id]
			if !ok {
				t.Fatal("the task was not claimed")
			}
			for _, w := range []*store.Write{
				{Lease: lease, To: lifecycle.Executing, Attempts: 1, Notify: notice.Started},
				{Lease: lease, To: lifecycle.Queued, Reason: lifecycle.ReasonThrottled + "vacuum", Notify: notice.Throttled},
			} {
				applied, err := e.s.Apply(t.Context(), noticeProcess, []*store.Write{w})
				e.ok(err)
				if !applied[0].OK {
					t.Fatalf("not applied: %+v", w)
				}
			}
		}
		e.expect("starts", e.notices(id), "0 started ops", "0 started owner", "0 throttled ops")
	})
}

// A task that has not ended by its deadline, here since it is paused, notifies once, and again of its end.
func TestNoticesOverdue(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		e := newNoticeEnv(t, db)
		over := func(t *store.NewTask) { t.Options.Deadline = time.Now().Add(-time.Minute) }
		ids := []uuid.UUID{e.submit("ops:overdue+late", over), e.submit("ops", over), e.submit("ops:overdue+late", over)}
		exec := func(query string, args ...any) {
			t.Helper()
			_, err := db.ExecContext(t.Context(), query, args...)
			e.ok(err)
		}
		for _, id := range ids[:2] {
			exec("UPDATE taskkit_queued_task SET control = 'PAUSE' WHERE id = $1", id.String())
		}
		expire := func(failed int) {
			t.Helper()
			exec("UPDATE taskkit_task_plan SET expiry_date = '2020-01-01 00:00:00.000' WHERE expiry_date IS NOT NULL")
			x, err := e.s.ExpireTasks(t.Context(), noticeProcess, 10, 10)
			e.ok(err)
			if len(x.Failed) != failed {
				t.Errorf("%d tasks have failed, want %d", len(x.Failed), failed)
			}
		}
		expire(1)
		expire(0)
		e.expect("overdue", e.notices(ids...), "0 overdue ops", "2 late ops deadline_exceeded")
		exec("UPDATE taskkit_queued_task SET control = '' WHERE id = $1", ids[0].String())
		expire(1)
		e.expect("ended", e.notices(ids...), "0 late ops deadline_exceeded", "0 overdue ops", "2 late ops deadline_exceeded")
	})
}

// A task whose deadline is over and that has ended is not overdue: neither one that ended before, nor one that ends after the maintenance has read it,
// which here a trigger does once the maintenance fails another.
func TestNoticesOverdueEnded(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		e := newNoticeEnv(t, db)
		over := func(t *store.NewTask) { t.Options.Deadline, t.Options.Keep = time.Now().Add(-time.Minute), time.Hour }
		ended := e.submit("ops:overdue", over)
		applied, err := e.s.Apply(t.Context(), noticeProcess, []*store.Write{{Lease: e.claim()[ended], To: lifecycle.Completed, Attempts: 1}})
		e.ok(err)
		if !applied[0].OK {
			t.Fatal("the task has not ended")
		}
		ending, open, late := e.submit("ops:overdue", over), e.submit("ops:overdue", over), e.submit("", over)
		end := ""
		for _, to := range []string{
			"workflow_status = 'SCHEDULING', control = '', fence = 1, scheduled_by_process = '" + noticeProcess + "'",
			"workflow_status = 'ERROR', scheduled_by_process = NULL, workflow_stopped_date = '2026-01-01 00:00:00.000'",
		} {
			end += "UPDATE taskkit_queued_task SET " + to + " WHERE id = '" + ending.String() + "'; "
		}
		when := " WHEN (NEW.id = '" + late.String() + "' AND NEW.workflow_status = 'FAILURE') "
		statements := []string{"CREATE TRIGGER ends AFTER UPDATE ON taskkit_queued_task" + when + "BEGIN " + end + "END"}
		if db.Dialect == dialect.Postgres {
			statements = []string{
				"CREATE FUNCTION ends() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + end + "RETURN NULL; END $$",
				"CREATE TRIGGER ends AFTER UPDATE ON taskkit_queued_task FOR EACH ROW" + when + "EXECUTE FUNCTION ends()",
			}
		}
		for _, s := range append(statements,
			"UPDATE taskkit_queued_task SET control = 'PAUSE' WHERE id IN ('"+ending.String()+"', '"+open.String()+"')",
			"UPDATE taskkit_task_plan SET expiry_date = '2020-01-01 00:00:00.000'") {
			_, err := db.ExecContext(t.Context(), s)
			e.ok(err)
		}
		x, err := e.s.ExpireTasks(t.Context(), noticeProcess, 10, 10)
		e.ok(err)
		task, err := e.s.Task(t.Context(), ending)
		e.ok(err)
		if !slices.Equal(x.Failed, []uuid.UUID{late}) || task.Status != lifecycle.Error {
			t.Errorf("failed %v, want %v; the task that the trigger ends is %s", x.Failed, late, task.Status)
		}
		e.expect("overdue", e.notices(ended, ending, open), "2 overdue ops")
	})
}

// A task that no session ends notifies too: one whose time is over, whose kind is unknown, or that is stopped while no worker has it.
func TestNoticesWithoutSession(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		e := newNoticeEnv(t, db)
		late := e.submit("ops", func(t *store.NewTask) { t.Options.LatestStart, t.Delay = time.Now().Add(-time.Minute), time.Hour })
		e.submit("", func(t *store.NewTask) { t.Options.LatestStart, t.Delay = time.Now().Add(-time.Minute), time.Hour })
		x, err := e.s.ExpireTasks(t.Context(), noticeProcess, 10, 10)
		e.ok(err)
		if len(x.Failed) != 2 {
			t.Errorf("%d tasks have expired, want 2", len(x.Failed))
		}
		e.expect("expired", e.notices(late), "0 late ops started_too_late")

		unknown := e.submit("ops", func(t *store.NewTask) { t.Kind = "fax" })
		_, _, err = e.s.SeeUnknownKinds(t.Context())
		e.ok(err)
		var ended []uuid.UUID
		for ctx := testdb.Within(t); len(ended) == 0 && ctx.Err() == nil; {
			ended, err = e.s.EndUnknownKinds(ctx, noticeProcess, time.Millisecond, 10)
			e.ok(err)
		}
		e.expect("of an unknown kind", e.notices(unknown), "0 dead_letter ops unknown_kind")

		stopped := e.submit("ops")
		lease := e.claim()[stopped]
		_, err = e.s.Apply(t.Context(), noticeProcess, []*store.Write{{Lease: lease, To: lifecycle.Queued}})
		e.ok(err)
		_, err = e.s.Request(t.Context(), stopped, store.Request{Action: lifecycle.ActStop})
		e.ok(err)
		e.expect("while a worker will end it", e.notices(stopped))
		e.ok(e.s.Deregister(t.Context(), noticeProcess))
		_, err = e.s.Reap(t.Context(), nil)
		e.ok(err)
		e.expect("stopped without a worker", e.notices(stopped), "0 partial ops")
	})
}
