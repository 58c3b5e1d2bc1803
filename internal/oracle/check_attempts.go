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
var spared = []string{"interrupted", "its worker left", "made way", "paused"}

// checkAttempts holds I10: the budget bounds the tries, what is permanent is
// never tried again, what is transient ends nothing early; I12: no claim comes
// before it was due; and I22: to leave costs no attempt.
func (c *checker) checkAttempts(t *task) {
	most := int64(c.opts.MaxAttempts)
	for _, h := range t.changes {
		if h.op != "UPDATE" {
			continue
		}
		if h.claim() {
			// The claim that finds the budget spent ends the task in ERROR.
			if most > 0 && h.new.attempts > most+1 {
				c.found("I10", t.id, "claimed for attempt %d of %d (change %d)", h.new.attempts, most, h.id)
			}
			if early := h.old.due - h.at; early > dueTolerance {
				c.found("I12", t.id, "claimed %v before it was due (change %d)", micros(early), h.id)
			}
		}
		isSpared := slices.ContainsFunc(spared, func(s string) bool { return strings.HasPrefix(h.new.reason, s) })
		if h.old.inFlight() && h.new.status == queued && isSpared && h.new.attempts > max(h.old.attempts-1, 0) {
			c.found("I22", t.id, "given back as %q, and an attempt was spent: %d, then %d (change %d)", h.new.reason, h.old.attempts, h.new.attempts, h.id)
		}
		if h.new.status == failure && h.old.status != failure {
			c.checkFailure(t, h)
		}
	}
	for _, a := range t.attempts {
		// The claim that finds the budget spent is recorded too, as the end.
		if most > 0 && (a.attempt > most+1 || a.attempt > most && a.class != permanent) {
			c.found("I10", t.id, "attempt %d of %d was recorded under fence %d", a.attempt, most, a.fence)
		}
		ended := slices.ContainsFunc(t.changes, func(h *change) bool {
			return h.op == "UPDATE" && h.new.terminal() && !h.old.terminal() && h.new.fence == a.fence
		})
		if a.class == permanent && !ended {
			c.found("I10", t.id, "a permanent error (%s) under fence %d did not end it", a.code, a.fence)
		}
	}
}

// dueTolerance is what the resolution of a clock may make of a time: SQLite
// counts milliseconds.
const dueTolerance = 2000

// checkFailure holds I10 for one end in FAILURE. The attempts of a task that was
// removed are gone with it.
func (c *checker) checkFailure(t *task, h *change) {
	if t.current == nil {
		return
	}
	why := slices.IndexFunc(t.attempts, func(a attempt) bool { return a.fence == h.new.fence && (a.class == permanent || a.class == transient) })
	switch {
	case why < 0:
		c.found("I10", t.id, "failed under fence %d, and no attempt says why", h.new.fence)
	case c.opts.MaxAttempts > 0 && !slices.ContainsFunc(t.attempts, func(a attempt) bool {
		return a.fence == h.new.fence && (a.class == permanent || a.attempt >= int64(c.opts.MaxAttempts))
	}):
		c.found("I10", t.id, "failed at attempt %d of %d by a transient error (%s)", t.attempts[why].attempt, c.opts.MaxAttempts, t.attempts[why].code)
	}
}
