package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// lease is a task lease, as a change of the log has it.
type lease struct {
	id         uuid.UUID
	fence, seq int64
}

// waiting is a wait of a parent.
type waiting struct {
	store.Wait
	lease

	over   bool
	since  time.Time // since when it is over
	prompt bool      // there were no faults then, and a worker has ended it
}

// parentChecker follows the log, commit by commit.
type parentChecker struct {
	w        *env
	bad      []string
	now      map[uuid.UUID]*memstore.Task
	children map[uuid.UUID][]uuid.UUID // that are there
	waits    map[uuid.UUID]*waiting
	woken    map[lease]bool
	due      map[uuid.UUID]bool // tasks with a policy whose condition has held: true if it must have fired
	bound    time.Duration      // within which a parent must be woken
}

// checkParents checks what the oracle does not know of parents and their children.
func (w *env) checkParents() []string {
	log := w.mem.Log()
	w.mu.Lock()
	defer w.mu.Unlock()
	c := parentChecker{
		w: w, bad: slices.Clone(w.facts.wrong), now: make(map[uuid.UUID]*memstore.Task),
		children: make(map[uuid.UUID][]uuid.UUID), waits: make(map[uuid.UUID]*waiting), woken: make(map[lease]bool), due: make(map[uuid.UUID]bool),
		// The answer to the end, a check that is under way, and another one.
		bound: 4*w.plan.Latency + 50*time.Millisecond,
	}
	for i := 0; i < len(log); {
		end := i + 1
		for end < len(log) && log[end].Commit == log[i].Commit {
			end++
		}
		c.commit(log[i:end])
		i = end
	}
	c.fired()
	for id, t := range c.waits {
		if t.over {
			c.found(id, "waits although its wait is over, at the end of the run")
		}
	}
	slices.Sort(c.bad)
	return c.bad
}

func (c *parentChecker) found(id uuid.UUID, format string, args ...any) {
	c.bad = append(c.bad, fmt.Sprintf("parent or child %s: ", id)+fmt.Sprintf(format, args...))
}

// commit follows one commit, and checks the tasks that it concerns.
func (c *parentChecker) commit(changes []memstore.Change) {
	var parents []uuid.UUID
	concerns := func(id uuid.UUID) {
		if id != uuid.Nil && !slices.Contains(parents, id) {
			parents = append(parents, id)
		}
	}
	submitted := make(map[uuid.UUID][]int64)
	for i := range changes {
		h := &changes[i]
		row := h.After
		if row == nil {
			row = h.Before
		}
		concerns(row.ID)
		concerns(row.Parent)
		c.step(h)
		switch {
		case h.After == nil:
			delete(c.now, row.ID)
			c.children[row.Parent] = slices.DeleteFunc(c.children[row.Parent], func(id uuid.UUID) bool { return id == row.ID })
			continue
		case h.Before == nil && row.Parent != uuid.Nil:
			c.children[row.Parent] = append(c.children[row.Parent], row.ID)
			submitted[row.Parent] = append(submitted[row.Parent], h.Options.Child.Number)
		}
		c.now[row.ID] = h.After
		if h.Wait != nil {
			c.waits[row.ID] = &waiting{Wait: *h.Wait, lease: lease{row.ID, row.Fence, row.Seq}}
		}
	}
	c.batches(changes, submitted)
	for _, id := range parents {
		c.check(id, &changes[0])
		c.policies(id, changes)
	}
}

// step checks a change by itself, before it is made.
func (c *parentChecker) step(h *memstore.Change) {
	if h.Before != nil && h.After != nil && h.After.Kind == kindParent && h.Before.Status.Live() && h.After.Status.Terminal() {
		c.w.seen[fmt.Sprintf("parent ends in %s", h.After.Status)]++
	}
	switch h.By {
	case "WakeParents":
		l := lease{h.Before.ID, h.Before.Fence, h.Before.Seq}
		if c.woken[l] {
			c.found(l.id, "woken twice under fence %d at checkpoint %d", l.fence, l.seq)
		}
		c.woken[l] = true
		due := !h.Before.NotBefore.Equal(store.Forever) // by a request that stands
		if w := c.waits[l.id]; !due && (w == nil || w.lease != l || !w.over) {
			c.found(l.id, "woken under fence %d at checkpoint %d, and its wait is not over", l.fence, l.seq)
		}
	case "RetryChildren":
		c.w.seen["failed child retried with its parent"]++
		if p := c.now[h.Before.Parent]; p == nil || !p.Status.InFlight() {
			c.found(h.Before.ID, "retried with its parent, which nobody holds")
		}
		if !failed(h.Before.Status) {
			c.found(h.Before.ID, "retried with its parent as %s", h.Before.Status)
		}
	case "PassOn":
		c.w.seen["request passed on"]++
		if h.After != nil && h.After.Status.Live() && h.Before.Control == lifecycle.Pause && h.After.Control == lifecycle.None {
			c.w.seen["resume passed on"]++
			if h.Before.ControlReason != lifecycle.ReasonParent {
				c.found(h.Before.ID, "paused by itself (%s), and resumed with its parent", h.Before.ControlReason)
			}
		}
	}
}

func failed(s lifecycle.Status) bool { return s == lifecycle.Failure || s == lifecycle.Error }

// batches checks that the children which a commit stores are those that a batch of their parent has
// submitted, each once.
func (c *parentChecker) batches(changes []memstore.Change, submitted map[uuid.UUID][]int64) {
	for i := range changes {
		h := &changes[i]
		if h.Before == nil || h.After == nil || h.Before.Kind != kindParent || h.After.Seq == h.Before.Seq {
			continue
		}
		var want []int64
		for n := stateOf(h.Before.State).At; n < stateOf(h.After.State).At; n++ {
			want = append(want, int64(n)+1)
		}
		if got := submitted[h.After.ID]; !slices.Equal(got, want) {
			c.found(h.After.ID, "the batch at checkpoint %d has submitted the children %v, and %v are stored", h.Before.Seq, want, got)
		}
		delete(submitted, h.After.ID)
	}
	for id, numbers := range submitted {
		c.found(id, "the children %v are stored without a batch of it", numbers)
	}
}

// check checks a task and its children after a commit.
func (c *parentChecker) check(id uuid.UUID, h *memstore.Change) {
	t := c.now[id]
	if t == nil {
		if n := len(c.children[id]); n > 0 {
			c.found(id, "removed, and %d children are left (commit %d)", n, h.Commit)
		}
		delete(c.waits, id)
		return
	}
	var open, bad int64
	for _, child := range c.children[id] {
		switch s := c.now[child].Status; {
		case s.Live():
			open++
		case failed(s):
			bad++
		}
	}
	if open > 0 && t.Status.Terminal() {
		c.found(id, "it is %s, and %d of its children are open (commit %d by %s)", t.Status, open, h.Commit, h.By)
	}
	w := c.waits[id]
	if w == nil {
		return
	}
	asleep := t.Status == lifecycle.Queued && t.Fence == w.fence && t.Seq == w.seq && t.NotBefore.Equal(store.Forever)
	over := asleep && (open <= w.OpenAtMost || w.OnFailure == store.FailurePauses && bad > w.Seen)
	switch from := c.w.facts.promptFrom; {
	case over && !w.over:
		w.since = h.At
		w.prompt = !from.IsZero() && h.At.After(from) && (h.By == "Apply" || h.By == "Commit")
		if h.Wait != nil {
			c.w.seen["wait over when it is committed"]++
		}
	case w.over && !over && w.prompt:
		c.w.seen["parent woken without faults"]++
		if late := h.At.Sub(w.since); late > c.bound {
			c.found(id, "woken %v after its wait was over, with no faults, and at most %v is allowed (commit %d by %s)", late, c.bound, h.Commit, h.By)
		}
	}
	w.over = over
	if !asleep {
		delete(c.waits, id)
	}
}
