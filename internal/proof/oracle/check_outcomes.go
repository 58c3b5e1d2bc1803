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
	for _, o := range []struct {
		outcome string
		counted int64
	}{{"failed", r.Failed}, {"skipped", r.Skipped}} {
		if rows := t.Outcomes[o.outcome]; rows != o.counted {
			c.found("I6", t.ID, "counts %d items that were %s, and has %d rows of them", o.counted, o.outcome, rows)
		}
	}
	if t.Facts == nil {
		return
	}
	for _, outcome := range []string{"failed", "skipped"} {
		var want []int64
		for _, item := range t.Facts.Expected[outcome] {
			if item < r.Cursor {
				want = append(want, item)
			}
		}
		got := slices.Sorted(slices.Values(t.Facts.Recorded[outcome]))
		if !slices.Equal(got, want) {
			c.found("I6", t.ID, "its cursor is at %d, and the rows of %s items are those of %v, not %v", r.Cursor, outcome, got, want)
		}
	}
}
