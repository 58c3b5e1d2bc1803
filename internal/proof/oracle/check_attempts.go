package oracle

import (
	"slices"
	"strings"
)

// The classes of a recorded attempt that decide what follows.
const (
	permanent = "permanent"
	transient = "transient"
)

// spared are the reasons for which a task goes back with no attempt spent.
var spared = []string{"interrupted", "its worker left", "yielded", "paused", "throttled", "its window", "its rate"}

// checkAttempts checks I10: the budget bounds the tries, what is permanent is
// never tried again, what is transient ends nothing early; I12: no claim comes
// before it was due; and I22: to leave costs no attempt.
func (c *checker) checkAttempts(t *Task) {
	most := int64(c.opts.MaxAttempts)
	for _, h := range t.Changes {
		if h.Op != "UPDATE" {
			continue
		}
		if h.Old.Status == queued && h.New.Status == scheduling && h.New.Attempts != h.Old.Attempts+1 {
			c.found("I10", t.ID, "a claim moves attempts from %d to %d (change %d)", h.Old.Attempts, h.New.Attempts, h.ID)
		}
		if h.claim() {
			// The claim that finds the budget spent ends the task in ERROR.
			if most > 0 && h.New.Attempts > most+1 {
				c.found("I10", t.ID, "claimed for attempt %d of %d (change %d)", h.New.Attempts, most, h.ID)
			}
			// A worker without a free slot claims tasks that are to end, due or not.
			toEnd := h.Old.Control == stop || h.Old.Control == deleteAsked
			if early := h.Old.Due - h.At; early > dueTolerance && !toEnd {
				c.found("I12", t.ID, "claimed %v before it was due (change %d)", micros(early), h.ID)
			}
		}
		isSpared := slices.ContainsFunc(spared, func(s string) bool { return strings.HasPrefix(h.New.Reason, s) })
		if h.Old.inFlight() && h.New.Status == queued && isSpared && h.New.Attempts > max(h.Old.Attempts-1, 0) {
			c.found("I22", t.ID, "given back as %q, and an attempt was spent: %d, then %d (change %d)", h.New.Reason, h.Old.Attempts, h.New.Attempts, h.ID)
		}
		if h.New.Status == failure && h.Old.Status != failure {
			c.checkFailure(t, h)
		}
	}
	for _, a := range t.Attempts {
		// The claim that finds the budget spent is recorded too, as the end.
		if most > 0 && (a.Number > most+1 || a.Number > most && a.Class != permanent) {
			c.found("I10", t.ID, "attempt %d of %d was recorded under fence %d", a.Number, most, a.Fence)
		}
		ended := slices.ContainsFunc(t.Changes, func(h *Change) bool {
			return h.Op == "UPDATE" && h.New.terminal() && !h.Old.terminal() && h.New.Fence == a.Fence
		})
		if a.Class == permanent && !ended {
			c.found("I10", t.ID, "a permanent error (%s) under fence %d did not end it", a.Code, a.Fence)
		}
	}
}

// dueTolerance is what the resolution of a clock may make of a time: SQLite
// counts milliseconds.
const dueTolerance = 2000

// checkFailure checks I10 for one end in FAILURE. The attempts of a task that was
// removed are gone with it.
func (c *checker) checkFailure(t *Task, h *Change) {
	if t.Current == nil {
		return // checkGivenUp checks it where more is known
	}
	why := slices.IndexFunc(t.Attempts, func(a Attempt) bool { return a.Fence == h.New.Fence && (a.Class == permanent || a.Class == transient) })
	switch {
	case why < 0:
		c.found("I10", t.ID, "failed under fence %d, and no attempt says why", h.New.Fence)
	case c.opts.MaxAttempts > 0 && !slices.ContainsFunc(t.Attempts, func(a Attempt) bool {
		return a.Fence == h.New.Fence && (a.Class == permanent || a.Number >= int64(c.opts.MaxAttempts))
	}):
		c.found("I10", t.ID, "failed at attempt %d of %d by a transient error (%s)", t.Attempts[why].Number, c.opts.MaxAttempts, t.Attempts[why].Code)
	}
}
