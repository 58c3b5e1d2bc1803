package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/store"
)

// wait is for what a parent waits after a batch, as it remembers it in its state.
type wait struct {
	OpenAtMost int64           `json:"open_at_most"`
	OnFailure  store.OnFailure `json:"on_failure"`
}

// memo is what a parent remembers beside its state: the same again.
type memo struct {
	At int `json:"at"`
}

// parentBatch submits the next children, and says what is next.
func (c *call) parentBatch(ctx context.Context, s *session.Step, at *state) (next session.Next, err error) {
	c.checkFamily(s, at)
	f := c.task.Family
	room := max(f.Window-int(s.Family.Open), 0)
	n := min(room, c.task.Batch, c.task.Items-at.At)
	s.Total(c.task.Items)
	early := c.chance(0.5)
	if early && c.chance(c.plan.Transient/4) {
		return next, errFlaky
	}
	if n > 0 {
		for i := at.At; i < at.At+n; i++ {
			if err := c.fatal(ctx, i); err != nil {
				return next, err
			}
		}
		if err := s.Tx.Insert(ctx, c.newChildren(at.At, at.At+n)); err != nil {
			return next, err
		}
		c.count("children submitted")
		s.Advance(n)
		at.At += n
	}
	if c.chance(c.plan.Transient / 4) {
		return next, errFlaky
	}
	text, err := json.Marshal(memo{at.At})
	if err != nil {
		return next, err
	}
	s.Remember(text)
	open := int(s.Family.Open) + n
	at.Wait = nil
	switch {
	case at.At == c.task.Items && open == 0:
		return session.Next{Done: true}, nil
	case n > 0 && at.At < c.task.Items && open < f.Window && c.pick(2) == 0:
		c.count("parent submits more")
		return next, nil
	case c.chance(c.plan.Later):
		c.count("parent continues later")
		return session.Next{Wait: c.between(1, 1e9)}, nil
	}
	w := &wait{OnFailure: f.OnFailure}
	switch {
	case f.EachEnd && open > 0:
		w.OpenAtMost = int64(open - 1)
	case at.At < c.task.Items:
		w.OpenAtMost = int64(c.pick(f.Window))
	}
	at.Wait = w
	return session.Next{AwaitChildren: true, OpenAtMost: w.OpenAtMost, OnFailure: w.OnFailure}, nil
}

// checkFamily checks what a batch of a parent is given of its children.
func (c *call) checkFamily(s *session.Step, at *state) {
	f := s.Family
	now, err := c.mem.Task(context.Background(), c.id)
	switch {
	case err != nil, stateOf(now.State).At != at.At:
		return // a commit of it was late: this batch will not be committed
	case !now.Status.InFlight(), now.Fence != c.readFamilyWith(c.id):
		return // another worker has taken the task over, and may have ended it (seed 91505): nor will this one
	}
	if w := at.Wait; w != nil {
		c.count("parent goes on after its wait")
		if f.Open > w.OpenAtMost {
			c.wrong("parent %s waits until at most %d children are open, and is executed with %d", c.id, w.OpenAtMost, f.Open)
		}
		if w.OnFailure == store.FailureFails && f.Failed > 0 {
			c.wrong("parent %s fails when a child fails, and is executed with %d failed children", c.id, f.Failed)
		}
	}
	var m memo
	if f.Memo != nil {
		if err := json.Unmarshal(f.Memo, &m); err != nil {
			c.wrong("parent %s remembers %s: %v", c.id, f.Memo, err)
		}
	}
	if m.At != at.At {
		c.wrong("parent %s remembers that it is at %d, and is at %d", c.id, m.At, at.At)
	}
	if n := int(f.Open + f.Failed); n > at.At {
		c.wrong("parent %s has %d children that are open or have failed, and has submitted %d", c.id, n, at.At)
	}
}

// wrong notes a violation that an executor has seen.
func (w *env) wrong(format string, args ...any) {
	w.know(func(f *facts) { f.wrong = append(f.wrong, fmt.Sprintf(format, args...)) })
}

// newChildren returns the children of a batch. Each try has other ids, as with taskkit.
func (c *call) newChildren(from, to int) []store.NewTask {
	tasks := make([]store.NewTask, 0, to-from)
	for i := from; i < to; i++ {
		t := &c.task.Family.Children[i]
		id := c.newID(t.ID[0])
		c.mu.Lock()
		c.byID[id] = t
		c.facts.parents[id] = c.id
		c.mu.Unlock()
		part := &store.Child{Parent: c.id, Number: int64(i) + 1, Range: t.Range}
		var targets *store.NewTargets
		if t.Search > 0 {
			part.Segment, targets = t.spec(), &store.NewTargets{Field: "items", Finding: true}
		}
		tasks = append(tasks, store.NewTask{
			Submitted: store.Submitted{Kind: t.Kind, Owner: uuid.Max, RunAs: uuid.Max, Queue: c.task.queue(), Parent: c.id},
			ID:        id, Revision: 1, Spec: t.spec(), Priority: 2, Total: -1,
			Options: &store.Options{Child: part, Watched: len(c.task.Policies) > 0}, Ledger: keepsLedger(t.Kind), Targets: targets,
		})
	}
	return tasks
}

// spec is the spec of a task: its number, or what cannot be decoded.
func (t *Task) spec() json.RawMessage {
	spec := strconv.Itoa(int(t.ID[0]))
	if !t.Spec {
		spec = strconv.Quote(spec)
	}
	return json.RawMessage(spec)
}

// newID draws an id.
func (w *env) newID(first byte) (id uuid.UUID) {
	for b := range id {
		id[b] = byte(w.pick(256))
	}
	id[0], id[6], id[8] = first, id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id
}

// ancestors are the tasks of which a task is a child, to any depth. The caller has locked mu.
func (w *env) ancestors(id uuid.UUID) (ids []uuid.UUID) {
	for p, ok := w.facts.parents[id]; ok; p, ok = w.facts.parents[p] {
		ids = append(ids, p)
	}
	return ids
}

// families are the parents of the plan, and their children to any depth, that are there.
func (w *env) families() (parents, children []uuid.UUID) {
	w.mu.Lock()
	for i := range w.plan.Tasks {
		if t := &w.plan.Tasks[i]; t.Family != nil {
			parents = append(parents, w.ids[t])
		}
	}
	w.mu.Unlock()
	for left := slices.Clone(parents); len(left) > 0; left = left[1:] {
		found, err := w.mem.Children(context.Background(), left[0], uuid.Nil, 1000, false)
		if err != nil {
			return parents, children
		}
		for _, c := range found {
			children, left = append(children, c.ID), append(left, c.ID)
		}
	}
	return parents, children
}
