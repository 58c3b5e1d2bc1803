package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
)

// Words for what becomes of a request, beside the statuses.
const (
	refused = "refused"
	removed = "removed"
)

// requestEveryStatus: each request against each status, with and without a
// request standing.
func requestEveryStatus(e *env) {
	e.registerWorker()
	back := func(change ...func(*store.NewTask)) uuid.UUID { // claimed once, waiting again
		c := e.claimedTask(change...)
		e.apply(store.Write{Lease: c.Lease, To: lifecycle.Queued, Delay: time.Hour})
		return c.ID
	}
	orphan := func(change ...func(*store.NewTask)) uuid.UUID { // claimed once, kind known no more
		id := back(change...)
		unserved := 99
		e.edit(id, TaskColumns{Revision: &unserved})
		return id
	}
	states := map[string]func(...func(*store.NewTask)) uuid.UUID{
		"new": e.newTask, "back": back, "orphan": orphan,
	}
	for _, s := range lifecycle.Statuses()[1:] {
		states[string(s)] = func(change ...func(*store.NewTask)) uuid.UUID { return e.bring(s, change...) }
	}
	for _, c := range []struct {
		state    string
		standing lifecycle.Control
		action   lifecycle.Action
		want     string // status and control afterwards, or refused, or removed
	}{
		{"new", "", lifecycle.ActStop, "COMPLETED partial"},
		{"new", "PAUSE", lifecycle.ActStop, "COMPLETED partial"},
		{"back", "", lifecycle.ActStop, "QUEUED STOP"},
		{"back", "PAUSE", lifecycle.ActStop, "QUEUED STOP"},
		{"back", "STOP", lifecycle.ActStop, "QUEUED STOP"},
		{"back", "DELETE", lifecycle.ActStop, "QUEUED DELETE"},
		{"orphan", "", lifecycle.ActStop, "COMPLETED partial"},
		{"orphan", "PAUSE", lifecycle.ActStop, "COMPLETED partial"},
		{"SCHEDULING", "", lifecycle.ActStop, "SCHEDULING STOP"},
		{"EXECUTING", "", lifecycle.ActStop, "EXECUTING STOP"},
		{"EXECUTING", "PAUSE", lifecycle.ActStop, "EXECUTING STOP"},
		{"EXECUTING", "DELETE", lifecycle.ActStop, "EXECUTING DELETE"},
		{"COMPLETED", "", lifecycle.ActStop, "COMPLETED "},
		{"ERROR", "", lifecycle.ActStop, "ERROR "},
		{"FAILURE", "", lifecycle.ActStop, "FAILURE "},

		{"new", "", lifecycle.ActPause, "QUEUED PAUSE"},
		{"new", "PAUSE", lifecycle.ActPause, "QUEUED PAUSE"},
		{"back", "", lifecycle.ActPause, "QUEUED PAUSE"},
		{"back", "STOP", lifecycle.ActPause, refused},
		{"SCHEDULING", "", lifecycle.ActPause, "SCHEDULING PAUSE"},
		{"EXECUTING", "", lifecycle.ActPause, "EXECUTING PAUSE"},
		{"EXECUTING", "STOP", lifecycle.ActPause, refused},
		{"EXECUTING", "DELETE", lifecycle.ActPause, refused},
		{"COMPLETED", "", lifecycle.ActPause, refused},
		{"ERROR", "", lifecycle.ActPause, refused},
		{"FAILURE", "", lifecycle.ActPause, refused},

		{"new", "", lifecycle.ActResume, refused},
		{"new", "PAUSE", lifecycle.ActResume, "QUEUED "},
		{"back", "PAUSE", lifecycle.ActResume, "QUEUED "},
		{"back", "STOP", lifecycle.ActResume, refused},
		{"EXECUTING", "PAUSE", lifecycle.ActResume, "EXECUTING "},
		{"EXECUTING", "", lifecycle.ActResume, refused},
		{"SCHEDULING", "PAUSE", lifecycle.ActResume, "SCHEDULING "},
		{"COMPLETED", "", lifecycle.ActResume, refused},
		{"ERROR", "", lifecycle.ActResume, refused},
		{"FAILURE", "", lifecycle.ActResume, refused},
		{"COMPLETED", "PAUSE", lifecycle.ActResume, refused},

		{"new", "", lifecycle.ActRetry, refused},
		{"back", "", lifecycle.ActRetry, refused},
		{"SCHEDULING", "", lifecycle.ActRetry, refused},
		{"EXECUTING", "", lifecycle.ActRetry, refused},
		{"COMPLETED", "", lifecycle.ActRetry, refused},
		{"COMPLETED", "STOP", lifecycle.ActRetry, refused},
		{"ERROR", "", lifecycle.ActRetry, "QUEUED "},
		{"FAILURE", "", lifecycle.ActRetry, "QUEUED "},
		{"FAILURE", "STOP", lifecycle.ActRetry, "QUEUED "},
		{"FAILURE", "PAUSE", lifecycle.ActRetry, "QUEUED "},
		{"FAILURE", "DELETE", lifecycle.ActRetry, refused},

		{"new", "", lifecycle.ActDelete, removed},
		{"new", "PAUSE", lifecycle.ActDelete, removed},
		{"orphan", "", lifecycle.ActDelete, removed},
		{"back", "", lifecycle.ActDelete, "QUEUED DELETE"},
		{"back", "STOP", lifecycle.ActDelete, "QUEUED DELETE"},
		{"back", "DELETE", lifecycle.ActDelete, "QUEUED DELETE"},
		{"SCHEDULING", "", lifecycle.ActDelete, "SCHEDULING DELETE"},
		{"EXECUTING", "STOP", lifecycle.ActDelete, "EXECUTING DELETE"},
		{"COMPLETED", "", lifecycle.ActDelete, removed},
		{"ERROR", "", lifecycle.ActDelete, removed},
		{"FAILURE", "", lifecycle.ActDelete, removed},
		{"COMPLETED", "STOP", lifecycle.ActDelete, removed},

		{"new", "", lifecycle.ActApprove, refused},
		{"new", "PAUSE", lifecycle.ActApprove, refused},
		{"EXECUTING", "PAUSE", lifecycle.ActApprove, refused},
		{"COMPLETED", "", lifecycle.ActApprove, refused},

		{"new", "", lifecycle.ActChange, "QUEUED "},
		{"new", "PAUSE", lifecycle.ActChange, "QUEUED PAUSE"},
		{"back", "STOP", lifecycle.ActChange, refused},
		{"EXECUTING", "", lifecycle.ActChange, "EXECUTING "},
		{"EXECUTING", "DELETE", lifecycle.ActChange, refused},
		{"FAILURE", "", lifecycle.ActChange, refused},

		{"new", "", "explode", "error"},
	} {
		name := fmt.Sprintf("%s of %s with %q standing", c.action, c.state, c.standing)
		id := states[c.state]()
		if c.standing != "" {
			e.setControl(id, c.standing)
		}
		before := e.read(id)
		actor := uuid.New()
		got, err := e.s.Request(e.ctx(), id, store.Request{Action: c.action, Actor: actor, Reason: "because"})
		var state *store.StateError
		switch {
		case c.want == "error":
			if err == nil {
				e.Fatalf("%s: accepted", name)
			}
			continue
		case c.want == refused:
			if !errors.As(err, &state) || state.ID != id || state.Action != c.action || state.Status != before.Status || state.Control != c.standing {
				e.Fatalf("%s: got %v, want a StateError", name, err)
			}
			after := e.read(id)
			after.Wait, after.Elapsed, before.Wait, before.Elapsed = 0, 0, 0, 0
			is(e, name, fmt.Sprintf("%+v", after), fmt.Sprintf("%+v", before))
			es, err := e.s.Events(e.ctx(), id, 1)
			e.ok(err)
			is(e, name+": events", len(es), 0)
		case err != nil:
			e.Fatalf("%s: %v", name, err)
		case c.want == removed:
			is(e, name, got.ID, id)
			is(e, name, got.Control, lifecycle.Delete)
			e.gone(id)
		default:
			control := string(got.Control)
			if got.Partial {
				control += "partial"
			}
			is(e, name, fmt.Sprintf("%s %s", got.Status, control), c.want)
			found := lifecycle.Found{Status: before.Status, Control: before.Control, Fence: before.Fence, WorkerAlive: true, Served: c.state != "orphan"}
			change, err := lifecycle.Decide(found, c.action)
			e.ok(err)
			row, _ := rowOf(before).Request(change, actor, "because", nowInRules)
			sameRow(e, name, e.read(id), row, before.Created)
			is(e, name+": read", fmt.Sprint(e.read(id).Status, e.read(id).Control), fmt.Sprint(got.Status, got.Control))
			if got.Status == lifecycle.Queued && got.Control != lifecycle.Pause && got.Control != lifecycle.None && got.Control != c.standing && got.Wait > 0 {
				e.Fatalf("%s: due in %v, want now", name, got.Wait)
			}
			if got.Control != c.standing && got.Control != lifecycle.None {
				is(e, name+": by", [2]uuid.UUID{got.ControlBy, got.ModifiedBy}, [2]uuid.UUID{actor, actor})
				is(e, name+": reason", got.ControlReason, "because")
			}
		}
		if c.want != refused {
			es, err := e.s.Events(e.ctx(), id, 10)
			e.ok(err)
			is(e, name+": events", len(es), 1)
			event := es[0]
			is(e, name+": event", fmt.Sprint(event.Action, event.Actor, event.Reason, event.FromStatus), fmt.Sprint(string(c.action), actor, "because", before.Status))
		}
		// Out of the way of the next.
		e.removeTasks()
	}
}

// newTask is a task as submitted.
func (e *env) newTask(change ...func(*store.NewTask)) uuid.UUID { return e.one(change...) }

// requestPauseResume: a paused task is not claimed, a resumed one is; an
// actor who is not named stays unknown.
func requestPauseResume(e *env) {
	e.registerWorker()
	n := task()
	e.insert(n)
	got, err := e.request(n.ID, lifecycle.ActPause)
	e.ok(err)
	is(e, "modified by", got.ModifiedBy, uuid.Nil)
	is(e, "asked by", got.ControlBy, uuid.Nil)
	is(e, "claimed", len(e.claim(1)), 0)
	got, err = e.request(n.ID, lifecycle.ActResume)
	e.ok(err)
	is(e, "reason", got.ControlReason, "")
	is(e, "claimed", len(e.claim(1)), 1)
	es, err := e.s.Events(e.ctx(), n.ID, 10)
	e.ok(err)
	is(e, "events, newest first", es[0].Action+" "+es[1].Action, "resume pause")
	is(e, "asked by, in the events", es[0].Actor == uuid.Nil && es[1].Actor == uuid.Nil, true)
}

// requestPriority: a new priority decides about the next claim, and is recorded. It changes
// nothing else, and is refused of a task that has ended.
func requestPriority(e *env) {
	e.registerWorker()
	actor := uuid.New()
	to := func(p int) store.Request {
		return store.Request{Action: lifecycle.ActChange, Priority: p, Actor: actor, Reason: "it is urgent"}
	}
	first := e.one()
	second := e.one(func(t *store.NewTask) { t.Priority = 4 })
	before := rowOf(e.read(second))
	got, err := e.s.Request(e.ctx(), second, to(1))
	e.ok(err)
	before.Priority = 1
	is(e, "returned", fmt.Sprint(got.Priority, got.ModifiedBy), fmt.Sprint(1, actor))
	sameRow(e, "stored", e.read(second), before, got.Created)
	is(e, "events", e.events(second), "change: priority 1: it is urgent")
	is(e, "claimed", e.claim(1)[0].ID, second)
	got, err = e.s.Request(e.ctx(), second, to(3)) // while it is in flight
	e.ok(err)
	is(e, "in flight", fmt.Sprint(got.Status, got.Priority, got.Control), fmt.Sprint(lifecycle.Scheduling, 3, ""))
	_, err = e.request(first, lifecycle.ActStop)
	e.ok(err)
	var state *store.StateError
	if _, err := e.s.Request(e.ctx(), first, to(1)); !errors.As(err, &state) {
		e.Fatalf("of a task that has ended: got %v, want a StateError", err)
	}
	is(e, "refused", e.read(first).Priority, 2)
}

// requestRetry: a retry gives a fresh budget, and minds a key that is taken.
func requestRetry(e *env) {
	e.registerWorker()
	key := func(t *store.NewTask) { t.UniqueKey = "u" }
	c := e.claimedTask(key)
	e.apply(store.Write{Lease: c.Lease, To: lifecycle.Failure, Attempts: 7, StatusDetail: "why", Reason: "x"})
	other := e.one(key)
	_, err := e.request(c.ID, lifecycle.ActRetry)
	var dup *store.DuplicateError
	if !errors.As(err, &dup) || dup.ID != other || dup.Key != "u" {
		e.Fatalf("got %v, want the duplicate of %s", err, other)
	}
	is(e, "status", e.read(c.ID).Status, lifecycle.Failure)
	_, err = e.request(other, lifecycle.ActStop)
	e.ok(err)
	got, err := e.request(c.ID, lifecycle.ActRetry)
	e.ok(err)
	is(e, "task", fmt.Sprint(got.Status, got.Attempts, got.Stopped == nil, got.StatusDetail, got.Fence, got.Wait <= 0), fmt.Sprint(lifecycle.Queued, 0, true, "why", 1, true))
	again := e.claim(1)
	is(e, "fence", again[0].Fence, 2)
	is(e, "desc", e.read(c.ID).StatusDetail, "")
}

// requestOrphan: a task in flight under a process that is silent, gone or
// unknown is taken back by the request itself.
func requestOrphan(e *env) {
	e.registerWorker()
	for name, lose := range map[string]func(){
		"silent":  func() { e.setHeartbeat("lost", -11*time.Minute) },
		"left":    func() { e.setEnded("lost", 0) },
		"unknown": func() { e.removeProcess("lost") },
	} {
		for action, want := range map[lifecycle.Action]string{lifecycle.ActStop: "QUEUED STOP", lifecycle.ActPause: "QUEUED PAUSE", lifecycle.ActDelete: "QUEUED DELETE"} {
			e.removeProcess("lost")
			e.removeTasks()
			e.registerWorker(func(p *store.Process) { p.ID, p.DeadAfter = "lost", 10*time.Minute })
			id := e.one()
			is(e, "claimed", len(e.claim(1, func(c *store.Claim) { c.Process = "lost" })), 1)
			lose()
			got, err := e.request(id, action)
			e.ok(err)
			is(e, name+" "+string(action), fmt.Sprintf("%s %s", got.Status, got.Control), want)
			is(e, "stalled", got.Stalled, true)
		}
		if name == "silent" {
			if err := e.s.Heartbeat(e.ctx(), "lost", false); !errors.Is(err, store.ErrDead) {
				e.Fatalf("a beat of the process from which a task was taken: %v", err)
			}
		}
	}
}

// requestInTransaction: on a transaction's handle a request takes part in it.
func requestInTransaction(e *env) {
	e.registerWorker()
	id := e.one()
	tx, err := e.db.BeginTx(e.ctx(), nil)
	e.ok(err)
	op := dbstore.NewClient(tx, e.db.Schema, e.db.Dialect)
	got, err := op.Request(e.ctx(), id, store.Request{Action: lifecycle.ActStop})
	e.ok(err)
	is(e, "inside", got.Status, lifecycle.Completed)
	e.ok(tx.Rollback())
	is(e, "after a rollback", e.read(id).Status, lifecycle.Queued)

	own := dbstore.NewClient(e.db.DB, e.db.Schema, e.db.Dialect)
	got, err = own.Request(e.ctx(), id, store.Request{Action: lifecycle.ActStop})
	e.ok(err)
	is(e, "in its own", got.Status, lifecycle.Completed)
	is(e, "read", e.read(id).Status, lifecycle.Completed)
}

// requestNotFound: a request for a task that does not exist is refused.
func requestNotFound(e *env) {
	for _, a := range lifecycle.Actions() {
		if _, err := e.request(uuid.New(), a); !errors.Is(err, store.ErrNotFound) {
			e.Fatalf("%s: got %v, want ErrNotFound", a, err)
		}
	}
	is(e, "events", e.count(Events), 0)
}
