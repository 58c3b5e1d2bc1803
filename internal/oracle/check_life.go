package oracle

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// The words of a task's life, written down again: that the engine's own table
// says something else must not change what is checked.
const (
	queued     = "QUEUED"
	scheduling = "SCHEDULING"
	executing  = "EXECUTING"
	completed  = "COMPLETED"
	failure    = "FAILURE"
	errored    = "ERROR"

	stop        = "STOP"
	pause       = "PAUSE"
	deleteAsked = "DELETE"

	gone = "deleted"
)

// legal is the declared graph of a task's life.
var legal = map[string][]string{
	queued:     {scheduling, completed},
	scheduling: {executing, queued, completed, failure, errored},
	executing:  {queued, completed, failure, errored},
	failure:    {queued},
	errored:    {queued},
}

// checkLife holds I3: every change is one that the graph allows, none was
// unseen, and an end is final but for an operator's retry.
func (c *checker) checkLife(t *task) {
	var retries int64
	inserts := 0
	for i, h := range t.changes {
		switch h.op {
		case "INSERT":
			inserts++
			if h.new.status != queued || h.new.fence != 0 || h.new.seq != 0 {
				c.found("I3", t.id, "born %s with fence %d and checkpoint_seq %d", h.new.status, h.new.fence, h.new.seq)
			}
		case "DELETE":
			if t.events["delete"] == 0 {
				c.found("I3", t.id, "removed as %s, and nobody asked for it", h.old.status)
			}
			if h.old.inFlight() && h.old.control != deleteAsked {
				c.found("I3", t.id, "removed while %s held it as %s", h.old.process, h.old.status)
			}
		}
		if i > 0 && h.op != "INSERT" && (t.changes[i-1].op == "DELETE" || t.changes[i-1].new != h.old) {
			c.found("I3", t.id, "change %d does not begin where change %d ended: somebody changed the row unseen", h.id, t.changes[i-1].id)
		}
		if h.op == "UPDATE" {
			c.checkStep(t, h)
			if h.old.terminal() && h.new.status == queued {
				retries++
			}
		}
	}
	if inserts > 1 {
		c.found("I2", t.id, "inserted %d times", inserts)
	}
	if retries > t.events["retry"] {
		c.found("I3", t.id, "left an end %d times, and operators retried it %d times", retries, t.events["retry"])
	}
	r, deleted := t.last()
	switch {
	case deleted && t.current != nil:
		c.found("I3", t.id, "its row was removed and stands there all the same")
	case !deleted && t.current == nil:
		c.found("I2", t.id, "its row is gone, and nobody saw it go")
	case !deleted && *t.current != *r:
		c.found("I3", t.id, "its row is not what the last change left (%s, fence %d, checkpoint_seq %d; now %s, %d, %d): somebody changed it unseen",
			r.status, r.fence, r.seq, t.current.status, t.current.fence, t.current.seq)
	}
}

// checkStep holds I3 for one update.
func (c *checker) checkStep(t *task, h *change) {
	from, to := h.old.status, h.new.status
	if from == to {
		if h.old.terminal() && (h.old.seq != h.new.seq || h.old.fence != h.new.fence || h.old.state != h.new.state ||
			h.old.dealt() != h.new.dealt() || h.old.attempts != h.new.attempts) {
			c.found("I3", t.id, "changed after it had ended as %s (change %d)", from, h.id)
		}
		if h.old.inFlight() && h.old.process != h.new.process {
			c.found("I3", t.id, "goes from %s to %s without a claim (change %d)", h.old.process, h.new.process, h.id)
		}
		return
	}
	switch {
	case !slices.Contains(legal[from], to):
		c.found("I3", t.id, "goes from %s to %s (change %d)", from, to, h.id)
	case from == queued && to == completed && h.new.control != stop:
		c.found("I3", t.id, "completed by nobody, and nobody asked to stop it (change %d)", h.id)
	case from == scheduling && (to == executing || to == completed || to == failure) && h.new.started == 0:
		c.found("I3", t.id, "goes from %s to %s without having started (change %d)", from, to, h.id)
	}
}

// checkNumbers holds I4: fence, checkpoint_seq and counters only go up, one at
// a time where they must, and add up at the end.
func (c *checker) checkNumbers(t *task) {
	for _, h := range t.changes {
		if h.op != "UPDATE" {
			continue
		}
		claimed := h.old.status == queued && h.new.status == scheduling
		switch d := h.new.fence - h.old.fence; {
		case claimed && d != 1:
			c.found("I4", t.id, "a claim moves the fence from %d to %d (change %d)", h.old.fence, h.new.fence, h.id)
		case !claimed && d != 0:
			c.found("I4", t.id, "the fence moves from %d to %d without a claim (change %d)", h.old.fence, h.new.fence, h.id)
		}
		switch d := h.new.seq - h.old.seq; {
		case d != 0 && d != 1:
			c.found("I4", t.id, "checkpoint_seq moves from %d to %d (change %d)", h.old.seq, h.new.seq, h.id)
		case d == 1 && !h.old.inFlight():
			c.found("I4", t.id, "a checkpoint of a task that nobody holds: it is %s (change %d)", h.old.status, h.id)
		}
		if h.new.done < h.old.done || h.new.failed < h.old.failed || h.new.skipped < h.old.skipped || h.new.taken < h.old.taken {
			c.found("I4", t.id, "a counter goes down: done %d to %d, failed %d to %d, skipped %d to %d, taken %d to %d (change %d)",
				h.old.done, h.new.done, h.old.failed, h.new.failed, h.old.skipped, h.new.skipped, h.old.taken, h.new.taken, h.id)
		}
		// A stop and a delete end a task where it is.
		done := h.new.status == completed && h.old.status != completed && h.new.control != stop && h.new.control != deleteAsked
		if done && h.new.total >= 0 && h.new.dealt() != h.new.total {
			c.found("I4", t.id, "completed with %d items done, %d failed and %d skipped of %d", h.new.done, h.new.failed, h.new.skipped, h.new.total)
		}
	}
}

// checkRows holds I6 for what is not in the ledger (a state changes with a
// checkpoint or not at all), I20 (a spec stays what was submitted) and I21
// (every row that was ever written is a legal one).
func (c *checker) checkRows(t *task) {
	for _, h := range t.changes {
		if h.op == "DELETE" {
			continue
		}
		if problem := illegal(&h.new); problem != "" {
			c.found("I21", t.id, "change %d leaves a row that %s", h.id, problem)
		}
		if h.op != "UPDATE" {
			continue
		}
		if h.old.state != h.new.state && !h.checkpoint() {
			c.found("I6", t.id, "the state changes without a checkpoint (change %d)", h.id)
		}
		// A coalesced Submit replaces the spec of a task that nobody has begun.
		if h.old.spec != h.new.spec && (h.old.fence > 0 || h.old.status != queued || h.new.status != queued) {
			c.found("I20", t.id, "the spec changes after the first claim (change %d)", h.id)
		}
	}
	for _, a := range t.attempts {
		if a.code == "" || strings.ContainsRune(a.code+a.detail, 0) || !utf8.ValidString(a.code+a.detail) {
			c.found("I21", t.id, "the error of attempt %d under fence %d was not recorded cleanly: code %q", a.attempt, a.fence, a.code)
		}
	}
}

// illegal says what is wrong with a row by itself.
func illegal(r *row) string {
	_, known := legal[r.status]
	switch {
	case !known && r.status != completed:
		return "has the unknown status " + r.status
	case !slices.Contains([]string{"", stop, pause, deleteAsked}, r.control):
		return "has the unknown request " + r.control
	case r.inFlight() && r.process == "":
		return "is in flight and held by nobody"
	case !r.inFlight() && r.process != "":
		return "is " + r.status + " and held by " + r.process
	case r.terminal() != (r.stopped == 1):
		return "has ended without a date, or has a date without having ended"
	case r.status == executing && r.started == 0:
		return "executes without having started"
	case min(r.fence, r.seq, r.attempts, r.taken, r.done, r.failed, r.skipped) < 0:
		return "counts below zero"
	}
	return ""
}
