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

// checkLife checks I3: every change is one that the graph allows, none was
// unseen, and an end is final but for an operator's retry.
func (c *checker) checkLife(t *Task) {
	var retries int64
	inserts := 0
	for i, h := range t.Changes {
		switch h.Op {
		case "INSERT":
			inserts++
			if h.New.Status != queued || h.New.Fence != 0 || h.New.Seq != 0 {
				c.found("I3", t.ID, "born %s with fence %d and checkpoint_seq %d", h.New.Status, h.New.Fence, h.New.Seq)
			}
		case "DELETE":
			if t.Events["delete"] == 0 && !t.DeletedAbove {
				c.found("I3", t.ID, "removed as %s, and nobody asked for it", h.Old.Status)
			}
			if h.Old.inFlight() && h.Old.Control != deleteAsked {
				c.found("I3", t.ID, "removed while %s held it as %s", h.Old.Process, h.Old.Status)
			}
		}
		if i > 0 && h.Op != "INSERT" && (t.Changes[i-1].Op == "DELETE" || t.Changes[i-1].New != h.Old) {
			c.found("I3", t.ID, "change %d does not begin where change %d ended: somebody changed the row unseen", h.ID, t.Changes[i-1].ID)
		}
		if h.Op == "UPDATE" {
			c.checkStep(t, h)
			if h.Old.terminal() && h.New.Status == queued {
				retries++
			}
		}
	}
	if inserts > 1 {
		c.found("I2", t.ID, "inserted %d times", inserts)
	}
	if retries > t.Events["retry"] {
		c.found("I3", t.ID, "left an end %d times, and operators retried it %d times", retries, t.Events["retry"])
	}
	r, deleted := t.last()
	switch {
	case deleted && t.Current != nil:
		c.found("I3", t.ID, "its row was removed and stands there all the same")
	case !deleted && t.Current == nil:
		c.found("I2", t.ID, "its row is gone, and nobody saw it go")
	case !deleted && *t.Current != *r:
		c.found("I3", t.ID, "its row is not what the last change left (%s, fence %d, checkpoint_seq %d; now %s, %d, %d): somebody changed it unseen",
			r.Status, r.Fence, r.Seq, t.Current.Status, t.Current.Fence, t.Current.Seq)
	}
}

// checkStep checks I3 for one update.
func (c *checker) checkStep(t *Task, h *Change) {
	from, to := h.Old.Status, h.New.Status
	if from == to {
		if h.Old.terminal() && (h.Old.Seq != h.New.Seq || h.Old.Fence != h.New.Fence || h.Old.State != h.New.State ||
			h.Old.processed() != h.New.processed() || h.Old.Attempts != h.New.Attempts) {
			c.found("I3", t.ID, "changed after it had ended as %s (change %d)", from, h.ID)
		}
		if h.Old.inFlight() && h.Old.Process != h.New.Process {
			c.found("I3", t.ID, "goes from %s to %s without a claim (change %d)", h.Old.Process, h.New.Process, h.ID)
		}
		return
	}
	switch {
	case !slices.Contains(legal[from], to):
		c.found("I3", t.ID, "goes from %s to %s (change %d)", from, to, h.ID)
	case from == queued && to == completed && h.New.Partial == 0:
		c.found("I3", t.ID, "completed by nobody, and nobody asked to stop it (change %d)", h.ID)
	case from == scheduling && (to == executing || to == completed || to == failure) && h.New.Started == 0:
		c.found("I3", t.ID, "goes from %s to %s without having started (change %d)", from, to, h.ID)
	}
}

// checkNumbers checks I4: fence, checkpoint_seq and counters only go up, one at
// a time where they must, and add up at the end.
func (c *checker) checkNumbers(t *Task) {
	for _, h := range t.Changes {
		if h.Op != "UPDATE" {
			continue
		}
		claimed := h.Old.Status == queued && h.New.Status == scheduling
		switch d := h.New.Fence - h.Old.Fence; {
		case claimed && d != 1:
			c.found("I4", t.ID, "a claim moves the fence from %d to %d (change %d)", h.Old.Fence, h.New.Fence, h.ID)
		case !claimed && d != 0:
			c.found("I4", t.ID, "the fence moves from %d to %d without a claim (change %d)", h.Old.Fence, h.New.Fence, h.ID)
		}
		switch d := h.New.Seq - h.Old.Seq; {
		case d != 0 && d != 1:
			c.found("I4", t.ID, "checkpoint_seq moves from %d to %d (change %d)", h.Old.Seq, h.New.Seq, h.ID)
		case d == 1 && !h.Old.inFlight():
			c.found("I4", t.ID, "a checkpoint of a task that nobody holds: it is %s (change %d)", h.Old.Status, h.ID)
		}
		less := h.New.Done < h.Old.Done || h.New.Failed < h.Old.Failed || h.New.Skipped < h.Old.Skipped ||
			h.New.Round < h.Old.Round || h.New.Round == h.Old.Round && h.New.Position < h.Old.Position
		if less && !h.coalesced() {
			c.found("I4", t.ID, "a counter goes down: done %d to %d, failed %d to %d, skipped %d to %d, round %d to %d, position %d to %d (change %d)",
				h.Old.Done, h.New.Done, h.Old.Failed, h.New.Failed, h.Old.Skipped, h.New.Skipped, h.Old.Round, h.New.Round, h.Old.Position, h.New.Position, h.ID)
		}
		// A stop ends a task where it is, and a delete removes it.
		done := h.New.Status == completed && h.Old.Status != completed && h.New.Partial == 0
		if done && h.New.Total >= 0 && h.New.processed() != h.New.Total {
			c.found("I4", t.ID, "completed with %d items done, %d failed and %d skipped of %d", h.New.Done, h.New.Failed, h.New.Skipped, h.New.Total)
		}
	}
}

// checkRows checks I6 for what is not in the ledger (a state changes with a
// checkpoint or not at all), I20 (a spec stays what was submitted) and I21
// (every row that was ever written is a legal one).
func (c *checker) checkRows(t *Task) {
	for _, h := range t.Changes {
		if h.Op == "DELETE" {
			continue
		}
		if problem := illegal(&h.New); problem != "" {
			c.found("I21", t.ID, "change %d leaves a row that %s", h.ID, problem)
		}
		if h.Op != "UPDATE" {
			continue
		}
		if h.Old.State != h.New.State && !h.checkpoint() && !h.coalesced() {
			c.found("I6", t.ID, "the state changes without a checkpoint (change %d)", h.ID)
		}
		if h.Old.Spec != h.New.Spec && !h.coalesced() {
			c.found("I20", t.ID, "the spec of a task that does not wait changes (change %d)", h.ID)
		}
	}
	for _, a := range t.Attempts {
		if a.Code == "" || strings.ContainsRune(a.Code+a.Detail, 0) || !utf8.ValidString(a.Code+a.Detail) {
			c.found("I21", t.ID, "the error of attempt %d under fence %d was not recorded cleanly: code %q", a.Number, a.Fence, a.Code)
		}
	}
}

// illegal says what is wrong with a row by itself.
func illegal(r *Row) string {
	_, known := legal[r.Status]
	switch {
	case !known && r.Status != completed:
		return "has the unknown status " + r.Status
	case !slices.Contains([]string{"", stop, pause, deleteAsked}, r.Control):
		return "has the unknown request " + r.Control
	case r.terminal() && r.Control != "":
		return "has ended with a " + r.Control + " standing"
	case r.Partial != 0 && r.Status != completed:
		return "is partial and " + r.Status
	case r.inFlight() && r.Process == "":
		return "is in flight and held by nobody"
	case !r.inFlight() && r.Process != "":
		return "is " + r.Status + " and held by " + r.Process
	case r.terminal() != (r.Stopped == 1):
		return "has ended without a date, or has a date without having ended"
	case r.Status == executing && r.Started == 0:
		return "executes without having started"
	case min(r.Fence, r.Seq, r.Attempts, r.Position, r.Round, r.Done, r.Failed, r.Skipped) < 0:
		return "counts below zero"
	}
	return ""
}
