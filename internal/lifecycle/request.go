package lifecycle

import (
	"cmp"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Action is what a request does to a task.
type Action string

// The actions.
const (
	ActStop   Action = "stop"
	ActPause  Action = "pause"
	ActResume Action = "resume"
	ActRetry  Action = "retry"
	ActDelete Action = "delete"
	// ActApprove lets a task go on that awaits approval.
	ActApprove Action = "approve"
	// ActChange changes settings of a task: its stop policy, priority, rate, or how many of its buckets are open.
	ActChange Action = "change"
	// ActNotify records that a policy has fired. It cannot be requested.
	ActNotify Action = "notify"
	// ActLost records that the worker of the task was lost. It cannot be requested.
	ActLost Action = "lost"
)

// Actions returns all actions.
func Actions() []Action {
	return []Action{ActStop, ActPause, ActResume, ActRetry, ActDelete, ActApprove, ActChange}
}

// RefusedError is an action that the status of a task, the request that stands on
// it, or its conditions do not allow.
type RefusedError struct {
	Action  Action
	Status  Status
	Control Control
	// Why names the condition that does not allow it, and what to do; "" if the status
	// or the request does not.
	Why string
	// Condition is the condition that is not met; "" if Why is.
	Condition Condition
}

// Condition is what besides its status keeps a paused task from going on.
type Condition string

// The conditions.
const (
	NeedsApproval     Condition = "needs approval"      // it waits for an approval, not a resume
	NeedsNoApproval   Condition = "needs no approval"   // it waits for a resume, not an approval
	NeedsSecondPerson Condition = "needs second person" // its owner, its submitter and its run-as person may not approve it
	LimitReached      Condition = "limit reached"       // of failed items
)

// Error implements error.
func (r *RefusedError) Error() string {
	if r.Why != "" {
		return fmt.Sprintf("cannot %s the task: %s", r.Action, r.Why)
	}
	return fmt.Sprintf("cannot %s a task that is %s", r.Action, r.Status)
}

// Found is a task as a request finds it.
type Found struct {
	Status  Status
	Control Control
	Passed  bool // it is paused because its parent was, see [Passed]
	Fence   int64
	// WorkerAlive: the process that has the task is alive. It matters for tasks in
	// flight only.
	WorkerAlive bool
	// Served: a live worker process serves the task's queue, kind and revision.
	// It matters for waiting tasks only.
	Served bool
	// HasOpenChildren: the task must not end before these.
	HasOpenChildren bool
	// MustFail: when it is stopped it must end in FAILURE, since a policy of a task above has said so. Only a worker ends it like that.
	MustFail bool
	// Conditions are the conditions of the task, with the stop policy that the request sets, and
	// Progress is how far the task is.
	Conditions Conditions
	Progress   Progress
	// Own: whoever makes the request is the owner of the task, who submitted it, or the person
	// as whom it runs.
	Own bool
}

// Abandoned reports whether the task is in flight and its worker is gone. It is
// released before a request is decided, since no worker would see the request.
func (f Found) Abandoned() bool { return f.Status.InFlight() && !f.WorkerAlive }

// unattended reports whether no worker needs to see a request: the task waits,
// and either it has never been claimed, so that there is nothing to clean up,
// or no live process would claim it. A task with open children must be seen, since it ends
// after them.
func (f Found) unattended() bool {
	return f.Status == Queued && (f.Fence == 0 && !f.MustFail || !f.Served) && !f.HasOpenChildren
}

// Effect is what a request does to a task's row.
type Effect int

// The effects.
const (
	Unchanged Effect = iota // nothing
	Recorded                // the request is recorded for the worker, or withdrawn
	Expedited               // recorded, and the waiting task is due at once and goes before new ones
	Ended                   // the task is COMPLETED at once, and partial
	Requeued                // the task waits again, as if it had never been tried
	Removed                 // the row is removed at once
)

// Effects returns all effects.
func Effects() []Effect { return []Effect{Unchanged, Recorded, Expedited, Ended, Requeued, Removed} }

// Change is what becomes of a task by a request.
type Change struct {
	Effect  Effect
	Control Control // the request that stands afterwards
	Desc    string  // of a task that is Ended
	Reason  string  // of the request that stands; "": the reason of its author
}

// Texts that the rules write into a row.
const (
	ReasonRetried    = "retried"
	ReasonWorkerLeft = "its worker left"
	ReasonWorkerLost = "its worker was lost"
	// ReasonRetry begins the reason of a task whose last attempt failed, and ReasonWindow of one whose window is closed.
	ReasonRetry  = "retry: "
	ReasonWindow = "its window "
	// ReasonThrottled begins the reason of a task whose batches wait because an indicator is not well.
	ReasonThrottled = "throttled: "
	// ReasonRate begins the reason of a task that waits because of its rate. ReasonRateChanged is the reason of one whose rate
	// was raised meanwhile.
	ReasonRate        = "its rate is "
	ReasonRateChanged = "its rate was changed"
	// ReasonChildren and ReasonEndingChildren are the reasons of a parent that waits: for its
	// children, and for them to end before it ends itself.
	ReasonChildren       = "waits for its children"
	ReasonEndingChildren = "waits for its children to end"
	// ReasonChildrenEnded is the reason of a parent whose wait is over.
	ReasonChildrenEnded = "its children have ended"
	// ReasonNoPermit begins the reason of a task that waits for a permit of a limit.
	ReasonNoPermit = "waits for a permit of the limit "
	// ReasonPermitFree is the reason of a task that is woken because a permit may be free.
	ReasonPermitFree = "a permit of its limit may be free"
	// ReasonApproval begins the reason of a pause until an approval, and ReasonStopPolicy is within the reason of one by a stop policy.
	ReasonApproval   = "it waits for approval "
	ReasonStopPolicy = "processed items have failed, and the limit is "
	// ReasonStrategy begins the reason of a pause or a stop by the strategy of the task.
	ReasonStrategy = "strategy: "
	// ReasonPolicy begins the reason of a request by a policy of the task.
	ReasonPolicy = "policy: "
	// ReasonChildFailed ends the reason of a pause that a failed child has caused. It is not
	// passed on to the other children.
	ReasonChildFailed = "of its children have failed: retry them, and resume it"
	// ReasonParent is why a child is paused, stopped or deleted by the request on its parent.
	ReasonParent = "requested of its parent"

	// CodeLeftOut begins the description of a task that is done but for parts that were left out.
	CodeLeftOut = "left_out"

	descStopped    = "stopped while no worker had it"
	descUnattended = "stopped while no live worker could run it"
)

// Decide returns what an action does to a task, or the *RefusedError that says that
// it is not allowed.
func Decide(f Found, a Action) (Change, error) {
	var (
		unchanged = Change{Effect: Unchanged, Control: f.Control}
		refused   = &RefusedError{Action: a, Status: f.Status, Control: f.Control}
	)
	switch a {
	case ActStop:
		switch {
		case f.Status.Terminal(), f.Control == Delete: // a delete ends it too
			return unchanged, nil
		case f.unattended():
			return Change{Effect: Ended, Control: None, Desc: descStopped}, nil
		}
		return f.record(Stop), nil
	case ActPause:
		if f.Status.Terminal() || f.Control.Ends() {
			return unchanged, refused
		}
		return f.record(Pause), nil
	case ActResume:
		if f.Status.Terminal() || f.Control != Pause {
			return unchanged, refused
		}
		if c, why := f.withheld(); why != "" {
			refused.Condition, refused.Why = c, why
			return unchanged, refused
		}
		return f.record(None), nil
	case ActApprove:
		if f.Status.Terminal() || f.Control != Pause {
			return unchanged, refused
		}
		if c, why := f.unapprovable(); why != "" {
			refused.Condition, refused.Why = c, why
			return unchanged, refused
		}
		return f.record(None), nil
	case ActChange:
		if f.Status.Terminal() || f.Control.Ends() {
			return unchanged, refused
		}
		if (f.Control == None || f.Passed) && f.Conditions.StopAfter.Reached(f.Progress) {
			return Change{Effect: Recorded, Control: Pause, Reason: f.Conditions.StopReason(f.Progress)}, nil
		}
		return unchanged, nil
	case ActRetry:
		if f.Status != Error && f.Status != Failure || f.Control == Delete {
			return unchanged, refused
		}
		return Change{Effect: Requeued, Control: None}, nil
	case ActDelete:
		if f.Status.Terminal() || f.unattended() {
			return Change{Effect: Removed, Control: Delete}, nil
		}
		return f.record(Delete), nil
	default:
		return unchanged, fmt.Errorf("unknown action %q", a)
	}
}

// withheld says why a paused task must not be resumed; "" if it may.
func (f Found) withheld() (Condition, string) {
	switch c := f.Conditions; {
	case c.AwaitsApproval(f.Progress):
		return NeedsApproval, c.awaited() + ": approve it"
	case c.StopAfter.Reached(f.Progress):
		return LimitReached, c.StopReason(f.Progress) + ": set a higher limit with the same request, or stop it"
	}
	return "", ""
}

// unapprovable says why a paused task cannot be approved; "" if it can.
func (f Found) unapprovable() (Condition, string) {
	switch c := f.Conditions; {
	case !c.AwaitsApproval(f.Progress):
		return NeedsNoApproval, "it does not wait for approval: resume it"
	case c.Approval && f.Own:
		return NeedsSecondPerson, "its approval must come from somebody other than its owner, who submitted it, and the person as whom it runs"
	case c.StopAfter.Reached(f.Progress):
		return LimitReached, c.StopReason(f.Progress) + ": set a higher limit with the same request, or stop it"
	}
	return "", ""
}

// record makes c the request that stands on a task that is not ended. A worker
// comes at once for a waiting task that is to end.
func (f Found) record(c Control) Change {
	switch {
	case f.Control == c:
		return Change{Effect: Unchanged, Control: c}
	case f.Status == Queued && c.Ends():
		return Change{Effect: Expedited, Control: c}
	}
	return Change{Effect: Recorded, Control: c}
}

// DecideUnattended returns what the reaper does about a request that no worker will act
// on: it removes a task that is to be deleted, and completes one that is to
// stop.
func DecideUnattended(f Found) Change {
	switch {
	case f.Control == Delete && (f.Status.Terminal() || f.unattended()):
		return Change{Effect: Removed, Control: Delete}
	case f.Control == Stop && f.unattended():
		return Change{Effect: Ended, Control: None, Desc: descUnattended}
	}
	return Change{Effect: Unchanged, Control: f.Control}
}

// Request returns the row after a change by a request, made by actor for a
// reason, and false if the row is removed.
func (r Row) Request(c Change, actor uuid.UUID, reason string, now time.Time) (Row, bool) {
	switch c.Effect {
	case Removed:
		return r, false
	case Unchanged:
		return r, true
	case Recorded:
	case Expedited:
		r.NotBefore, r.Stalled = now, true
	case Ended:
		r.Status, r.Partial, r.Stopped, r.Desc, r.WaitingReason = Completed, true, &now, c.Desc, ""
	case Requeued:
		r.Status, r.Attempts, r.Stopped = Queued, 0, nil
		r.Stalled, r.NotBefore, r.WaitingReason = false, now, ReasonRetried
	}
	r.Control, r.ControlBy, r.ControlReason = c.Control, uuid.Nil, ""
	if c.Control != None {
		r.ControlBy, r.ControlReason = actor, cmp.Or(c.Reason, reason)
	}
	return r, true
}
