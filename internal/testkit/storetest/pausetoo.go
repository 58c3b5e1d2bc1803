package storetest

import (
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskpolicy"
)

// policyPausesToo: a policy that pauses a task which is paused already adds its reason, and has an event.
func policyPausesToo(e *env) {
	e.registerFamily()
	const policy = "policy: broken: pause when failed >= 2"
	broken := func(t *store.NewTask) {
		t.Options.Policies = taskpolicy.Policies{{Name: "broken", When: taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Failed, AtLeast: 2}}, Do: taskpolicy.Pause}}
	}
	for way, write := range e.waysToWrite() {
		task := e.executes(e.claimedTask(broken, func(t *store.NewTask) { t.Options.Canary = 5 }))
		w := failing(task.Lease, 2, 5)
		w.Policies = true
		is(e, way+": a canary", write(w).Control, lifecycle.Pause)
		const canary = lifecycle.ReasonApproval + "after its first 5 items"
		is(e, way+": a canary", e.control(task.ID), "PAUSE "+canary+"; "+policy)
		is(e, way+": a canary", len(e.events(task.ID)), len("pause: "+policy+", pause: "+canary))

		task = e.executes(e.claimedTask(broken))
		person := uuid.New()
		_, err := e.s.Request(e.ctx(), task.ID, store.Request{Action: lifecycle.ActPause, Actor: person})
		e.ok(err)
		w = failing(task.Lease, 2, 5)
		w.Policies = true
		is(e, way+": a person", write(w).Control, lifecycle.Pause)
		is(e, way+": a person", e.control(task.ID), "PAUSE "+policy)
		is(e, way+": by the person", e.read(task.ID).ControlBy, person)
		e.removeTasks()
	}
}

// childFailedWithPolicies: a pause because a child has failed is not for the others, also if policies and a stop policy count their items.
func childFailedWithPolicies(e *env) {
	e.registerFamily()
	for way, write := range e.waysToWrite() {
		parent := e.executes(e.claimedTask(func(t *store.NewTask) {
			t.Options.StopAfter = lifecycle.StopPolicy{Failed: 100}
			t.Options.Policies = taskpolicy.Policies{{When: taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Failed, AtLeast: 3}}, Do: taskpolicy.Pause}}
		}))
		child, other := e.executes(e.claimedChild(parent.ID)), e.executes(e.claimedChild(parent.ID))
		pause := waits(parent.Lease, store.Wait{OnFailure: store.FailurePauses, Seen: 1})
		pause.Pause = "1 " + lifecycle.ReasonChildFailed
		is(e, way, fmt.Sprint(write(pause)), fmt.Sprint(store.Applied{OK: true, Control: lifecycle.Pause}))
		for failed, want := range []string{1: "", 2: "", 3: "PAUSE " + lifecycle.ReasonParent} {
			if failed == 0 {
				continue
			}
			w := failing(child.Lease, int64(failed), 5)
			w.Check, w.CheckParents, w.Watched = false, true, true
			is(e, way+": written", write(w).OK, true)
			child.Seq++
			is(e, fmt.Sprint(way, ": the child with ", failed, " failed items"), e.control(child.ID), want)
			is(e, fmt.Sprint(way, ": the other with ", failed, " failed items"), e.control(other.ID), want)
		}
		is(e, way+": the parent", e.control(parent.ID), "PAUSE 1 "+lifecycle.ReasonChildFailed+"; policy: 1: pause when failed >= 3")
		e.removeTasks()
	}
}
