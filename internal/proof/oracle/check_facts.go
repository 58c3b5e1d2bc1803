package oracle

import (
	"cmp"
	"slices"
)

// checkFacts checks what can be checked only when more is known of a task than
// its rows: see [Facts].
func (c *checker) checkFacts(t *Task) {
	if t.Facts == nil {
		return
	}
	c.checkAccepted(t)
	c.checkCursor(t)
	c.checkGivenUp(t)
	if most := c.opts.MaxAttempts; most > 0 && t.Facts.Attempt > most {
		c.found("I10", t.ID, "executed for attempt %d of at most %d", t.Facts.Attempt, most)
	}
	for _, h := range t.Changes {
		if h.Op == "DELETE" && h.Old.inFlight() && h.By == Other {
			c.found("I8", t.ID, "removed while a worker held it, and not by that worker (change %d)", h.ID)
		}
		if h.Op == "UPDATE" && h.New.Status == completed && h.Old.Status != completed && t.Facts.Unreadable && h.New.Partial == 0 {
			c.found("I3", t.ID, "completed with a spec that cannot be decoded (change %d)", h.ID)
		}
	}
	r, deleted := t.last()
	if !deleted && r.Status == completed && r.Partial == 0 {
		if r.Cursor != t.Facts.Items {
			c.found("I1", t.ID, "completed with its cursor at %d of %d", r.Cursor, t.Facts.Items)
		}
		if r.processed() != t.Facts.Items || r.Total != t.Facts.Items {
			c.found("I4", t.ID, "completed with %d items done, %d failed, %d skipped and a total of %d, and it has %d", r.Done, r.Failed, r.Skipped, r.Total, t.Facts.Items)
		}
	}
}

// checkAccepted checks I5 from the worker's side: a write that it was told was
// made was made under its fence.
func (c *checker) checkAccepted(t *Task) {
	made := make(map[Accepted]int64)
	for _, h := range t.Changes {
		if h.By != Holder {
			continue
		}
		to := gone
		if h.Op != "DELETE" {
			to = h.New.Status
		}
		made[Accepted{h.Old.Fence, h.Old.Seq, to}]++
	}
	for a, n := range t.Facts.Accepted {
		if n > made[a] {
			c.found("I5", t.ID, "fence %d was told that it had moved checkpoint %d to %s, which did not happen", a.Fence, a.Seq, a.To)
		}
	}
}

// checkCursor checks I4 and I6: the cursor never goes back, and each checkpoint
// was committed with a touch of each entity that its cursor passed, and no other.
func (c *checker) checkCursor(t *Task) {
	touched := make(map[int64][]int64) // entities by commit
	for _, b := range t.Touches {
		for e := b.First; e <= b.Last; e++ {
			touched[b.Tx] = append(touched[b.Tx], e)
		}
	}
	for _, h := range t.Changes {
		if h.Op == "UPDATE" && h.New.Cursor < h.Old.Cursor && !h.coalesced() {
			c.found("I4", t.ID, "the cursor goes back from %d to %d (change %d)", h.Old.Cursor, h.New.Cursor, h.ID)
		}
		if h.Op == "INSERT" {
			continue
		}
		got := touched[h.Tx]
		slices.Sort(got)
		from, to := h.Old.Cursor, h.Old.Cursor
		switch {
		case h.Op == "UPDATE" && h.New.Seq != h.Old.Seq:
			to = h.New.Cursor
		case h.Op == "DELETE" && len(got) > 0:
			to = t.Facts.Items // the state is removed with the row
		}
		want := t.Facts.touched(h, from, to)
		if h.Op == "DELETE" {
			want = want[:min(len(want), len(got))]
		}
		if !slices.Equal(got, want) {
			c.found("I6", t.ID, "the cursor moves from %d to %d, and %v were touched, not %v (change %d)", from, to, got, want, h.ID)
		}
	}
}

// touched are the entities, in ascending order, that a change must have touched which moves
// the cursor: in a later pass the items of which it is the last, in the order of positions.
func (f *Facts) touched(h *Change, from, to int64) (entities []int64) {
	pass, first, past := h.Old.Round, from, min(to, int64(len(f.Plan)))
	if pass > 0 {
		first, past = h.Old.Position, h.New.Position
		switch {
		case h.Op == "UPDATE" && h.New.Seq == h.Old.Seq:
			past = first
		case h.Op == "DELETE" || h.New.Round > pass:
			past = int64(len(f.Plan))
		}
	}
	for at := first; at < min(past, int64(len(f.Plan))); at++ {
		if p := f.Plan[at]; p.Touched && p.Pass == pass {
			entities = append(entities, p.Entity)
		}
	}
	slices.Sort(entities)
	return entities
}

// checkGivenUp checks I10 and I11: a task ends in FAILURE after its last attempt
// or a permanent error, and is taken for a poison task only after its last
// attempt.
func (c *checker) checkGivenUp(t *Task) {
	tries := 0 // claims that may have tried the batch after the last checkpoint
	for _, h := range t.Changes {
		if h.Op != "UPDATE" {
			continue
		}
		switch {
		case h.New.Seq != h.Old.Seq:
			tries = 1
		case h.Old.Status == queued && h.New.Status == scheduling:
			tries++
		case h.Old.terminal() && h.New.Status == queued, h.coalesced():
			tries = 0
		}
		if !h.New.terminal() || h.Old.terminal() || c.opts.MaxAttempts == 0 {
			continue
		}
		switch {
		case h.New.Status == failure && tries < c.opts.MaxAttempts && !t.Facts.Permanent:
			c.found("I10", t.ID, "failed after %d claims of checkpoint %d of at most %d, with transient errors only (change %d)", tries, h.Old.Seq, c.opts.MaxAttempts, h.ID)
		case h.New.Status == errored && !t.Facts.Unreadable && tries <= c.opts.MaxAttempts:
			c.found("I11", t.ID, "taken for a poison task after %d claims of checkpoint %d (change %d)", tries, h.Old.Seq, h.ID)
		}
	}
}

// ascend reports whether the entities of a task ascend with their positions.
func (f *Facts) ascend() bool {
	return slices.IsSortedFunc(f.Plan, func(a, b PlannedItem) int { return cmp.Compare(a.Entity, b.Entity) })
}
