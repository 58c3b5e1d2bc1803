package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// Words for what becomes of a request, beside the statuses.
const (
	refused = "refused"
	removed = "removed"
)

// requestEveryStatus: each request against each status, with and without a
// request standing.
func requestEveryStatus(b *bed) {
	b.enrol()
	back := func(change ...func(*store.NewTask)) uuid.UUID { // claimed once, waiting again
		c := b.held(change...)
		b.apply(store.Write{Hold: c.Hold, To: workflow.Queued, Delay: time.Hour})
		return c.ID
	}
	orphan := func(change ...func(*store.NewTask)) uuid.UUID { // claimed once, kind known no more
		id := back(change...)
		b.exec("UPDATE taskkit_queued_task SET codec_revision = 99 WHERE id = $1", id.String())
		return id
	}
	states := map[string]func(...func(*store.NewTask)) uuid.UUID{
		"new": b.newTask, "back": back, "orphan": orphan,
	}
	for _, s := range workflow.Statuses()[1:] {
		states[string(s)] = func(change ...func(*store.NewTask)) uuid.UUID { return b.bring(s, change...) }
	}
	for _, c := range []struct {
		state    string
		standing workflow.Control
		action   store.Action
		want     string // status and control afterwards, or refused, or removed
	}{
		{"new", "", store.ActStop, "COMPLETED STOP"},
		{"new", "PAUSE", store.ActStop, "COMPLETED STOP"},
		{"back", "", store.ActStop, "QUEUED STOP"},
		{"back", "PAUSE", store.ActStop, "QUEUED STOP"},
		{"back", "STOP", store.ActStop, "QUEUED STOP"},
		{"back", "DELETE", store.ActStop, "QUEUED DELETE"},
		{"orphan", "", store.ActStop, "COMPLETED STOP"},
		{"orphan", "PAUSE", store.ActStop, "COMPLETED STOP"},
		{"SCHEDULING", "", store.ActStop, "SCHEDULING STOP"},
		{"EXECUTING", "", store.ActStop, "EXECUTING STOP"},
		{"EXECUTING", "PAUSE", store.ActStop, "EXECUTING STOP"},
		{"EXECUTING", "DELETE", store.ActStop, "EXECUTING DELETE"},
		{"COMPLETED", "", store.ActStop, "COMPLETED "},
		{"ERROR", "", store.ActStop, "ERROR "},
		{"FAILURE", "", store.ActStop, "FAILURE "},

		{"new", "", store.ActPause, "QUEUED PAUSE"},
		{"new", "PAUSE", store.ActPause, "QUEUED PAUSE"},
		{"back", "", store.ActPause, "QUEUED PAUSE"},
		{"back", "STOP", store.ActPause, refused},
		{"SCHEDULING", "", store.ActPause, "SCHEDULING PAUSE"},
		{"EXECUTING", "", store.ActPause, "EXECUTING PAUSE"},
		{"EXECUTING", "STOP", store.ActPause, refused},
		{"EXECUTING", "DELETE", store.ActPause, refused},
		{"COMPLETED", "", store.ActPause, refused},
		{"ERROR", "", store.ActPause, refused},
		{"FAILURE", "", store.ActPause, refused},

		{"new", "", store.ActResume, refused},
		{"new", "PAUSE", store.ActResume, "QUEUED "},
		{"back", "PAUSE", store.ActResume, "QUEUED "},
		{"back", "STOP", store.ActResume, refused},
		{"EXECUTING", "PAUSE", store.ActResume, "EXECUTING "},
		{"EXECUTING", "", store.ActResume, refused},
		{"SCHEDULING", "PAUSE", store.ActResume, "SCHEDULING "},
		{"COMPLETED", "", store.ActResume, refused},
		{"ERROR", "", store.ActResume, refused},
		{"FAILURE", "", store.ActResume, refused},
		{"COMPLETED", "PAUSE", store.ActResume, refused},

		{"new", "", store.ActRetry, refused},
		{"back", "", store.ActRetry, refused},
		{"SCHEDULING", "", store.ActRetry, refused},
		{"EXECUTING", "", store.ActRetry, refused},
		{"COMPLETED", "", store.ActRetry, refused},
		{"COMPLETED", "STOP", store.ActRetry, refused},
		{"ERROR", "", store.ActRetry, "QUEUED "},
		{"FAILURE", "", store.ActRetry, "QUEUED "},
		{"FAILURE", "STOP", store.ActRetry, "QUEUED "},
		{"FAILURE", "PAUSE", store.ActRetry, "QUEUED "},
		{"FAILURE", "DELETE", store.ActRetry, refused},

		{"new", "", store.ActDelete, removed},
		{"new", "PAUSE", store.ActDelete, removed},
		{"orphan", "", store.ActDelete, removed},
		{"back", "", store.ActDelete, "QUEUED DELETE"},
		{"back", "STOP", store.ActDelete, "QUEUED DELETE"},
		{"back", "DELETE", store.ActDelete, "QUEUED DELETE"},
		{"SCHEDULING", "", store.ActDelete, "SCHEDULING DELETE"},
		{"EXECUTING", "STOP", store.ActDelete, "EXECUTING DELETE"},
		{"COMPLETED", "", store.ActDelete, removed},
		{"ERROR", "", store.ActDelete, removed},
		{"FAILURE", "", store.ActDelete, removed},
		{"COMPLETED", "STOP", store.ActDelete, removed},

		{"new", "", "explode", "error"},
	} {
		name := fmt.Sprintf("%s of %s with %q standing", c.action, c.state, c.standing)
		id := states[c.state]()
		if c.standing != "" {
			b.exec("UPDATE taskkit_queued_task SET control = $1 WHERE id = $2", string(c.standing), id.String())
		}
		before := b.read(id)
		actor := uuid.New()
		got, err := b.s.Request(b.ctx(), id, store.Request{Action: c.action, Actor: actor, Reason: "because"})
		var state *store.StateError
		switch {
		case c.want == "error":
			if err == nil {
				b.Fatalf("%s: accepted", name)
			}
			continue
		case c.want == refused:
			if !errors.As(err, &state) || state.ID != id || state.Action != c.action || state.Status != before.Status || state.Control != c.standing {
				b.Fatalf("%s: got %v, want a StateError", name, err)
			}
			after := b.read(id)
			after.Wait, after.Elapsed, before.Wait, before.Elapsed = 0, 0, 0, 0
			is(b, name, fmt.Sprintf("%+v", after), fmt.Sprintf("%+v", before))
			is(b, name+": events", b.count("SELECT count(*) FROM taskkit_task_event WHERE task_id = $1", id.String()), 0)
		case err != nil:
			b.Fatalf("%s: %v", name, err)
		case c.want == removed:
			is(b, name, got.ID, id)
			is(b, name, got.Control, workflow.Delete)
			b.gone(id)
		default:
			is(b, name, fmt.Sprintf("%s %s", got.Status, got.Control), c.want)
			is(b, name+": read", fmt.Sprint(b.read(id).Status, b.read(id).Control), fmt.Sprint(got.Status, got.Control))
			if got.Status == workflow.Queued && got.Control != workflow.Pause && got.Control != workflow.None && got.Control != c.standing && got.Wait > 0 {
				b.Fatalf("%s: due in %v, want now", name, got.Wait)
			}
			if got.Control != c.standing && got.Control != workflow.None {
				is(b, name+": by", [2]uuid.UUID{got.ControlBy, got.ModifiedBy}, [2]uuid.UUID{actor, actor})
				is(b, name+": reason", got.ControlReason, "because")
			}
		}
		if c.want != refused {
			es, err := b.s.Events(b.ctx(), id, 10)
			b.ok(err)
			is(b, name+": events", len(es), 1)
			e := es[0]
			is(b, name+": event", fmt.Sprint(e.Action, e.Actor, e.Reason, e.Was), fmt.Sprint(string(c.action), actor, "because", before.Status))
		}
		// Out of the way of the next.
		b.exec("DELETE FROM taskkit_queued_task")
	}
}

// newTask is a task as submitted.
func (b *bed) newTask(change ...func(*store.NewTask)) uuid.UUID { return b.one(change...) }

// requestPauseResume: a paused task is not claimed, a resumed one is; the actor
// is the owner where nobody else is named.
func requestPauseResume(b *bed) {
	b.enrol()
	n := task()
	b.insert(n)
	got, err := b.request(n.ID, store.ActPause)
	b.ok(err)
	is(b, "modified by", got.ModifiedBy, n.Owner)
	is(b, "asked by", got.ControlBy, uuid.Nil)
	is(b, "claimed", len(b.claim(1)), 0)
	got, err = b.request(n.ID, store.ActResume)
	b.ok(err)
	is(b, "reason", got.ControlReason, "")
	is(b, "claimed", len(b.claim(1)), 1)
	es, err := b.s.Events(b.ctx(), n.ID, 10)
	b.ok(err)
	is(b, "events, newest first", es[0].Action+" "+es[1].Action, "resume pause")
}

// requestRetry: a retry gives a fresh budget, and minds a key that is taken.
func requestRetry(b *bed) {
	b.enrol()
	key := func(t *store.NewTask) { t.UniqueKey = "u" }
	c := b.held(key)
	b.apply(store.Write{Hold: c.Hold, To: workflow.Failure, Attempts: 7, Desc: "why", Reason: "x"})
	other := b.one(key)
	_, err := b.request(c.ID, store.ActRetry)
	var dup *store.DuplicateError
	if !errors.As(err, &dup) || dup.ID != other || dup.Key != "u" {
		b.Fatalf("got %v, want the duplicate of %s", err, other)
	}
	is(b, "status", b.read(c.ID).Status, workflow.Failure)
	_, err = b.request(other, store.ActStop)
	b.ok(err)
	got, err := b.request(c.ID, store.ActRetry)
	b.ok(err)
	is(b, "task", fmt.Sprint(got.Status, got.Attempts, got.Stopped == nil, got.Desc, got.Fence, got.Wait <= 0), fmt.Sprint(workflow.Queued, 0, true, "why", 1, true))
	again := b.claim(1)
	is(b, "fence", again[0].Fence, 2)
	is(b, "desc", b.read(c.ID).Desc, "")
}

// requestOrphan: a task in flight under a process that is silent, gone or
// unknown is taken back by the request itself.
func requestOrphan(b *bed) {
	b.enrol()
	for name, lose := range map[string]string{
		"silent":  "UPDATE taskkit_task_process SET last_heartbeat_date = " + b.at(-60) + " WHERE id = 'lost'",
		"left":    "UPDATE taskkit_task_process SET ended_date = " + b.at(0) + " WHERE id = 'lost'",
		"unknown": "DELETE FROM taskkit_task_process WHERE id = 'lost'",
	} {
		for action, want := range map[store.Action]string{store.ActStop: "QUEUED STOP", store.ActPause: "QUEUED PAUSE", store.ActDelete: "QUEUED DELETE"} {
			b.exec("DELETE FROM taskkit_task_process WHERE id = 'lost'")
			b.exec("DELETE FROM taskkit_queued_task")
			b.enrol(func(p *store.Process) { p.ID, p.DeadAfter = "lost", 5*time.Second })
			id := b.one()
			is(b, "claimed", len(b.claim(1, func(c *store.Claim) { c.Process = "lost" })), 1)
			b.exec(lose)
			got, err := b.request(id, action)
			b.ok(err)
			is(b, name+" "+string(action), fmt.Sprintf("%s %s", got.Status, got.Control), want)
			is(b, "stalled", got.Stalled, true)
		}
		if name == "silent" {
			if err := b.s.Beat(b.ctx(), "lost", 0, false); !errors.Is(err, store.ErrDead) {
				b.Fatalf("a beat of the process from which a task was taken: %v", err)
			}
		}
	}
}

// requestInTransaction: on a transaction's handle a request takes part in it.
func requestInTransaction(b *bed) {
	b.enrol()
	id := b.one()
	tx, err := b.db.BeginTx(b.ctx(), nil)
	b.ok(err)
	op := store.NewOperator(tx, b.db.Schema, b.db.Dialect)
	got, err := op.Request(b.ctx(), id, store.Request{Action: store.ActStop})
	b.ok(err)
	is(b, "inside", got.Status, workflow.Completed)
	b.ok(tx.Rollback())
	is(b, "after a rollback", b.read(id).Status, workflow.Queued)

	own := store.NewOperator(b.db.DB, b.db.Schema, b.db.Dialect)
	got, err = own.Request(b.ctx(), id, store.Request{Action: store.ActStop})
	b.ok(err)
	is(b, "in its own", got.Status, workflow.Completed)
	is(b, "read", b.read(id).Status, workflow.Completed)
}

// requestNotFound: nothing is asked of a task that is not there.
func requestNotFound(b *bed) {
	for _, a := range []store.Action{store.ActStop, store.ActPause, store.ActResume, store.ActRetry, store.ActDelete} {
		if _, err := b.request(uuid.New(), a); !errors.Is(err, store.ErrNotFound) {
			b.Fatalf("%s: got %v, want ErrNotFound", a, err)
		}
	}
	is(b, "events", b.count("SELECT count(*) FROM taskkit_task_event"), 0)
}
