package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// retriedParentWaits: a retry of a parent brings back for what it has waited, which its end has
// taken away. Its ending does not come back.
func retriedParentWaits(e *env) {
	e.registerFamily()
	parent, children := e.withChildren(1)
	wait := store.Wait{OpenAtMost: 0, OnFailure: store.FailureFails, Seen: 1}
	e.wait(parent.Lease, wait)
	e.end(children[0], lifecycle.Failure)
	is(e, "woken", len(e.woken(parent.ID)), 1)
	again := e.executes(e.claim(1)[0])
	ended := e.apply(store.Write{Lease: again.Lease, To: lifecycle.Failure, HasChildren: true, Attempt: failedAttempt(again.Lease)})
	is(e, "ended", ended.OK, true)
	is(e, "waits after its end", e.family(again.Lease).Wait, nil)
	_, err := e.request(parent.ID, lifecycle.ActRetry)
	e.ok(err)
	is(e, "woken before it has been claimed", len(e.woken(parent.ID)), 0)
	leased := e.claim(1)[0]
	f := e.family(leased.Lease)
	is(e, "to be retried", f.Retry, true)
	if f.Wait == nil {
		e.Fatal("it waits for nothing after its retry")
	}
	is(e, "what it waits for", *f.Wait, wait)
	is(e, "its ending", f.Ending, nil)
}

// childrenRetried: the failed children of a parent that is retried are retried in pages, and
// no others.
func childrenRetried(e *env) {
	e.registerFamily()
	parent := e.executes(e.claimedTask())
	var failed []uuid.UUID
	for i := range 5 {
		to := lifecycle.Failure
		if i%2 == 1 {
			to = lifecycle.Error
		}
		c := e.claimedChild(parent.ID)
		if i == 2 {
			e.end(e.claimedChild(c.ID), lifecycle.Failure)
		}
		e.end(c, to)
		failed = append(failed, c.ID)
	}
	key := func(t *store.NewTask) { t.UniqueKey = "u" }
	taken := e.claimedChild(parent.ID, key)
	e.end(taken, lifecycle.Failure)
	done := e.claimedChild(parent.ID)
	e.end(done, lifecycle.Completed)
	continued := e.claimedChild(parent.ID)
	e.end(continued, lifecycle.Failure)
	e.one(childOf(uuid.New()), func(t *store.NewTask) { t.IdempotencyKey = store.ContinuationKey(continued.ID) })
	same := func(t *store.NewTask) { t.UniqueKey = "same" }
	older := e.claimedChild(parent.ID, same)
	e.end(older, lifecycle.Failure)
	newer := e.claimedChild(parent.ID, same)
	e.end(newer, lifecycle.Failure)
	failed = append(failed, newer.ID)
	e.one(childOf(parent.ID), key)

	_, err := e.s.RetryChildren(e.ctx(), store.Lease{ID: parent.ID, Fence: parent.Fence + 1}, 2)
	if !errors.Is(err, store.ErrLost) {
		e.Fatalf("a retry for a lease that nobody has: got %v, want ErrLost", err)
	}
	// The only open child is that with the key.
	e.wait(parent.Lease, store.Wait{OpenAtMost: 1, Ending: &store.Ending{Status: lifecycle.Failure}})
	if _, err := e.s.RetryChildren(e.ctx(), store.Lease{ID: parent.ID, Fence: 1, Seq: 1}, 2); !errors.Is(err, store.ErrLost) {
		e.Fatalf("a retry for a parent that waits: got %v, want ErrLost", err)
	}
	e.woken(parent.ID)
	again := e.claim(1)[0]
	is(e, "how it ends", *e.family(again.Lease).Ending, store.Ending{Status: lifecycle.Failure})
	e.end(again, lifecycle.Failure) // it does not say that it may have children
	_, err = e.request(parent.ID, lifecycle.ActRetry)
	e.ok(err)
	leased := e.claim(1)[0]
	f := e.family(leased.Lease)
	is(e, "to be retried, its ending", fmt.Sprint(f.Retry, f.Ending, f.Failed), fmt.Sprint(true, (*store.Ending)(nil), 9))
	for _, l := range []store.Lease{again.Lease, {ID: parent.ID, Fence: leased.Fence, Seq: leased.Seq + 1}} {
		if _, err := e.s.RetryChildren(e.ctx(), l, 2); !errors.Is(err, store.ErrLost) {
			e.Fatalf("a retry for a lease that is lost: got %v, want ErrLost", err)
		}
	}
	before := make(map[uuid.UUID]store.Task)
	for _, id := range append(failed, taken.ID, done.ID, continued.ID, older.ID) {
		before[id] = e.read(id)
	}
	for _, want := range []int{2, 2, 2, 0, 0} {
		is(e, "to be retried", e.family(leased.Lease).Retry, true)
		n, err := e.s.RetryChildren(e.ctx(), leased.Lease, 2)
		e.ok(err)
		is(e, "retried", n, want)
		if n < 2 {
			break
		}
	}
	is(e, "to be retried", e.family(leased.Lease).Retry, false)
	for _, id := range failed {
		change, err := lifecycle.Decide(lifecycle.Found{Status: before[id].Status}, lifecycle.ActRetry)
		e.ok(err)
		row, _ := rowOf(before[id]).Request(change, uuid.Nil, "", nowInRules)
		sameRow(e, "retried", e.read(id), row, before[id].Created)
		es, err := e.s.Events(e.ctx(), id, 10)
		e.ok(err)
		is(e, "events", len(es), 1)
		is(e, "event", fmt.Sprint(es[0].Action, es[0].Reason, es[0].FromStatus), fmt.Sprint(lifecycle.ActRetry, lifecycle.ReasonParent, before[id].Status))
		got := e.read(id)
		is(e, "has failed children", e.family(store.Lease{ID: id, Fence: got.Fence, Seq: got.Seq}).Retry, id == failed[2])
	}
	for what, id := range map[string]uuid.UUID{"whose key is taken": taken.ID, "that is done": done.ID, "that is continued": continued.ID, "of two with a key": older.ID} {
		is(e, "a child "+what, e.read(id).Status, before[id].Status)
		is(e, "a child "+what, e.events(id), "")
	}
}

// childRetried: a failed child is retried alone only while its parent is open.
func childRetried(e *env) {
	e.registerFamily()
	refused := func(child store.ClaimedTask, status lifecycle.Status) {
		e.Helper()
		before := e.read(child.ID)
		_, err := e.request(child.ID, lifecycle.ActRetry)
		refusal, ok := errors.AsType[*store.ParentError](err)
		if !ok || refusal.ID != child.ID || refusal.Parent != before.Parent || refusal.Status != status {
			e.Fatalf("a retry of a child whose parent is %q: got %v, want a ParentError", status, err)
		}
		is(e, "row", showRow(rowOf(e.read(child.ID))), showRow(rowOf(before)))
		is(e, "events", e.events(child.ID), "")
	}
	for _, to := range []lifecycle.Status{lifecycle.Completed, lifecycle.Failure, lifecycle.Error} {
		parent, children := e.withChildren(3)
		e.end(children[0], lifecycle.Failure)
		e.end(children[1], lifecycle.Error)
		e.end(children[2], lifecycle.Completed)
		got, err := e.request(children[1].ID, lifecycle.ActRetry)
		e.ok(err)
		is(e, "status", got.Status, lifecycle.Queued)
		again := e.claim(1, ofChildren)[0]
		is(e, "fence", again.Fence, 2)
		e.end(again, lifecycle.Error)
		e.end(parent, to)
		refused(children[0], to)
		_, err = e.request(children[2].ID, lifecycle.ActRetry)
		if state, ok := errors.AsType[*store.StateError](err); !ok || state.Status != lifecycle.Completed {
			e.Fatalf("a retry of a child that is done, of a parent that has ended: got %v, want a StateError", err)
		}
		is(e, "children of the ended parent", e.family(parent.Lease).Retry, false)
	}
	// Of a parent that retention has removed.
	parent, children := e.withChildren(1)
	e.end(children[0], lifecycle.Failure)
	e.end(parent, lifecycle.Failure)
	e.passed()
	e.removeEnded(ended(time.Millisecond))
	e.gone(parent.ID)
	refused(children[0], "")
}

// childDeleted: a child is not deleted alone while its parent is open or can be retried.
func childDeleted(e *env) {
	e.registerFamily()
	for _, to := range []lifecycle.Status{lifecycle.Completed, lifecycle.Failure, lifecycle.Error} {
		parent, children := e.withChildren(2)
		open, done := children[0], children[1]
		e.end(done, lifecycle.Completed)
		refused := func() {
			e.Helper()
			for _, child := range children {
				before, events := e.read(child.ID), e.events(child.ID)
				_, err := e.request(child.ID, lifecycle.ActDelete)
				status := e.read(parent.ID).Status
				needed, ok := errors.AsType[*store.ParentError](err)
				if !ok || needed.Action != lifecycle.ActDelete || needed.ID != child.ID || needed.Parent != parent.ID || needed.Status != status {
					e.Fatalf("a delete of a child that is %s, and whose parent is %s: got %v, want a ParentError", before.Status, status, err)
				}
				is(e, "row", showRow(rowOf(e.read(child.ID))), showRow(rowOf(before)))
				is(e, "events", e.events(child.ID), events)
			}
		}
		refused()
		e.end(open, lifecycle.Failure)
		e.end(parent, to)
		if to != lifecycle.Completed {
			refused()
			continue
		}
		for _, child := range children {
			_, err := e.request(child.ID, lifecycle.ActDelete)
			e.ok(err)
			e.gone(child.ID)
		}
	}
	// Of a parent that is to be deleted.
	parent, children := e.withChildren(1)
	_, err := e.request(parent.ID, lifecycle.ActDelete)
	e.ok(err)
	_, err = e.request(children[0].ID, lifecycle.ActDelete)
	e.ok(err)
	is(e, "control of the child", e.read(children[0].ID).Control, lifecycle.Delete)
}

// bucketOutlivesParent: a bucket can be read after its parent was removed, without a spec.
func bucketOutlivesParent(e *env) {
	e.registerFamily()
	parent := e.claimedTask()
	segment := func(t *store.NewTask) { t.Spec, t.Options.Child.Segment = nil, json.RawMessage(`1`) }
	child := e.claimedChild(parent.ID, segment)
	is(e, "spec with the claim", len(child.Spec), 0)
	is(e, "spec", compact(e, e.read(child.ID).Spec), `{"n":1}`)
	e.end(child, lifecycle.Completed)
	e.end(parent, lifecycle.Completed)
	e.passed()
	e.removeEnded(ended(time.Millisecond))
	e.gone(parent.ID)
	is(e, "spec", len(e.read(child.ID).Spec), 0)
	p, err := e.s.Plan(e.ctx(), child.ID)
	e.ok(err)
	is(e, "plan", fmt.Sprint(len(p.Spec), p.Options.Child.Parent), fmt.Sprint(0, parent.ID))
}

// unservedParent: neither a request nor the reaper ends a task that no live process serves
// while a child of it is open, nor one that no worker has begun.
func unservedParent(e *env) {
	e.registerFamily()
	unserved := 99
	for _, begun := range []bool{true, false} {
		for _, a := range []lifecycle.Action{lifecycle.ActStop, lifecycle.ActDelete} {
			var (
				what = fmt.Sprint(a, " of a parent, begun: ", begun)
				id   uuid.UUID
				last store.ClaimedTask
			)
			if begun {
				parent, children := e.withChildren(1)
				e.wait(parent.Lease, store.Wait{})
				id, last = parent.ID, children[0]
				e.edit(id, TaskColumns{Revision: &unserved})
			} else {
				id = e.one()
				last = e.executes(e.claimedChild(id))
			}
			got, err := e.request(id, a)
			e.ok(err)
			want := map[lifecycle.Action]lifecycle.Control{lifecycle.ActStop: lifecycle.Stop, lifecycle.ActDelete: lifecycle.Delete}[a]
			is(e, what, fmt.Sprint(got.Status, got.Control, got.Wait <= 0), fmt.Sprint(lifecycle.Queued, want, true))
			r, err := e.s.Reap(e.ctx(), nil)
			e.ok(err)
			is(e, what+": ended with an open child", len(r.Ended), 0)
			is(e, what, e.read(id).Control, want)
			e.end(last, lifecycle.Completed)
			if !begun { // a worker must see it, or no worker serves it
				e.edit(id, TaskColumns{Revision: &unserved})
			}
			r, err = e.s.Reap(e.ctx(), nil)
			e.ok(err)
			is(e, what+": ended", r.Ended, []uuid.UUID{id})
			if a == lifecycle.ActDelete {
				e.gone(id)
			} else {
				is(e, what, e.read(id).Status, lifecycle.Completed)
			}
			e.removeTasks()
		}
	}
}

// reapParents: the reaper wakes a parent whose worker died before it did so, and passes a
// request on that nobody has.
func reapParents(e *env) {
	e.registerFamily()
	reap := func() store.Reaped {
		e.Helper()
		r, err := e.s.Reap(e.ctx(), nil)
		e.ok(err)
		return r
	}
	parent, children := e.withChildren(1)
	other, _ := e.withChildren(1)
	e.wait(parent.Lease, store.Wait{})
	e.wait(other.Lease, store.Wait{})
	is(e, "woken with an open child", len(reap().Woken), 0)
	e.end(children[0], lifecycle.Failure)
	r := reap()
	is(e, "woken", r.Woken, []uuid.UUID{parent.ID})
	is(e, "passed on", len(r.Passed), 0)
	is(e, "woken again", len(reap().Woken), 0)
	claimed := e.claim(9)
	is(e, "claimed", len(claimed), 1)
	e.end(claimed[0], lifecycle.Completed)
	e.removeTasks()

	for _, a := range []lifecycle.Action{lifecycle.ActPause, lifecycle.ActResume, lifecycle.ActStop, lifecycle.ActDelete} {
		parent, children := e.withChildren(2)
		if a == lifecycle.ActResume {
			e.setControl(parent.ID, lifecycle.Pause)
			is(e, "paused", len(e.passOn(9, parent.ID)), 2)
		}
		e.wait(parent.Lease, store.Wait{})
		_, err := e.request(parent.ID, a)
		e.ok(err)
		r := reap()
		is(e, fmt.Sprint(a, ": passed on"), len(r.Passed), 2)
		for _, c := range children {
			want := map[lifecycle.Action]string{lifecycle.ActPause: "PAUSE", lifecycle.ActStop: "STOP", lifecycle.ActDelete: "DELETE"}[a]
			if want != "" {
				want += " " + lifecycle.ReasonParent
			}
			is(e, fmt.Sprint(a, ": child"), e.control(c.ID), want)
		}
		is(e, fmt.Sprint(a, ": passed on again"), len(reap().Passed), 0)
		e.removeTasks()
	}
}

// childrenKept: the cleaner leaves an ended child while its parent is open or can be retried.
func childrenKept(e *env) {
	e.registerFamily()
	parent, children := e.withChildren(2)
	e.wait(parent.Lease, store.Wait{})
	e.end(children[0], lifecycle.Failure)
	e.end(children[1], lifecycle.Completed)
	never := e.one(childOf(parent.ID))
	e.passed()
	ofChildren := ended(time.Millisecond)
	ofChildren.Kind = childKind
	is(e, "ended children removed", len(e.removeEnded(ofChildren).IDs), 0)
	is(e, "idle children removed", len(e.removeIdle(waiting(time.Millisecond)).IDs), 0)
	_, err := e.request(never, lifecycle.ActStop)
	e.ok(err)
	e.woken(parent.ID)
	e.end(e.claim(1)[0], lifecycle.Completed)
	e.passed()
	is(e, "parents removed", len(e.removeEnded(ended(time.Millisecond)).IDs), 1)
	is(e, "children removed", len(e.removeEnded(ofChildren).IDs), 3)

	// Those that stay are passed.
	parent, children = e.withChildren(3)
	for _, c := range children {
		e.end(c, lifecycle.Completed)
	}
	e.end(parent, lifecycle.Failure)
	e.passed()
	ofChildren.Limit = 2
	r := e.removeEnded(ofChildren)
	is(e, "removed of a parent that has failed", len(r.IDs), 0)
	is(e, "last child that was read", r.Next.ID, children[1].ID)
	ofChildren.After = r.Next
	r = e.removeEnded(ofChildren)
	is(e, "removed of a parent that has failed", len(r.IDs), 0)
	is(e, "next", r.Next, store.EndedCursor{})
}

// parentKept: a parent that waits to be claimed is not idle while a child is open.
func parentKept(e *env) {
	e.registerFamily()
	parent, children := e.withChildren(1)
	is(e, "released", e.apply(store.Write{Lease: parent.Lease, To: lifecycle.Queued, Reason: "yields"}).OK, true)
	e.passed()
	is(e, "removed beside an open child", len(e.removeIdle(waiting(time.Millisecond)).IDs), 0)
	e.end(children[0], lifecycle.Completed)
	e.passed()
	is(e, "removed", e.removeIdle(waiting(time.Millisecond)).IDs, []uuid.UUID{parent.ID})
	ofChildren := ended(time.Millisecond)
	ofChildren.Kind = childKind
	is(e, "children removed", len(e.removeEnded(ofChildren).IDs), 1)
}

// childrenEndTogether: children end at once, and whoever ends one makes the check after it.
// The parent is woken by one of them.
func childrenEndTogether(e *env) {
	e.registerFamily()
	for range 5 {
		parent, children := e.withChildren(6)
		e.wait(parent.Lease, store.Wait{})
		var group sync.WaitGroup
		errs := make([]error, len(children))
		for i, c := range children {
			group.Go(func() {
				_, err := e.s.Apply(e.ctx(), process, []*store.Write{{Lease: c.Lease, To: lifecycle.Completed}})
				if err == nil {
					_, err = e.s.WakeParents(e.ctx(), []uuid.UUID{parent.ID})
				}
				errs[i] = err
			})
		}
		group.Wait()
		e.ok(errors.Join(errs...))
		got := e.claim(9)
		is(e, "claimed", len(got), 1)
		is(e, "parent", got[0].ID, parent.ID)
		e.removeTasks()
	}
}

// childrenCounted: the children of a task by their status, with the sum of their progress; the
// first that has failed; and a new bound of the open ones, which also ends a wait.
func childrenCounted(e *env) {
	e.registerFamily()
	parent, children := e.withChildren(5)
	counts := func() store.ChildCounts {
		e.Helper()
		c, err := e.s.CountChildren(e.ctx(), []uuid.UUID{parent.ID})
		e.ok(err)
		return c[parent.ID]
	}
	if _, err := e.s.FailedChild(e.ctx(), parent.ID); !errors.Is(err, store.ErrNotFound) {
		e.Fatalf("a failed child where none has failed: got %v, want ErrNotFound", err)
	}
	is(e, "has children", [2]bool{e.read(parent.ID).HasChildren, e.read(children[0].ID).HasChildren}, [2]bool{true, false})
	e.wait(parent.Lease, store.Wait{})
	for i, to := range []lifecycle.Status{lifecycle.Completed, lifecycle.Completed, lifecycle.Failure, lifecycle.Error} {
		w := checkpoint(children[i].Lease)
		w.To, w.Partial, w.Progress = to, i == 1, lifecycle.Progress{Total: 10, Done: 5, Failed: int64(i), Skipped: 1}
		is(e, "ended", e.apply(w).OK, true)
	}
	is(e, "counts, of one the total is unknown", fmt.Sprint(counts()), fmt.Sprint(store.ChildCounts{
		Statuses: map[lifecycle.Status]int64{lifecycle.Completed: 2, lifecycle.Failure: 1, lifecycle.Error: 1, lifecycle.Executing: 1},
		Stopped:  1, Fences: 5, Running: 1, Unknown: 1, Items: lifecycle.Progress{Total: 40, Done: 20, Failed: 6, Skipped: 4},
	}))
	failed, err := e.s.FailedChild(e.ctx(), parent.ID)
	e.ok(err)
	is(e, "the first that has failed", failed.ID, children[2].ID)
	is(e, "woken", len(e.woken(parent.ID)), 0)
	_, err = e.s.Request(e.ctx(), parent.ID, store.Request{Action: lifecycle.ActChange, MaxParallel: 2})
	e.ok(err)
	is(e, "events", e.events(parent.ID), "change: max parallel 2")
	is(e, "woken when more may be open", len(e.woken(parent.ID)), 1)
	w := checkpoint(children[4].Lease)
	w.Progress = lifecycle.Progress{Total: 3}
	is(e, "written", e.apply(w).OK, true)
	c := counts()
	is(e, "total", c.Progress().Total, int64(43))
	none, err := e.s.CountChildren(e.ctx(), []uuid.UUID{children[0].ID})
	e.ok(err)
	is(e, "of none", len(none), 0)
}
