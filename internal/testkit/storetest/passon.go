package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// passOn passes requests on in pages of limit until there is nothing more to change, and
// returns the children that have changed.
func (e *env) passOn(limit int, parents ...uuid.UUID) (changed []uuid.UUID) {
	e.Helper()
	for {
		page, more, err := e.s.PassOn(e.ctx(), parents, limit)
		e.ok(err)
		if len(page) > limit {
			e.Fatalf("a page of %d children, want at most %d", len(page), limit)
		}
		changed = append(changed, page...)
		if !more {
			return changed
		}
	}
}

// childStates are the states in which a request finds a child.
func childStates() []string {
	states := []string{"new", "back"}
	for _, s := range lifecycle.Statuses()[1:] {
		states = append(states, string(s))
	}
	return states
}

// childIn returns a child in a state.
func (e *env) childIn(parent uuid.UUID, state string) uuid.UUID {
	e.Helper()
	if state == "new" {
		return e.one(childOf(parent))
	}
	c := e.claimedChild(parent)
	switch state {
	case "back":
		is(e, "given back", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Queued, Delay: time.Hour}).OK, true)
	case string(lifecycle.Scheduling):
	default:
		is(e, "written", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Status(state)}).OK, true)
	}
	return c.ID
}

// passOnEvery: each request on a parent over children in every state, with every request of
// their own, follows the rules.
func passOnEvery(e *env) {
	e.registerFamily()
	for _, control := range lifecycle.Controls() {
		parent := e.executes(e.claimedTask())
		var children []uuid.UUID
		for _, state := range childStates() {
			children = append(children, e.childIn(parent.ID, state))
		}
		e.setControl(parent.ID, lifecycle.Pause)
		paused := e.passOn(3, parent.ID) // so that some are paused by it already
		is(e, "paused", len(paused), 4)
		for _, state := range childStates() {
			if s := lifecycle.Status(state); s.Terminal() {
				continue
			}
			for _, own := range lifecycle.Controls() {
				id := e.childIn(parent.ID, state)
				e.setControl(id, own)
				children = append(children, id)
			}
		}
		e.setControl(parent.ID, control)
		before := make(map[uuid.UUID]store.Task)
		events := make(map[uuid.UUID]string)
		for _, id := range children {
			before[id], events[id] = e.read(id), e.events(id)
		}
		changed := e.passOn(3, parent.ID)
		for _, id := range children {
			was := before[id]
			what := fmt.Sprintf("%q over a child that is %s, fence %d, with %q (%s)", control, was.Status, was.Fence, was.Control, was.ControlReason)
			passed := lifecycle.Passed(was.Control, was.ControlReason)
			c, action := lifecycle.PassOn(control, lifecycle.Found{Status: was.Status, Control: was.Control, Passed: passed, Fence: was.Fence})
			is(e, what+": changed", slices.Contains(changed, id), c.Effect != lifecycle.Unchanged && was.Status.Live())
			row, exists := rowOf(was).Request(c, uuid.Nil, lifecycle.ReasonParent, nowInRules)
			if exists {
				sameRow(e, what, e.read(id), row, was.Created)
			} else {
				e.gone(id)
			}
			want := events[id]
			if slices.Contains(changed, id) {
				want = fmt.Sprintf("%s: %s", action, lifecycle.ReasonParent)
				if events[id] != "" {
					want += ", " + events[id]
				}
			}
			is(e, what+": events", e.events(id), want)
		}
		is(e, "changed again", len(e.passOn(3, parent.ID)), 0)
		e.removeTasks()
	}
}

// passOnPages: children that no worker has begun end or are removed, in pages.
func passOnPages(e *env) {
	e.registerFamily()
	for _, a := range []lifecycle.Action{lifecycle.ActStop, lifecycle.ActDelete} {
		parent := e.executes(e.claimedTask())
		other := e.executes(e.claimedTask())
		var children []uuid.UUID
		for i := range 5 {
			of := parent.ID
			if i == 4 {
				of = other.ID
			}
			children = append(children, e.one(childOf(of)))
		}
		for _, p := range []uuid.UUID{parent.ID, other.ID} {
			_, err := e.request(p, a)
			e.ok(err)
		}
		var all []uuid.UUID
		for _, want := range []int{2, 2, 1} {
			page, more, err := e.s.PassOn(e.ctx(), []uuid.UUID{parent.ID, other.ID}, 2)
			e.ok(err)
			is(e, "page", len(page), want)
			if want == 2 {
				is(e, "more", more, true)
			}
			all = append(all, page...)
		}
		page, more, err := e.s.PassOn(e.ctx(), []uuid.UUID{parent.ID, other.ID}, 2)
		e.ok(err)
		is(e, "the page after the last", fmt.Sprint(page, more), "[] false")
		for _, id := range children {
			is(e, "changed", slices.Contains(all, id), true)
			is(e, "events", e.events(id), fmt.Sprint(a, ": ", lifecycle.ReasonParent))
			if a == lifecycle.ActDelete {
				e.gone(id)
				continue
			}
			got := e.read(id)
			is(e, "child", fmt.Sprint(got.Status, got.Partial, got.Control), fmt.Sprint(lifecycle.Completed, true, lifecycle.None))
		}
		e.removeTasks()
	}
	page, more, err := e.s.PassOn(e.ctx(), nil, 2)
	e.ok(err)
	is(e, "of no parents", fmt.Sprint(page, more), "[] false")
}

// passOnDeleted: ended children of a parent that is to be deleted are removed with theirs.
func passOnDeleted(e *env) {
	e.registerFamily()
	parent := e.executes(e.claimedTask())
	var all []uuid.UUID
	for _, to := range []lifecycle.Status{lifecycle.Completed, lifecycle.Failure, lifecycle.Error} {
		child := e.claimedChild(parent.ID)
		grandchild := e.claimedChild(child.ID)
		last := e.claimedChild(grandchild.ID)
		for _, c := range []store.ClaimedTask{last, grandchild, child} {
			e.end(c, to)
			all = append(all, c.ID)
		}
	}
	kept := e.claimedChild(parent.ID)
	other := e.one()
	_, err := e.request(parent.ID, lifecycle.ActDelete)
	e.ok(err)
	is(e, "changed", e.passOn(2, parent.ID), []uuid.UUID{kept.ID})
	for _, id := range all {
		e.gone(id)
	}
	is(e, "in flight", e.read(kept.ID).Control, lifecycle.Delete)
	e.read(other)
}

// removedWithParent: the children of an ended task are removed with it.
func removedWithParent(e *env) {
	e.registerFamily()
	for _, reaped := range []bool{false, true} {
		parent, children := e.withChildren(1)
		grandchild := e.claimedChild(children[0].ID)
		e.end(grandchild, lifecycle.Failure)
		e.end(children[0], lifecycle.Completed)
		e.end(parent, lifecycle.Failure)
		if reaped {
			e.setControl(parent.ID, lifecycle.Delete)
			r, err := e.s.Reap(e.ctx(), nil)
			e.ok(err)
			is(e, "ended", r.Ended, []uuid.UUID{parent.ID})
		} else {
			_, err := e.request(parent.ID, lifecycle.ActDelete)
			e.ok(err)
		}
		for _, id := range []uuid.UUID{parent.ID, children[0].ID, grandchild.ID} {
			e.gone(id)
		}
	}
}

// passOnPause: a pause and its end reach all generations, by whom they were requested. A child
// that a person has paused other so.
func passOnPause(e *env) {
	e.registerFamily()
	parent, children := e.withChildren(3)
	grandchild := e.claimedChild(children[0].ID)
	_, err := e.request(children[1].ID, lifecycle.ActPause)
	e.ok(err)
	actor := uuid.New()
	_, err = e.s.Request(e.ctx(), parent.ID, store.Request{Action: lifecycle.ActPause, Actor: actor, Reason: "because"})
	e.ok(err)
	is(e, "children", len(e.passOn(9, parent.ID)), 2)
	is(e, "grandchildren", e.passOn(9, children[0].ID, children[2].ID), []uuid.UUID{grandchild.ID})
	for _, id := range []uuid.UUID{children[0].ID, children[2].ID, grandchild.ID} {
		is(e, "control", e.control(id), "PAUSE "+lifecycle.ReasonParent)
		is(e, "by", [2]uuid.UUID{e.read(id).ControlBy, e.read(id).ModifiedBy}, [2]uuid.UUID{actor, actor})
		es, err := e.s.Events(e.ctx(), id, 1)
		e.ok(err)
		is(e, "event", fmt.Sprint(es[0].Action, es[0].Actor, es[0].FromStatus), fmt.Sprint(lifecycle.ActPause, actor, e.read(id).Status))
	}
	is(e, "control", e.control(children[1].ID), "PAUSE because")
	_, err = e.request(parent.ID, lifecycle.ActResume)
	e.ok(err)
	is(e, "children", len(e.passOn(1, parent.ID)), 2)
	is(e, "grandchildren", len(e.passOn(1, children[0].ID, children[2].ID)), 1)
	for _, id := range []uuid.UUID{children[0].ID, children[2].ID, grandchild.ID} {
		is(e, "control", e.control(id), "")
	}
	is(e, "control of the child that a person paused", e.control(children[1].ID), "PAUSE because")
}

// passOnOwnPause: a child that is paused because its parent is, and then has a reason of its own, stays
// paused when the parent goes on.
func passOnOwnPause(e *env) {
	e.registerFamily()
	const three = "PAUSE 3 of 5 processed items have failed, and the limit is 3"
	for way, write := range e.waysToWrite() {
		parent, children := e.withChildren(3)
		e.pauseWithChildren(parent.ID, 3)
		w := failing(children[0].Lease, 3, 5)
		w.StopAfter.Failed = 3
		is(e, way, fmt.Sprint(write(w)), fmt.Sprint(store.Applied{OK: true, Control: lifecycle.Pause}))
		wait := waits(children[1].Lease, store.Wait{OnFailure: store.FailurePauses, Seen: 1})
		wait.Pause = "a child has failed"
		is(e, way, fmt.Sprint(write(wait)), fmt.Sprint(store.Applied{OK: true, Control: lifecycle.Pause}))
		limit := store.Request{Action: lifecycle.ActChange, Reason: "because", StopAfter: lifecycle.StopPolicy{Failed: 3}}
		w = failing(children[2].Lease, 3, 5)
		is(e, way+": without a limit", write(w).Control, lifecycle.Pause)
		_, err := e.s.Request(e.ctx(), children[2].ID, limit)
		e.ok(err)
		_, err = e.request(parent.ID, lifecycle.ActResume)
		e.ok(err)
		e.passOn(9, parent.ID)
		is(e, way+": over its limit", e.control(children[0].ID), three)
		is(e, way+": with a failed child", e.control(children[1].ID), "PAUSE a child has failed")
		is(e, way+": over a new limit", e.control(children[2].ID), three)
		is(e, way+": events", e.events(children[1].ID), "pause: a child has failed, pause: "+lifecycle.ReasonParent)
		e.removeTasks()
	}
}

// passOnChildFailed: a pause because a child has failed is not for the others, unless a person pauses
// the task for that reason.
func passOnChildFailed(e *env) {
	e.registerFamily()
	const reason = "1 " + lifecycle.ReasonChildFailed
	for way, write := range e.waysToWrite() {
		parent, children := e.withChildren(2)
		w := waits(parent.Lease, store.Wait{OnFailure: store.FailurePauses, Seen: 1})
		w.Pause = reason
		is(e, way, fmt.Sprint(write(w)), fmt.Sprint(store.Applied{OK: true, Control: lifecycle.Pause}))
		is(e, way+": changed", len(e.passOn(9, parent.ID)), 0)
		is(e, way+": child", e.control(children[0].ID), "")
		_, err := e.request(parent.ID, lifecycle.ActResume)
		e.ok(err)
		_, err = e.s.Request(e.ctx(), parent.ID, store.Request{Action: lifecycle.ActPause, Actor: uuid.New(), Reason: reason})
		e.ok(err)
		is(e, way+": changed by a person", len(e.passOn(9, parent.ID)), 2)
		is(e, way+": child", e.control(children[0].ID), "PAUSE "+lifecycle.ReasonParent)
		e.removeTasks()
	}
}

// pauseWithChildren pauses a task and so many children.
func (e *env) pauseWithChildren(id uuid.UUID, children int) {
	e.Helper()
	_, err := e.request(id, lifecycle.ActPause)
	e.ok(err)
	is(e, "paused children", len(e.passOn(9, id)), children)
}

// passOnBegun: a child that no worker has begun and that has an open child itself does not
// end before it.
func passOnBegun(e *env) {
	e.registerFamily()
	parent := e.executes(e.claimedTask())
	child := e.one(childOf(parent.ID))
	grandchild := e.one(childOf(child))
	_, err := e.request(parent.ID, lifecycle.ActStop)
	e.ok(err)
	is(e, "changed", e.passOn(9, parent.ID), []uuid.UUID{child})
	is(e, "child", e.control(child), "STOP "+lifecycle.ReasonParent)
	is(e, "status", e.read(child).Status, lifecycle.Queued)
	is(e, "changed", e.passOn(9, child), []uuid.UUID{grandchild})
	is(e, "status", e.read(grandchild).Status, lifecycle.Completed)
}
