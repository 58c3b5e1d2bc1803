package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/testkit/memstore"
)

// afterLimit is how long after a limit of its times a task is due that fails because of it. If the window opens just after the
// limit, that is after the opening.
const afterLimit = 2 * time.Millisecond

// checkTimes checks what becomes of tasks because of their times: one that waits for its window is due when that opens
// next, or when it is too late for the task before that; and one that fails because of its times fails with the code of one that has passed. That no batch begins at
// another time is checked when it begins, see [call.begins], and that all tasks end, at the end.
func (w *env) checkTimes(ctx context.Context) (bad []string) {
	w.mu.Lock()
	back := w.facts.back
	w.mu.Unlock()
	claimed := make(map[lease]time.Time)
	// Whether a session has written the first start of its task. That cannot be told by the time, which is before that of
	// the session's claim if the clock has jumped back since.
	started := make(map[lease]bool)
	failed := make(map[lease]*memstore.Change)
	log := w.mem.Log()
	for i := range log {
		c := &log[i]
		if c.Before == nil || c.After == nil {
			continue
		}
		t := w.task(c.After.ID)
		if t == nil || !t.Times.given() {
			continue
		}
		of := lease{id: c.After.ID, fence: c.After.Fence}
		if c.After.Fence > c.Before.Fence {
			claimed[of] = c.At
		}
		if c.Before.FirstStarted == nil && c.After.FirstStarted != nil {
			started[of] = true
		}
		if c.After.Status == lifecycle.Failure && c.Before.Status != lifecycle.Failure {
			failed[of] = c
		}
		if win := t.Times.Window; c.After.Status == lifecycle.Queued && c.Before.Status.InFlight() && strings.HasPrefix(c.After.WaitingReason, lifecycle.ReasonWindow) {
			w.count("task waits for its window")
			if win == nil {
				bad = append(bad, fmt.Sprintf("task %s waits as %q, and has no window (commit %d)", c.After.ID, c.After.WaitingReason, c.Commit))
				continue
			}
			// The session has read the clock after its claim. What has jumped back since is not in its time.
			due, first, last := c.After.NotBefore, win.opens(claimed[of].Add(-back)), win.opens(c.At.Add(back))
			opens := !due.Before(first) && !due.After(last) && win.open(due) && !win.open(due.Add(-1))
			if c.After.Control == lifecycle.None && !opens && (due.After(last.Add(afterLimit)) || !t.Times.expires(due, w.beginning, claimed[of], started[of], c, back)) {
				bad = append(bad, fmt.Sprintf("task %s waits for its window %s at %v until %v (commit %d)", c.After.ID, win, c.At, due, c.Commit))
			}
		}
	}
	w.mu.Lock()
	ids := maps.Clone(w.byID)
	w.mu.Unlock()
	for id, t := range ids {
		attempts, err := w.mem.Attempts(ctx, id, 1<<20)
		if err != nil {
			return append(bad, err.Error())
		}
		for _, a := range attempts {
			passed, isExpiry := t.Times.passed(a.Code)
			if !isExpiry {
				continue
			}
			of := lease{id: id, fence: a.Fence}
			c := failed[of]
			if c == nil {
				continue // its end was not written, or is that of another attempt; the oracle knows
			}
			w.count("failed: " + a.Code)
			limit := w.beginning.Add(passed)
			if lifecycle.Expiry(a.Code) == lifecycle.TimeExceeded {
				// A session whose start is the first counts from when it has begun, which is written a little later.
				limit = claimed[of].Add(passed)
				if f := c.Before.FirstStarted; f != nil && !started[of] {
					limit = f.Add(passed)
				}
			}
			if passed == 0 || !c.At.Add(back).After(limit) || lifecycle.Expiry(a.Code) == lifecycle.StartedTooLate && c.Before.Seq > 0 {
				bad = append(bad, fmt.Sprintf("task %s failed with the code %s at %v, checkpoint %d, and the limit was %v (commit %d)", id, a.Code, c.At, c.Before.Seq, limit, c.Commit))
			}
		}
	}
	slices.Sort(bad)
	return bad
}

// expires reports whether a task that waits since a change is too late for one of its times from this time on. Started
// says whether the session that has made the change has written the task's first start.
func (t *Times) expires(at, beginning, claimed time.Time, started bool, c *memstore.Change, back time.Duration) bool {
	within := func(first, last time.Time) bool { return at.After(first) && !at.After(last.Add(afterLimit)) }
	if d := beginning.Add(t.Deadline); t.Deadline > 0 && within(d, d) {
		return true
	}
	if d := beginning.Add(t.LatestStart); t.LatestStart > 0 && c.Before.Seq == 0 && within(d, d) {
		return true
	}
	first, last := claimed.Add(-back), c.At.Add(back)
	if f := c.Before.FirstStarted; f != nil && !started {
		first, last = *f, *f
	}
	return t.TimeLimit > 0 && within(first.Add(t.TimeLimit), last.Add(t.TimeLimit))
}

// passed is the time of a task that has passed if it fails with a code; 0: it has no such time.
func (t *Times) passed(code string) (limit time.Duration, ok bool) {
	switch lifecycle.Expiry(code) {
	case lifecycle.StartedTooLate:
		return t.LatestStart, true
	case lifecycle.DeadlineExceeded:
		return t.Deadline, true
	case lifecycle.TimeExceeded:
		return t.TimeLimit, true
	case lifecycle.NotExpired:
	}
	return 0, false
}
