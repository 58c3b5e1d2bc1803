package storetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// failing returns a checkpoint after which this many items have failed of those
// processed, and which must be checked. The items that failed come with it.
func failing(l store.Lease, failed, processed int64) store.Write {
	w := checkpoint(l)
	w.Progress = lifecycle.Progress{Total: 1000, Position: processed, Done: processed - failed, Failed: failed}
	w.Check = true
	for i := range failed {
		w.Items = append(w.Items, failedItem(fmt.Sprint(l.Seq, i)))
	}
	return w
}

// stopAfter gives a task a stop policy of its own.
func stopAfter(p lifecycle.StopPolicy) func(*store.NewTask) {
	return func(t *store.NewTask) { t.Options.StopAfter = p }
}

// control is what stands on a task, with its reason.
func (e *env) control(id uuid.UUID) string {
	t := e.read(id)
	return strings.TrimSpace(fmt.Sprint(t.Control, " ", t.ControlReason))
}

// refusedFor fails the case unless a request is refused for a reason that contains text, and
// has changed nothing.
func (e *env) refusedFor(id uuid.UUID, r store.Request, text string) {
	e.Helper()
	before, events := e.control(id), e.count(Events)
	options, err := e.s.TaskOptions(e.ctx(), id)
	e.ok(err)
	_, err = e.s.Request(e.ctx(), id, r)
	state, ok := errors.AsType[*store.StateError](err)
	if !ok || state.Action != r.Action || !strings.Contains(state.Why, text) {
		e.Fatalf("%s: got %v, want a StateError that says %q", r.Action, err, text)
	}
	is(e, "control", e.control(id), before)
	is(e, "events", e.count(Events), events)
	after, err := e.s.TaskOptions(e.ctx(), id)
	e.ok(err)
	is(e, "options", after, options)
}

// conditionsStopPolicy: a checkpoint that reaches the stop policy pauses its task, however it is
// written. The policy of the task goes before the policy of the kind.
func conditionsStopPolicy(e *env) {
	e.registerWorker()
	const three, share = "PAUSE 3 of 5 processed items have failed, and the limit is 3", "PAUSE 3 of 30 processed items have failed, and the limit is 10%"
	ways := map[string]func(store.Write) store.Applied{
		"alone": e.apply,
		"together": func(w store.Write) store.Applied {
			other, plain := e.claimedTask(), e.claimedTask()
			all, err := e.s.Apply(e.ctx(), process, []*store.Write{new(checkpoint(plain.Lease)), &w, new(failing(other.Lease, 3, 5))})
			e.ok(err)
			is(e, "a checkpoint without policy", fmt.Sprint(all[0], all[2]), fmt.Sprint(store.Applied{OK: true}, store.Applied{OK: true}))
			is(e, "its task", e.control(other.ID), "")
			return all[1]
		},
		"with a batch": func(w store.Write) store.Applied {
			a, err := e.begin(w.Lease).Commit(e.ctx(), w)
			e.ok(err)
			return a
		},
	}
	for way, write := range ways {
		for name, c := range map[string]struct {
			own, kind         lifecycle.StopPolicy
			failed, processed int64
			change            func(*store.Write)
			want              string
		}{
			"below":               {own: lifecycle.StopPolicy{Failed: 3}, failed: 2, processed: 5},
			"reached":             {own: lifecycle.StopPolicy{Failed: 3}, failed: 3, processed: 5, want: three},
			"reached by the kind": {kind: lifecycle.StopPolicy{Failed: 3}, failed: 3, processed: 5, want: three},
			"above the kind":      {own: lifecycle.StopPolicy{Failed: 4}, kind: lifecycle.StopPolicy{Failed: 3}, failed: 3, processed: 5},
			"share":               {own: lifecycle.StopPolicy{Percent: 10}, failed: 3, processed: 30, want: share},
			"share, too few":      {own: lifecycle.StopPolicy{Percent: 10}, failed: 3, processed: 19},
			"share, no failure of it": {own: lifecycle.StopPolicy{Percent: 10}, failed: 3, processed: 30, want: share, change: func(w *store.Write) {
				w.Items = nil
			}},
			"not checked": {own: lifecycle.StopPolicy{Failed: 3}, failed: 3, processed: 5, change: func(w *store.Write) { w.Check = false }},
			"to wait": {own: lifecycle.StopPolicy{Failed: 3}, failed: 3, processed: 5, want: three, change: func(w *store.Write) {
				w.To, w.Reason = lifecycle.Queued, "later"
			}},
		} {
			what := way + ", " + name
			task := e.claimedTask(func(t *store.NewTask) { t.Options.StopAfter = c.own })
			w := failing(task.Lease, c.failed, c.processed)
			w.StopAfter = c.kind
			if c.change != nil {
				c.change(&w)
			}
			a := write(w)
			control, _, _ := strings.Cut(c.want, " ")
			is(e, what+": applied", a, store.Applied{OK: true, Control: lifecycle.Control(control)})
			is(e, what, e.control(task.ID), c.want)
			at, err := e.s.Positions(e.ctx(), []uuid.UUID{task.ID})
			e.ok(err)
			is(e, what+": read back", string(at[task.ID].Control), control)
			events, err := e.s.Events(e.ctx(), task.ID, 10)
			e.ok(err)
			options, err := e.s.TaskOptions(e.ctx(), task.ID)
			e.ok(err)
			if c.want == "" {
				is(e, what+": events", len(events), 0)
				is(e, what+": policy", options.StopAfter, c.own)
				continue
			}
			is(e, what+": events", len(events), 1)
			is(e, what+": event", fmt.Sprint(events[0].Action, events[0].Actor, events[0].FromStatus, " ", events[0].Reason),
				fmt.Sprint("pause", uuid.Nil, w.To, " ", strings.TrimPrefix(c.want, "PAUSE ")))
			is(e, what+": policy", options.WithDefault(c.kind), options.Conditions)
			if w.To != lifecycle.Queued {
				w.Seq++
				is(e, what+": released", e.apply(store.Write{Lease: w.Lease, To: lifecycle.Queued}).Control, lifecycle.Pause)
			}
			is(e, what+": claimed", len(e.claim(10)), 0)
		}
		e.removeTasks()
	}
}

// conditionsYield: a request that stands on a task is not replaced, and a write that does not
// take effect pauses nothing.
func conditionsYield(e *env) {
	e.registerWorker()
	for _, a := range []lifecycle.Action{lifecycle.ActStop, lifecycle.ActDelete, lifecycle.ActPause} {
		c := e.claimedTask()
		is(e, "applied", e.apply(checkpoint(c.Lease)).OK, true)
		c.Seq++
		_, err := e.request(c.ID, a)
		e.ok(err)
		before := e.control(c.ID)
		w := failing(c.Lease, 3, 5)
		w.StopAfter.Failed = 3
		is(e, "applied", string(e.apply(w).Control)+" because", before)
		is(e, string(a), e.control(c.ID), before)
		options, err := e.s.TaskOptions(e.ctx(), c.ID)
		e.ok(err)
		is(e, "policy", options.StopAfter, w.StopAfter)
	}
	c := e.claimedTask(stopAfter(lifecycle.StopPolicy{Failed: 1}))
	late := c.Lease
	late.Fence--
	is(e, "late", e.apply(failing(late, 3, 5)), store.Applied{})
	is(e, "task", e.control(c.ID), "")
	is(e, "rows", e.count(Items), 9)
}

// conditionsRequests: a task over its limit is resumed with a higher one only, in one step.
func conditionsRequests(e *env) {
	e.registerWorker()
	c := e.claimedTask()
	w := failing(c.Lease, 3, 30)
	w.StopAfter.Failed = 3
	is(e, "paused", e.apply(w).Control, lifecycle.Pause)
	c.Seq++
	is(e, "released", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Queued}).OK, true)

	limit := func(a lifecycle.Action, p lifecycle.StopPolicy) store.Request {
		return store.Request{Action: a, Actor: uuid.Max, Reason: "because", StopAfter: p}
	}
	e.refusedFor(c.ID, limit(lifecycle.ActResume, lifecycle.StopPolicy{}), "3 of 30 processed items have failed, and the limit is 3")
	e.refusedFor(c.ID, limit(lifecycle.ActResume, lifecycle.StopPolicy{Percent: 10}), "and the limit is 10%")
	e.refusedFor(c.ID, limit(lifecycle.ActApprove, lifecycle.StopPolicy{Failed: 9}), "does not wait for approval")
	got, err := e.s.Request(e.ctx(), c.ID, limit(lifecycle.ActResume, lifecycle.StopPolicy{Percent: 11}))
	e.ok(err)
	is(e, "control", got.Control, lifecycle.None)
	events, err := e.s.Events(e.ctx(), c.ID, 1)
	e.ok(err)
	is(e, "event", fmt.Sprint(events[0].Action, events[0].Actor, " ", events[0].Reason), fmt.Sprint("resume", uuid.Max, " limit 11%: because"))

	// While it runs.
	again := e.claim(1)
	is(e, "claimed", len(again), 1)
	is(e, "spec in the claim of a task with options", len(again[0].Spec), 0)
	plan, err := e.s.Plan(e.ctx(), c.ID)
	e.ok(err)
	is(e, "plan", fmt.Sprint(string(plan.Spec), plan.Frozen == nil, plan.Options.StopAfter), `{"n": 1}true 11%`)
	got, err = e.s.Request(e.ctx(), c.ID, limit(lifecycle.ActChange, lifecycle.StopPolicy{Failed: 5}))
	e.ok(err)
	is(e, "control", got.Control, lifecycle.None)
	w = failing(again[0].Lease, 4, 40)
	w.StopAfter.Failed = 3 // of the kind
	is(e, "below the new limit", e.apply(w).Control, lifecycle.None)
	got, err = e.s.Request(e.ctx(), c.ID, limit(lifecycle.ActChange, lifecycle.StopPolicy{Failed: 4}))
	e.ok(err)
	is(e, "at a new limit", fmt.Sprint(got.Control, got.ControlBy, got.ControlReason), fmt.Sprint(lifecycle.Pause, uuid.Max, "4 of 40 processed items have failed, and the limit is 4"))
	is(e, "ended", e.apply(store.Write{Lease: store.Lease{ID: c.ID, Fence: again[0].Fence, Seq: again[0].Seq + 1}, To: lifecycle.Completed}).OK, true)
	e.refusedFor(c.ID, limit(lifecycle.ActChange, lifecycle.StopPolicy{Failed: 9}), "")
}

// conditionsApproval: a task that waits for approval is paused until a permitted person approves it.
func conditionsApproval(e *env) {
	e.registerWorker()
	owner, runAs, submitter := uuid.New(), uuid.New(), uuid.New()
	approval := func(t *store.NewTask) {
		t.Owner, t.RunAs, t.Actor, t.Options.Approval = owner, runAs, submitter, true
	}
	approve := func(by uuid.UUID) store.Request { return store.Request{Action: lifecycle.ActApprove, Actor: by} }
	before := e.one(approval)
	is(e, "before its first batch", e.control(before), "PAUSE it waits for approval before its first batch, by a second person")
	is(e, "claimed", len(e.claim(10)), 0)
	e.refusedFor(before, approve(owner), "somebody other")
	e.refusedFor(before, approve(runAs), "somebody other")
	e.refusedFor(before, approve(submitter), "somebody other")
	e.refusedFor(before, store.Request{Action: lifecycle.ActResume, Actor: uuid.Max}, "approve it")
	_, err := e.s.Request(e.ctx(), before, approve(uuid.Max))
	e.ok(err)
	is(e, "approved", e.control(before), "")
	e.refusedFor(before, approve(uuid.Max), "")
	c := e.claim(10)
	is(e, "claimed", len(c), 1)
	plan, err := e.s.Plan(e.ctx(), before)
	e.ok(err)
	is(e, "plan", fmt.Sprint(string(plan.Spec), plan.Options.Approved), `{"n": 1}true`)

	// A canary, with a checkpoint without items, and with a release.
	for name, release := range map[string]bool{"checkpoint": false, "release": true} {
		e.removeTasks()
		c := e.claimedTask(approval, func(t *store.NewTask) { t.Options.Approval, t.Options.Canary = false, 5 })
		w := checkpoint(c.Lease)
		w.Progress, w.Check = lifecycle.Progress{Total: 9, Position: 5, Done: 5}, true
		if release {
			w.Check = false
			is(e, name, e.apply(w).Control, lifecycle.None)
			c.Seq++
			w = store.Write{Lease: c.Lease, To: lifecycle.Queued, Progress: w.Progress, Check: true}
		}
		is(e, name, e.apply(w).Control, lifecycle.Pause)
		is(e, name, e.control(c.ID), "PAUSE it waits for approval after its first 5 items")
		e.refusedFor(c.ID, store.Request{Action: lifecycle.ActResume}, "approve it")
		_, err := e.s.Request(e.ctx(), c.ID, approve(owner))
		e.ok(err)
		is(e, name+": approved", e.control(c.ID), "")
		if !release {
			// The session has not seen it: the store does.
			is(e, name+": released", e.apply(store.Write{
				Lease: store.Lease{ID: c.ID, Fence: c.Fence, Seq: c.Seq + 1}, To: lifecycle.Queued, Progress: w.Progress, Check: true,
			}), store.Applied{OK: true})
		}
		is(e, name+": claimed", len(e.claim(10)), 1)
	}

	// It can be stopped and deleted while it waits.
	e.removeTasks()
	stopped, deleted := e.one(approval), e.one(approval)
	got, err := e.request(stopped, lifecycle.ActStop)
	e.ok(err)
	is(e, "stopped", fmt.Sprint(got.Status, got.Control, got.Partial), fmt.Sprint(lifecycle.Completed, lifecycle.None, true))
	_, err = e.request(deleted, lifecycle.ActDelete)
	e.ok(err)
	e.gone(deleted)
	options, err := e.s.TaskOptions(e.ctx(), deleted)
	e.ok(err)
	is(e, "options of a removed task", options, store.Options{})
}
