package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// requestOfFamily lets a request go to a parent, or to a child alone. It returns the
// task; of no family: the one that it is given.
func (w *env) requestOfFamily(id uuid.UUID) uuid.UUID {
	parents, children := w.families()
	switch {
	case len(parents) == 0:
	case w.pick(3) == 0:
		w.count("request of a parent")
		return parents[w.pick(len(parents))]
	case len(children) > 0 && w.pick(3) == 0:
		w.count("request of a child alone")
		return children[w.pick(len(children))]
	}
	return id
}

// afterRequest does what taskkit's client does after a request: it passes it on to the
// children, and wakes the parent. Some clients are killed before that.
func (n *node) afterRequest(ctx context.Context, t store.Task) {
	if t.HasOpenChildren {
		n.count("request to pass on")
		if n.chance(0.3) {
			n.count("client killed before it passes a request on")
			return
		}
		n.passRequestOn(ctx, []uuid.UUID{t.ID})
	}
	if t.Parent != uuid.Nil && (t.Status.Terminal() || t.Control == lifecycle.Delete) && !n.chance(0.3) {
		_, _ = n.WakeParents(ctx, []uuid.UUID{t.Parent})
	}
}

// passRequestOn passes the requests on these tasks on to any depth, in small pages.
func (n *node) passRequestOn(ctx context.Context, parents []uuid.UUID) {
	for len(parents) > 0 {
		var next []uuid.UUID
		for idle := 0; idle < 5; {
			changed, more, err := n.PassOn(ctx, parents, 3)
			if err != nil {
				return
			}
			if next = append(next, changed...); !more {
				break
			}
			if len(changed) == 0 {
				idle++
				pass(time.Duration(idle) * 10 * time.Millisecond)
			}
		}
		if _, err := n.WakeParents(ctx, parents); err != nil {
			return
		}
		parents = next
	}
}

// reachesAll is how long a request may take to reach all children when there are no faults and the client
// does not pass it on: some passes of a reaper, and the batches that run.
const reachesAll = 4 * deadAfter

// retryParentsAtEnd retries failed parents when there are no faults.
func (w *env) retryParentsAtEnd() {
	n := w.node("operator")
	parents, _ := w.families()
	for _, id := range parents {
		if t, err := w.mem.Task(context.Background(), id); err == nil && (t.Status == lifecycle.Failure || t.Status == lifecycle.Error) && w.pick(2) == 0 {
			n.request(id, store.Request{Action: lifecycle.ActRetry})
		}
	}
}

// lateParent submits a parent when there are no faults. From now on a parent must be woken soon
// after its wait is over. Some are paused and resumed.
func (w *env) lateParent(ctx context.Context) (bad []string) {
	t := w.plan.Afterwards
	if t == nil {
		return nil
	}
	pass(3 * deadAfter) // whoever stands still goes on
	w.know(func(f *facts) { f.promptFrom = w.mem.Now() })
	id := w.names(t, 0)
	if _, err := w.node("client").submit(ctx, t, id); err != nil {
		return []string{fmt.Sprintf("cannot submit a parent: %v", err)}
	}
	w.know(func(f *facts) { f.submits = append(f.submits, submit{t, id, "ok"}) })
	if !w.plan.PauseAfterwards {
		return nil
	}
	pass(w.between(0, 2*time.Second))
	bad = append(bad, w.requestLate(ctx, id, lifecycle.ActPause, func(c *store.Task) bool { return c.Control == lifecycle.None })...)
	return append(bad, w.requestLate(ctx, id, lifecycle.ActResume, func(c *store.Task) bool {
		if c.Control != lifecycle.Pause || c.ControlReason != lifecycle.ReasonParent {
			return false
		}
		// A parent that has paused again because of a failed child passes nothing on.
		parent, err := w.mem.Task(ctx, id)
		return err != nil || parent.Control != lifecycle.Pause
	})...)
}

// requestLate makes a request of a parent, and reports the open children that it has not reached in
// time.
func (w *env) requestLate(ctx context.Context, id uuid.UUID, a lifecycle.Action, left func(*store.Task) bool) (bad []string) {
	n := w.node("operator")
	n.know(func(f *facts) { f.requested(id, a) })
	t, err := n.db.Request(ctx, id, store.Request{Action: a})
	if err != nil {
		return nil // it has ended
	}
	w.count(fmt.Sprintf("late parent: %s", a))
	if w.plan.PassesOn {
		n.afterRequest(ctx, t)
	}
	pass(reachesAll)
	children, err := w.mem.Children(ctx, id, uuid.Nil, 1000, false)
	if err != nil {
		return []string{err.Error()}
	}
	for _, c := range children {
		child, err := w.mem.Task(ctx, c.ID)
		if err == nil && child.Status.Live() {
			w.count(fmt.Sprintf("late parent: open child after %s", a))
			if left(&child) {
				bad = append(bad, fmt.Sprintf("the %s of parent %s has not reached child %s in %v: it is %s with request %q (%s)",
					a, id, c.ID, reachesAll, child.Status, child.Control, child.ControlReason))
			}
		}
	}
	return bad
}
