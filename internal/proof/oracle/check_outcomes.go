package oracle

import "slices"

// checkOutcomes checks I6 for the outcomes of items: each item that failed or was
// skipped has one row, committed with the checkpoint that counts it. Executors
// record an item once.
func (c *checker) checkOutcomes(t *Task) {
	r, deleted := t.last()
	if deleted || !c.opts.Ended {
		return
	}
	var replaced map[string]int64
	if t.Facts != nil {
		replaced = t.Facts.replaced(r)
	}
	for _, o := range []struct {
		outcome string
		counted int64
	}{{"failed", r.Failed}, {"skipped", r.Skipped}} {
		if rows, want := t.Outcomes[o.outcome], o.counted-replaced[o.outcome]; rows != want {
			c.found("I6", t.ID, "counts %d items that were %s, and has %d rows of them", want, o.outcome, rows)
		}
	}
	if rows := t.Outcomes["deferred"]; rows != 0 && r.Status == completed && r.Partial == 0 {
		c.found("I1", t.ID, "completed with %d items still deferred", rows)
	}
	if t.Facts == nil {
		return
	}
	want := t.Facts.recorded(r)
	for _, outcome := range []string{"failed", "skipped", "deferred"} {
		got := slices.Sorted(slices.Values(t.Facts.Recorded[outcome]))
		slices.Sort(want[outcome])
		if !slices.Equal(got, want[outcome]) {
			c.found("I6", t.ID, "its cursor is at %d, and the rows of %s items are those of %v, not %v", r.Cursor, outcome, got, want[outcome])
		}
	}
}

// recorded are the items that must have a row of each outcome when the task is at r.
func (f *Facts) recorded(r *Row) map[string][]int64 {
	of := make(map[string][]int64)
	for at, p := range f.Plan {
		reached := r.Round > 0 || int64(at) < r.Cursor
		final := p.Pass < r.Round || p.Pass == r.Round && (p.Pass == 0 || int64(at) < r.Position)
		switch {
		case !reached, f.later(at, r):
		case final && p.Outcome != "":
			of[p.Outcome] = append(of[p.Outcome], p.Entity)
		case !final:
			of["deferred"] = append(of["deferred"], p.Entity)
		}
	}
	return of
}

// later reports whether the item at a position has succeeded at a later one that the task has
// reached.
func (f *Facts) later(at int, r *Row) bool {
	if !f.KeepsLedger {
		return false
	}
	entity := f.Plan[at].Entity
	for at++; at < int(min(r.Cursor, int64(len(f.Plan)))); at++ {
		if p := f.Plan[at]; p.Entity == entity && p.Outcome == "" {
			return true
		}
	}
	return false
}

// replaced is how many items of each outcome have succeeded later.
func (f *Facts) replaced(r *Row) map[string]int64 {
	n := make(map[string]int64)
	for at, p := range f.Plan {
		if f.later(at, r) {
			n[p.Outcome]++
		}
	}
	return n
}
