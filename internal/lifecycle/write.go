package lifecycle

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Write is a change of a task by its holder: a start, a checkpoint, a release,
// an end, or a checkpoint together with one of the last two.
type Write struct {
	// Fence and Seq are from the holder's task lease.
	Fence, Seq int64
	To         Status

	// Checkpoint: Revision, State, Progress and Secrets are written and
	// checkpoint_seq goes up by one. Otherwise they are ignored.
	Checkpoint bool
	Revision   int
	State      json.RawMessage // empty: the state stays
	Progress   Progress
	Secrets    string // added to the row's secrets

	Attempts int           // the new value
	Delay    time.Duration // To Queued: from now, in milliseconds; negative: NotBefore stays
	At       time.Time     // To Queued: if it is not zero, NotBefore; Delay is then ignored
	Reason   string        // To Queued: why the task waits
	Desc     string        // "": the description stays
	// Partial, To Completed: the task ends because of a stop, before it was done, or without parts that were left out.
	Partial bool
}

// Transition is the status before and after a write. They may be equal.
type Transition struct{ From, To Status }

// LeaseWrites returns the transitions that [Row.Accepts] allows to a holder: the
// edges out of the statuses in flight, and the checkpoint of an EXECUTING task, which
// does not change its status.
func LeaseWrites() []Transition {
	all := []Transition{{Executing, Executing}}
	for _, e := range edges {
		if e.From.InFlight() {
			all = append(all, Transition{e.From, e.To})
		}
	}
	return all
}

// Accepts reports whether a write takes effect on the row: the task lease is
// still valid and the transition is legal.
func (r Row) Accepts(w Write) bool {
	if !r.LeasedTo(w.Fence, w.Seq) {
		return false
	}
	if r.Status == Executing && w.To == Executing {
		return true
	}
	_, ok := Find(r.Status, w.To)
	return ok
}

// LeasedTo reports whether a task lease with this fence and checkpoint_seq is
// valid.
func (r Row) LeasedTo(fence, seq int64) bool {
	return r.Fence == fence && r.Seq == seq && r.Status.InFlight()
}

// RemovedBy reports whether a write that is accepted removes the row: it ends a
// task that is to be deleted, however it ends.
func (r Row) RemovedBy(w Write) bool {
	return w.To.Terminal() && r.Control == Delete
}

// Wake returns the row of a task that waits for something else than a time after its wait was
// over. It is due since a time.
func (r Row) Wake(due time.Time, reason string) Row {
	r.NotBefore, r.WaitingReason = due, reason
	return r
}

// Write returns the row after a write that it accepts, and false if the row is
// removed.
func (r Row) Write(w Write, now time.Time) (Row, bool) {
	if r.RemovedBy(w) {
		return r, false
	}
	r.Stalled = r.Stalled && (w.To == Executing || !w.Checkpoint && UndoesClaim(r.Attempts, max(w.Attempts, 0)))
	r.Status, r.Attempts, r.Stopped, r.WaitingReason = w.To, max(w.Attempts, 0), nil, ""
	if w.Desc != "" {
		r.Desc = w.Desc
	}
	if w.To.Terminal() {
		r.Stopped, r.Partial = &now, w.Partial
		r.Control, r.ControlBy, r.ControlReason = None, uuid.Nil, "" // it has ended by itself, or as requested
	}
	if w.To != Queued && w.To != Error || w.Checkpoint { // an end or a checkpoint may be written before the start
		if r.Started == nil {
			r.Started = &now
		}
		if r.FirstStarted == nil {
			r.FirstStarted = &now
		}
	}
	if w.To != Executing {
		r.Process = ""
	}
	if w.Checkpoint {
		r = r.checkpoint(w)
	}
	if w.To == Queued {
		r = r.wait(w, now)
	}
	return r, true
}

// checkpoint returns the row after the checkpoint of a write.
func (r Row) checkpoint(w Write) Row {
	r.Seq++
	r.Revision, r.Progress = w.Revision, w.Progress
	r.Progress.Total = max(w.Progress.Total, -1)
	if len(w.State) > 0 {
		r.State = w.State
	}
	if w.Secrets != "" {
		r.Secrets = strings.TrimPrefix(r.Secrets+"\n"+w.Secrets, "\n")
	}
	return r
}

// wait returns the row after a write that gives the task back. A task that is
// to end goes to the front of the queue whatever delay the write has, unless it
// waits for its children to end first.
func (r Row) wait(w Write, now time.Time) Row {
	switch {
	case !w.At.IsZero():
		r.NotBefore = w.At
	case w.Delay >= 0:
		r.NotBefore = now.Add(w.Delay.Truncate(time.Millisecond))
	}
	if r.Control.Ends() {
		r.Stalled = true
		if w.Reason != ReasonEndingChildren {
			r.NotBefore = now
		}
	}
	r.WaitingReason = w.Reason
	return r
}
