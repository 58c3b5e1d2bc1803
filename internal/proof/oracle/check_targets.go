package oracle

import (
	"maps"
	"slices"
)

// checkSearch checks I28 of a task that finds its targets when it starts.
func (c *checker) checkSearch(t *Task) {
	f := t.Facts
	if f == nil || f.Search == nil {
		return
	}
	var now Found
	for _, h := range t.Changes {
		if h.Found != nil {
			c.checkFound(t, h, &now)
			now = *h.Found
		}
		if h.Op != "UPDATE" {
			continue
		}
		at := min(max(h.New.Search, 0), int64(len(f.Search))-1)
		switch {
		case now.Complete:
			if h.New.Search != 0 {
				c.found("I28", t.ID, "its targets are complete, and its state is that of the search (change %d)", h.ID)
			}
		case h.New.Cursor > 0 || h.New.Position > 0 || h.New.processed() > 0:
			c.found("I28", t.ID, "%d items are processed, and it has not found all its targets (change %d)", h.New.processed(), h.ID)
		case h.New.Status == completed && h.New.Partial == 0:
			c.found("I28", t.ID, "completed without having found all its targets (change %d)", h.ID)
		case h.checkpoint() && int64(len(now.Set)) != f.Search[at]:
			c.found("I28", t.ID, "its search is at %d, where it has found %d targets, and %d are stored (change %d)", h.New.Search, f.Search[at], len(now.Set), h.ID)
		}
	}
	if _, deleted := t.last(); !deleted && !slices.Equal(f.Targets, now.Set) {
		c.found("I28", t.ID, "its targets are %v, and its last batch that found some left %v", f.Targets, now.Set)
	}
	for _, n := range f.Given {
		if n != f.Items {
			c.found("I28", t.ID, "its executor was given %d targets of %d", n, f.Items)
		}
	}
}

// checkFound checks the targets that a change adds to those that were found before.
func (c *checker) checkFound(t *Task, h *Change, before *Found) {
	found, all := h.Found, make([]int64, len(t.Facts.Plan))
	for at, p := range t.Facts.Plan {
		all[at] = p.Entity
	}
	switch n := len(found.Set); {
	case !h.checkpoint():
		c.found("I28", t.ID, "targets are stored without a checkpoint (change %d)", h.ID)
	case before.Complete:
		c.found("I28", t.ID, "its targets change after they were complete (change %d)", h.ID)
	case n < len(before.Set), n > len(all), !slices.Equal(found.Set, all[:n]):
		c.found("I28", t.ID, "the targets %v are stored, which are not the first of %v (change %d)", found.Set, all, h.ID)
	case found.Complete && n < len(all):
		c.found("I28", t.ID, "its targets are complete, and it has found %d of %d (change %d)", n, len(all), h.ID)
	}
}

// checkLedger checks I29: the ledger of a task has the items that its committed batches
// succeeded with, batch by batch.
func (c *checker) checkLedger(t *Task) {
	f := t.Facts
	if f == nil || !f.KeepsLedger && len(f.Ledger) == 0 {
		return
	}
	want := make(map[int64][]int64)
	for _, h := range t.Changes {
		switch {
		case h.coalesced(), h.Op == "DELETE":
			clear(want)
			continue
		case !f.KeepsLedger || h.Op != "UPDATE" || h.New.Seq == h.Old.Seq:
			continue
		}
		for at := h.Old.Cursor; at < min(h.New.Cursor, int64(len(f.Plan))); at++ {
			if p := f.Plan[at]; p.Outcome == "" {
				want[h.Old.Seq] = append(want[h.Old.Seq], p.Entity)
			}
		}
	}
	for _, seq := range slices.Sorted(maps.Keys(want)) {
		if !slices.Equal(f.Ledger[seq], want[seq]) {
			c.found("I29", t.ID, "%v succeeded in its batch %d, and its ledger has %v", want[seq], seq, f.Ledger[seq])
		}
	}
	for _, seq := range slices.Sorted(maps.Keys(f.Ledger)) {
		if want[seq] == nil {
			c.found("I29", t.ID, "its ledger has %v of batch %d, in which nothing succeeded", f.Ledger[seq], seq)
		}
	}
}
