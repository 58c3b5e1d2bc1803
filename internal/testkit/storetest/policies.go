package storetest

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskpolicy"
)

// policiesDecided: policies are decided with the writes of a task and of its children, and what they do is part of the write.
func policiesDecided(e *env) {
	e.registerFamily()
	failed := func(n int64) taskpolicy.Condition {
		return taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Failed, AtLeast: n}}
	}
	with := func(p ...taskpolicy.Policy) func(*store.NewTask) {
		return func(t *store.NewTask) { t.Options.Policies = p }
	}
	for way, write := range map[string]func(*store.Write) store.Applied{
		"alone": func(w *store.Write) store.Applied { return e.apply(*w) },
		"with a batch": func(w *store.Write) store.Applied {
			a, err := e.begin(w.Lease).Commit(e.ctx(), *w)
			e.ok(err)
			return a
		},
	} {
		fired := func(a store.Applied) string {
			if a.Decided == nil {
				return fmt.Sprint(a.OK, " ", a.Control)
			}
			var text strings.Builder
			fmt.Fprint(&text, a.OK, " ", a.Control, " restart ", a.Decided.Restart)
			for _, f := range a.Decided.Fired {
				fmt.Fprint(&text, " ", f.Policy, " ", f.Do)
			}
			return text.String()
		}
		state := func(id uuid.UUID) store.PolicyState {
			o, err := e.s.TaskOptions(e.ctx(), id)
			e.ok(err)
			return o.PolicyState
		}
		fails := func(l store.Lease, n, processed int64) *store.Write {
			w := failing(l, n, processed)
			w.Check, w.Policies = false, true
			return &w
		}

		task := e.executes(e.claimedTask(with(
			taskpolicy.Policy{Name: "told", When: failed(1), Do: taskpolicy.Notify},
			taskpolicy.Policy{Name: "again", When: taskpolicy.Condition{Attempts: 1}, Do: taskpolicy.Restart},
			taskpolicy.Policy{When: failed(3), Do: taskpolicy.Pause},
			taskpolicy.Policy{When: taskpolicy.Condition{All: []taskpolicy.Condition{failed(4), {Items: &taskpolicy.Items{Of: taskpolicy.Failed, Code: "x", AtLeast: 1}}}}, Do: taskpolicy.Fail},
		)))
		is(e, way+": none", fired(write(fails(task.Lease, 0, 5))), "true ")
		task.Seq++
		is(e, way+": told", fired(write(fails(task.Lease, 1, 6))), "true  restart 0 told notify")
		task.Seq++
		is(e, way+": once", fired(write(fails(task.Lease, 2, 7))), "true ")
		task.Seq++
		is(e, way+": paused", fired(write(fails(task.Lease, 3, 8))), "true PAUSE restart 0 3 pause")
		task.Seq++
		is(e, way+": paused", e.control(task.ID), "PAUSE policy: 3: pause when failed >= 3")
		w := fails(task.Lease, 4, 9)
		w.Items[0].Code = "x"
		is(e, way+": failed", fired(write(w)), "true STOP restart 0 4 fail")
		task.Seq++
		is(e, way+": failed", e.control(task.ID), "STOP policy: 4: fail when (failed >= 4 and failed (x) >= 1)")
		s := state(task.ID)
		is(e, way+": state", fmt.Sprint(s.Fired, s.Codes, s.Processed, s.Failing != ""), "[told 3 4] map[failed:map[x:1]] 9 true")
		retried := store.Write{Lease: task.Lease, To: lifecycle.Queued, Attempts: 1, Attempt: &store.Attempt{Code: "c", Class: "transient", Attempt: 1}, Policies: true}
		is(e, way+": attempt", fired(e.apply(retried)), "true STOP restart 1 again restart")
		is(e, way+": attempt", fmt.Sprint(state(task.ID).Attempts, state(task.ID).Restarts), "1 1")

		e.removeTasks()

		parent := e.executes(e.claimedTask(with(taskpolicy.Policy{Name: "skipped", When: taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Skipped, Code: "c", AtLeast: 3}}, Do: taskpolicy.Stop})))
		var children []store.ClaimedTask
		for range 2 {
			children = append(children, e.executes(e.claimedChild(parent.ID)))
		}
		e.wait(parent.Lease, store.Wait{})
		skips := func(n int) *store.Write {
			w := checkpoint(children[n].Lease)
			w.Progress = lifecycle.Progress{Total: 10, Position: 2, Skipped: 2}
			w.Items = []store.Item{{Key: `1`, Outcome: store.ItemSkipped, Code: "c"}, {Key: `2`, Outcome: store.ItemSkipped, Code: "c"}}
			w.Watched = true
			return &w
		}
		is(e, way+": below", fired(write(skips(0))), "true ")
		is(e, way+": reached", fired(write(skips(1))), "true STOP restart 0 skipped stop")
		is(e, way+": reached", e.control(parent.ID), "STOP policy: skipped: stop when skipped (c) >= 3")
		is(e, way+": passed on", e.control(children[0].ID), "STOP "+lifecycle.ReasonParent)
		is(e, way+": due", e.read(parent.ID).NotBefore.Before(store.Forever), true)
		is(e, way+": events", e.events(parent.ID), "stop: policy: skipped: stop when skipped (c) >= 3")
		e.removeTasks()

		// What the children have counted holds for a write of the parent itself too.
		parent = e.executes(e.claimedTask(with(taskpolicy.Policy{Name: "told", When: failed(2), Do: taskpolicy.Notify})))
		child := e.executes(e.claimedChild(parent.ID))
		w = fails(child.Lease, 2, 5)
		w.Policies, w.Watched = false, true
		is(e, way+": of a child", fired(write(w)), "true  restart 0 told notify")
		retried.Lease = parent.Lease
		is(e, way+": of the parent", fired(write(&retried)), "true ")
		is(e, way+": still", fmt.Sprint(state(parent.ID).Fired), "[told]")

		// Policies that replace others count what has failed and was skipped before. Without any the writes are counted still.
		coded := func(of taskpolicy.Counter, code string, n int64) taskpolicy.Policy {
			return taskpolicy.Policy{Name: code, When: taskpolicy.Condition{Items: &taskpolicy.Items{Of: of, Code: code, AtLeast: n}}, Do: taskpolicy.Notify}
		}
		child.Seq++
		w = fails(child.Lease, 4, 9)
		w.Policies, w.Watched = false, true
		w.Items = []store.Item{
			{Key: `1`, Outcome: store.ItemFailed, Code: "x"},
			{Key: `2`, Outcome: store.ItemFailed, Code: "x"},
			{Key: `3`, Outcome: store.ItemSkipped, Code: "y"},
			{Key: `4`, Outcome: store.ItemDeferred, Code: "z"},
		}
		is(e, way+": without their codes", fired(write(w)), "true ")
		for _, p := range []taskpolicy.Policies{nil, {coded(taskpolicy.Failed, "x", 3), coded(taskpolicy.Skipped, "y", 1), coded(taskpolicy.Deferred, "z", 1), coded(taskpolicy.Failed, "y", 1)}} {
			_, err := e.s.Request(e.ctx(), parent.ID, store.Request{Action: lifecycle.ActChange, Policies: &p})
			e.ok(err)
			o, err := e.s.TaskOptions(e.ctx(), parent.ID)
			e.ok(err)
			is(e, way+": changed", fmt.Sprint(len(o.Policies), o.Policies != nil, len(o.PolicyState.Fired)), fmt.Sprint(len(p), " true 0"))
		}
		is(e, way+": by codes", fmt.Sprint(state(parent.ID).Codes), "map[failed:map[x:2] skipped:map[y:1]]")
		child.Seq++
		w = fails(child.Lease, 5, 10)
		w.Policies, w.Watched = false, true
		w.Items = []store.Item{{Key: `5`, Outcome: store.ItemFailed, Code: "x"}}
		is(e, way+": of both", fired(write(w)), "true  restart 0 x notify y notify")
		_, err := e.s.Request(e.ctx(), parent.ID, store.Request{Action: lifecycle.ActChange, Policies: &taskpolicy.Policies{coded(taskpolicy.Failed, "x", 3)}})
		e.ok(err)
		is(e, way+": again", fmt.Sprint(state(parent.ID).Codes), "map[failed:map[x:3]]")
		e.removeTasks()
	}
}
