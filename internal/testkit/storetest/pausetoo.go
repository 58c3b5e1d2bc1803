package storetest

import (
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
