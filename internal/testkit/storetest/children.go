package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Children have a kind and a queue of their own in these cases, so that a claim takes either
// parents or children.
const (
	childKind  = "part"
	childQueue = "parts"
)

// registerFamily registers a live process for parents and for children.
func (e *env) registerFamily() {
	e.Helper()
	e.registerWorker(func(p *store.Process) {
		p.Kinds, p.Queues = map[string][]int{kind: {1}, childKind: {1}}, []string{"default", childQueue}
	})
}

// childOf makes a task a child.
func childOf(parent uuid.UUID) func(*store.NewTask) {
	return func(t *store.NewTask) {
		t.Kind, t.Queue, t.Priority, t.Parent = childKind, childQueue, lifecycle.LowestPriority, parent
		t.Options.Child = &store.Child{Parent: parent}
	}
}

// executes brings a claimed task into EXECUTING.
func (e *env) executes(c store.ClaimedTask) store.ClaimedTask {
	e.Helper()
	is(e, "started", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Executing, Attempts: c.Attempts}).OK, true)
	return c
}

// claimedChild returns a child that was claimed.
func (e *env) claimedChild(parent uuid.UUID, change ...func(*store.NewTask)) store.ClaimedTask {
	e.Helper()
	first := func(t *store.NewTask) { t.Priority = lifecycle.HighestPriority }
	id := e.one(append([]func(*store.NewTask){childOf(parent), first}, change...)...)
	got := e.claim(1, ofChildren)
	if len(got) != 1 || got[0].ID != id {
		e.Fatalf("claimed %v, want child %s", got, id)
	}
	return got[0]
}

// ofChildren makes a claim one of children.
func ofChildren(c *store.Claim) {
	c.Queues, c.Kinds = []string{childQueue}, map[string][]int{childKind: {1}}
}

// onlyRequested makes a claim one of tasks that are to end.
func onlyRequested(c *store.Claim) { c.Requested = true }

// withChildren returns a parent that is EXECUTING, and n children of it that are.
func (e *env) withChildren(n int) (parent store.ClaimedTask, children []store.ClaimedTask) {
	e.Helper()
	parent = e.executes(e.claimedTask())
	for range n {
		children = append(children, e.executes(e.claimedChild(parent.ID)))
	}
	return parent, children
}

// end ends a task that its holder has.
func (e *env) end(c store.ClaimedTask, to lifecycle.Status) {
	e.Helper()
	is(e, "ended", e.apply(store.Write{Lease: c.Lease, To: to}).OK, true)
}

// waits is a checkpoint with which a parent begins to wait.
func waits(l store.Lease, w store.Wait) store.Write {
	reason := lifecycle.ReasonChildren
	if w.Ends {
		reason = lifecycle.ReasonEndingChildren
	}
	if w.OnFailure == "" {
		w.OnFailure = store.FailureContinues
	}
	return store.Write{
		Lease: l, To: lifecycle.Queued, Checkpoint: true, Revision: 1, State: json.RawMessage(`{"at":1}`),
		Progress: lifecycle.Progress{Total: -1}, At: store.Forever, Reason: reason, Wait: &w,
	}
}

// wait makes a parent wait.
func (e *env) wait(l store.Lease, w store.Wait) {
	e.Helper()
	is(e, "written", e.apply(waits(l, w)).OK, true)
}

// woken returns which of these parents are woken.
func (e *env) woken(parents ...uuid.UUID) []uuid.UUID {
	e.Helper()
	ids, err := e.s.WakeParents(e.ctx(), parents)
	e.ok(err)
	return ids
}

// family reads the children of a task as its holder does.
func (e *env) family(l store.Lease) store.Family {
	e.Helper()
	f, err := e.s.Family(e.ctx(), l)
	e.ok(err)
	return f
}

// sleeps fails the case if a claim finds a task.
func (e *env) sleeps(what string) {
	e.Helper()
	for _, change := range []func(*store.Claim){func(*store.Claim) {}, onlyRequested} {
		c := claimOf(9, change)
		waiting, err := e.s.Waiting(e.ctx(), c)
		e.ok(err)
		is(e, what+": waiting", waiting, false)
		got, err := e.s.Claim(e.ctx(), c)
		e.ok(err)
		is(e, what+": claimed", len(got.Tasks), 0)
		if got.Next >= 0 && got.Next < 365*24*time.Hour {
			e.Fatalf("%s: the next task is due in %v", what, got.Next)
		}
	}
}

// childrenWait: a parent that waits is found by no claim. It is woken when at most so many
// children are open as it waits for, and once.
func childrenWait(e *env) {
	e.registerFamily()
	for _, most := range []int64{0, 1, 2} {
		parent, children := e.withChildren(3)
		is(e, "family at first", fmt.Sprintf("%+v", e.family(parent.Lease)), fmt.Sprintf("%+v", store.Family{Open: 3}))
		before := e.read(parent.ID)
		write := waits(parent.Lease, store.Wait{OpenAtMost: most})
		write.Memo = json.RawMessage(`{"m":1}`)
		is(e, "written", fmt.Sprint(e.apply(write)), fmt.Sprint(store.Applied{OK: true}))
		waiting := e.read(parent.ID)
		row, _ := rowOf(before).Write(write.Lifecycle(), nowInRules)
		sameRow(e, "after the wait", waiting, row, before.Created)
		is(e, "due", waiting.NotBefore.Equal(store.Forever), true)
		e.sleeps("a parent that waits")

		after := store.Lease{ID: parent.ID, Fence: parent.Fence, Seq: parent.Seq + 1}
		f := e.family(after)
		is(e, "what it waits for", *f.Wait, *write.Wait)
		is(e, "memo", compact(e, f.Memo), `{"m":1}`)
		is(e, "what it waits for at another checkpoint", e.family(parent.Lease).Wait, nil)
		for open := int64(3); open > most; open-- {
			is(e, "woken with more open children", len(e.woken(parent.ID, uuid.New())), 0)
			e.end(children[open-1], lifecycle.Failure)
		}
		is(e, "woken", e.woken(parent.ID, uuid.New(), parent.ID), []uuid.UUID{parent.ID})
		got := e.read(parent.ID)
		sameRow(e, "woken", got, rowOf(waiting).Wake(nowInRules, lifecycle.ReasonChildrenEnded), before.Created)
		if most > 0 {
			e.end(children[0], lifecycle.Completed)
		}
		is(e, "woken again", len(e.woken(parent.ID)), 0)
		is(e, "due", e.read(parent.ID).NotBefore.Equal(got.NotBefore), true)
		claimed := e.claim(9)
		is(e, "claimed", len(claimed), 1)
		is(e, "lease", claimed[0].Lease, store.Lease{ID: parent.ID, Fence: 2, Seq: 1})
		is(e, "woken when claimed", len(e.woken(parent.ID)), 0)
		e.removeTasks()
	}
	is(e, "woken of none", len(e.woken()), 0)
}

// compact is JSON without spaces.
func compact(e *env, j json.RawMessage) string {
	e.Helper()
	var v any
	e.ok(json.Unmarshal(j, &v))
	text, err := json.Marshal(v)
	e.ok(err)
	return string(text)
}

// childrenWakeTwice: a second wake changes nothing.
func childrenWakeTwice(e *env) {
	e.registerFamily()
	parent, children := e.withChildren(1)
	e.wait(parent.Lease, store.Wait{})
	e.end(children[0], lifecycle.Completed)
	is(e, "woken", len(e.woken(parent.ID)), 1)
	before := e.read(parent.ID)
	is(e, "woken again", len(e.woken(parent.ID)), 0)
	is(e, "modified", e.read(parent.ID).Modified.Equal(before.Modified), true)
}

// childrenFail: with FailurePauses a parent is woken when more children have failed than
// it has seen, however many are open; with the other policies it is not.
func childrenFail(e *env) {
	e.registerFamily()
	for _, c := range []struct {
		policy store.OnFailure
		seen   int64
		fail   []lifecycle.Status
		want   int
	}{
		{store.FailurePauses, 0, []lifecycle.Status{lifecycle.Failure}, 1},
		{store.FailurePauses, 0, []lifecycle.Status{lifecycle.Error}, 1},
		{store.FailurePauses, 0, []lifecycle.Status{lifecycle.Completed}, 0},
		{store.FailurePauses, 1, []lifecycle.Status{lifecycle.Failure}, 0},
		{store.FailurePauses, 1, []lifecycle.Status{lifecycle.Failure, lifecycle.Error}, 1},
		{store.FailureContinues, 0, []lifecycle.Status{lifecycle.Failure, lifecycle.Error}, 0},
		{store.FailureFails, 0, []lifecycle.Status{lifecycle.Failure, lifecycle.Error}, 0},
	} {
		parent, children := e.withChildren(3)
		e.wait(parent.Lease, store.Wait{OnFailure: c.policy, Seen: c.seen})
		for i, to := range c.fail {
			e.end(children[i], to)
		}
		what := fmt.Sprint(c.policy, " ", c.seen, " ", c.fail)
		is(e, what, len(e.woken(parent.ID)), c.want)
		f := e.family(store.Lease{ID: parent.ID, Fence: 1, Seq: 1})
		is(e, what+": the wait", *f.Wait, store.Wait{OnFailure: c.policy, Seen: c.seen})
		is(e, what+": open", f.Open, int64(3-len(c.fail)))
		e.removeTasks()
	}
}

// childrenWakeGuards: a wait belongs to its session. A later one that gives the task back in
// another way, with the same reason, is not woken by it.
func childrenWakeGuards(e *env) {
	e.registerFamily()
	for _, with := range []bool{false, true} { // a checkpoint
		parent, children := e.withChildren(1)
		e.wait(parent.Lease, store.Wait{OpenAtMost: 1})
		is(e, "woken", len(e.woken(parent.ID)), 1)
		again := e.claim(1)[0]
		w := waits(again.Lease, store.Wait{})
		w.Wait, w.Checkpoint = nil, with
		is(e, "given back", e.apply(w).OK, true)
		e.end(children[0], lifecycle.Completed)
		is(e, "woken by the wait before", len(e.woken(parent.ID)), 0)
		e.sleeps("a parent that was given back")
		e.removeTasks()
	}
	// A late wait of an old session changes nothing.
	parent, children := e.withChildren(1)
	e.wait(parent.Lease, store.Wait{OpenAtMost: 1})
	e.woken(parent.ID)
	again := e.claim(1)[0]
	e.wait(again.Lease, store.Wait{OnFailure: store.FailureFails})
	late := waits(parent.Lease, store.Wait{OpenAtMost: 5})
	late.Memo = json.RawMessage(`1`)
	is(e, "a late write", e.apply(late), store.Applied{})
	f := e.family(store.Lease{ID: parent.ID, Fence: 2, Seq: 2})
	is(e, "what it waits for", *f.Wait, store.Wait{OnFailure: store.FailureFails})
	is(e, "memo", len(f.Memo), 0)
	is(e, "woken by a late write", len(e.woken(parent.ID)), 0)
	e.end(children[0], lifecycle.Completed)
	is(e, "woken", len(e.woken(parent.ID)), 1)
}

// waysToWrite are the ways of the last write of a session.
func (e *env) waysToWrite() map[string]func(store.Write) store.Applied {
	return map[string]func(store.Write) store.Applied{
		"alone": e.apply,
		"together": func(w store.Write) store.Applied {
			e.Helper()
			first, last := e.claimedTask(), e.claimedTask()
			all, err := e.s.Apply(e.ctx(), process, []*store.Write{new(checkpoint(first.Lease)), &w, {Lease: last.Lease, To: lifecycle.Completed}})
			e.ok(err)
			is(e, "the others", fmt.Sprint(all[0], all[2]), fmt.Sprint(store.Applied{OK: true}, store.Applied{OK: true}))
			is(e, "the other", e.read(first.ID).Seq, 1)
			is(e, "the other that ends", e.read(last.ID).Status, lifecycle.Completed)
			return all[1]
		},
		"with a batch": func(w store.Write) store.Applied {
			e.Helper()
			a, err := e.begin(w.Lease).Commit(e.ctx(), w)
			e.ok(err)
			return a
		},
	}
}

// childrenRequested: a request to end that stands before a wait is committed makes an
// ordinary wait due at once. The wait of a parent that ends next sleeps, and a delete
// makes it due.
func childrenRequested(e *env) {
	e.registerFamily()
	for way, write := range e.waysToWrite() {
		for _, a := range []lifecycle.Action{lifecycle.ActStop, lifecycle.ActDelete} {
			parent, children := e.withChildren(1)
			_, err := e.request(parent.ID, a)
			e.ok(err)
			what := fmt.Sprint(way, ", ", a)
			before := e.read(parent.ID)
			w := waits(parent.Lease, store.Wait{})
			is(e, what, write(w).OK, true)
			row, _ := rowOf(before).Write(w.Lifecycle(), nowInRules)
			sameRow(e, what, e.read(parent.ID), row, before.Created)
			got := e.claim(9)
			is(e, what+": claimed", len(got), 1)
			w = waits(got[0].Lease, store.Wait{Ends: true})
			is(e, what, write(w).OK, true)
			e.sleeps(what)
			is(e, what+": woken", len(e.woken(parent.ID)), 0)
			if a == lifecycle.ActStop {
				_, err = e.request(parent.ID, lifecycle.ActDelete)
				e.ok(err)
			} else {
				e.end(children[0], lifecycle.Completed)
				is(e, what+": woken", len(e.woken(parent.ID)), 1)
			}
			got = e.claim(9, onlyRequested)
			is(e, what+": claimed", len(got), 1)
			is(e, what+": control", got[0].Control, lifecycle.Delete)
			e.removeTasks()
		}
	}
}

// childrenPause: a wait with Pause pauses the parent, unless another request stands on it.
func childrenPause(e *env) {
	e.registerFamily()
	for way, write := range e.waysToWrite() {
		parent, children := e.withChildren(1)
		w := waits(parent.Lease, store.Wait{OnFailure: store.FailurePauses, Seen: 1})
		w.Pause = "a child has failed"
		is(e, way, fmt.Sprint(write(w)), fmt.Sprint(store.Applied{OK: true, Control: lifecycle.Pause}))
		is(e, way, e.control(parent.ID), "PAUSE a child has failed")
		is(e, way+": events", e.events(parent.ID), "pause: a child has failed")
		e.end(children[0], lifecycle.Completed)
		is(e, way+": woken", len(e.woken(parent.ID)), 1)
		is(e, way+": claimed", len(e.claim(1)), 0)
		_, err := e.request(parent.ID, lifecycle.ActResume)
		e.ok(err)
		is(e, way+": claimed", len(e.claim(1)), 1)
		e.removeTasks()

		parent, _ = e.withChildren(1)
		_, err = e.request(parent.ID, lifecycle.ActStop)
		e.ok(err)
		w.Lease = parent.Lease
		is(e, way, fmt.Sprint(write(w)), fmt.Sprint(store.Applied{OK: true, Control: lifecycle.Stop}))
		is(e, way, e.control(parent.ID), "STOP because")
		is(e, way+": events", e.events(parent.ID), "stop: because")
		e.removeTasks()
	}
}

// events are the actions on a task and their reasons, newest first.
func (e *env) events(id uuid.UUID) string {
	e.Helper()
	es, err := e.s.Events(e.ctx(), id, 10)
	e.ok(err)
	said := make([]string, len(es))
	for i, event := range es {
		said[i] = event.Action + ": " + event.Reason
	}
	return strings.Join(said, ", ")
}

// childrenEnd: a task that may have children does not end while one of them is open.
func childrenEnd(e *env) {
	e.registerFamily()
	e.ledger()
	for way, write := range e.waysToWrite() {
		for _, to := range []lifecycle.Status{lifecycle.Completed, lifecycle.Failure, lifecycle.Error} {
			parent, children := e.withChildren(2)
			e.wait(parent.Lease, store.Wait{OpenAtMost: 2, Ending: &store.Ending{Status: to, Code: "c"}})
			is(e, "woken", len(e.woken(parent.ID)), 1)
			parent = e.claim(1)[0]
			if to != lifecycle.Error {
				e.executes(parent)
			} else if _, err := e.request(parent.ID, lifecycle.ActStop); err != nil {
				e.Fatal(err)
			}
			what := fmt.Sprint(way, ", ", to)
			is(e, what+": how it ends", *e.family(parent.Lease).Ending, store.Ending{Status: to, Code: "c"})
			before := e.read(parent.ID)
			end := store.Write{Lease: parent.Lease, To: to, HasChildren: true, Attempt: failedAttempt(parent.Lease)}
			for _, child := range children {
				is(e, what+" with an open child", fmt.Sprint(write(end)), fmt.Sprint(store.Applied{Open: true}))
				is(e, what+": row", showRow(rowOf(e.read(parent.ID))), showRow(rowOf(before)))
				e.end(child, lifecycle.Completed)
			}
			is(e, what+": attempts recorded", e.count(Attempts), 0)
			is(e, what+": waits", e.family(parent.Lease).Wait != nil, true)
			is(e, what, fmt.Sprint(write(end)), fmt.Sprint(store.Applied{OK: true}))
			is(e, what+": status", e.read(parent.ID).Status, to)
			is(e, what+": waits", e.family(parent.Lease).Wait, nil)
			e.removeTasks()
		}
		parent, children := e.withChildren(1)
		_, err := e.request(parent.ID, lifecycle.ActDelete)
		e.ok(err)
		end := store.Write{Lease: parent.Lease, To: lifecycle.Completed, HasChildren: true}
		is(e, way+", with a delete and an open child", fmt.Sprint(write(end)), fmt.Sprint(store.Applied{Open: true}))
		e.end(children[0], lifecycle.Completed)
		is(e, way+", with a delete", fmt.Sprint(write(end)), fmt.Sprint(store.Applied{OK: true, Control: lifecycle.Delete}))
		e.gone(parent.ID)
		e.gone(children[0].ID)
		e.removeTasks()
	}
	// What the batch has written is undone.
	parent, _ := e.withChildren(1)
	tx := e.begin(parent.Lease)
	write(e, tx)
	a, err := tx.Commit(e.ctx(), store.Write{Lease: parent.Lease, To: lifecycle.Completed, HasChildren: true})
	e.ok(err)
	is(e, "with an open child", a, store.Applied{Open: true})
	is(e, "rows of the batch", e.touched(), 0)
}

// childrenInserted: many children with plans are stored by one call, and read in pages. The
// spec of a bucket is the spec of its parent.
func childrenInserted(e *env) {
	e.registerFamily()
	parent := e.one()
	tasks := make([]store.NewTask, 150)
	for i := range tasks {
		tasks[i] = task(childOf(parent))
		switch i % 3 {
		case 0:
			tasks[i].Spec = nil
			tasks[i].Options.Child.Segment, tasks[i].Options.Child.Number = json.RawMessage(fmt.Sprintf(`{"from":%d}`, i)), int64(i+1)
		case 1:
			tasks[i].Options.Child.Stage = "load"
		}
	}
	e.insert(tasks...)
	e.insert(task()) // no child
	slices.SortFunc(tasks, func(a, b store.NewTask) int { return slices.Compare(a.ID[:], b.ID[:]) })
	for _, states := range []bool{false, true} {
		var got []store.ChildTask
		for after := uuid.Nil; ; after = got[len(got)-1].ID {
			page, err := e.s.Children(e.ctx(), parent, after, 40, states)
			e.ok(err)
			got = append(got, page...)
			if len(page) < 40 {
				break
			}
		}
		is(e, "children", len(got), len(tasks))
		for i, c := range got {
			want := store.ChildTask{
				Child: *tasks[i].Options.Child, ID: tasks[i].ID, Kind: childKind, Status: lifecycle.Queued,
				Revision: 1, Progress: lifecycle.Progress{Total: -1},
			}
			if states {
				want.State = json.RawMessage(`{}`)
			}
			is(e, "child", fmt.Sprintf("%+v", c), fmt.Sprintf("%+v", want))
		}
	}
	for _, n := range tasks[:3] {
		p, err := e.s.Plan(e.ctx(), n.ID)
		e.ok(err)
		is(e, "spec", compact(e, p.Spec), `{"n":1}`)
		is(e, "spec of the task", compact(e, e.read(n.ID).Spec), `{"n":1}`)
		is(e, "child", fmt.Sprintf("%+v", *p.Options.Child), fmt.Sprintf("%+v", *n.Options.Child))
		is(e, "parent", e.read(n.ID).Parent, parent)
	}

	done := e.claimedChild(parent)
	e.executes(done)
	w := checkpoint(done.Lease)
	w.To, w.StatusDetail, w.Partial, w.Progress = lifecycle.Completed, "why", true, lifecycle.Progress{Total: 3, Position: 2, Done: 1, Skipped: 1}
	is(e, "ended", e.apply(w).OK, true)
	page, err := e.s.Children(e.ctx(), parent, tasks[len(tasks)-1].ID, 40, true)
	e.ok(err)
	is(e, "page", len(page), 1)
	for outcome, want := range map[store.Outcome]bool{
		store.ItemSucceeded: true, store.ItemSkipped: true, store.ItemUnprocessed: true, store.ItemFailed: false, store.ItemDeferred: false,
	} {
		having, err := e.s.ChildrenHaving(e.ctx(), parent, tasks[len(tasks)-1].ID, 40, outcome)
		e.ok(err)
		is(e, "children with "+string(outcome)+" items", len(having) == 1 && having[0].ID == done.ID, want)
	}
	c, row := page[0], e.read(done.ID)
	is(e, "ended child", fmt.Sprint(c.Status, c.Partial, c.StatusDetail, c.Progress, compact(e, c.State)), fmt.Sprint(lifecycle.Completed, true, "why", w.Progress, `{"at":1}`))
	is(e, "its times", c.Started.Equal(*row.Started) && c.Stopped.Equal(*row.Stopped), true)
}
