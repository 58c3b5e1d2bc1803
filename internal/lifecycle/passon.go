package lifecycle

import (
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Passed reports whether a task is paused because its parent was, given what is requested of
// it and why.
func Passed(c Control, reason string) bool { return c == Pause && reason == ReasonParent }

// TakesPause reports whether a task can be paused for a reason of its own, given what is requested of
// it and why. That reason replaces the pause of its parent, with which the task would go on
// otherwise when its parent does.
func TakesPause(c Control, reason string) bool { return c == None || Passed(c, reason) }

// TakesStop reports whether a task can be stopped for a reason of its own, given what is requested of it.
func TakesStop(c Control) bool { return c == None || c == Pause }

// PassesOn reports whether what is requested of a parent, by whom and why, is for its children
// too. A pause because one of them has failed is not: the others go on.
func PassesOn(c Control, by uuid.UUID, reason string) bool {
	return c != Pause || by != uuid.Nil || !strings.HasSuffix(reason, ReasonChildFailed)
}

// PassOn returns what the request that stands on a parent does to one of its children, and
// the action that is recorded for it. The effect is Unchanged if the child is as it should be.
func PassOn(parent Control, child Found) (Change, Action) {
	child.Served = true // a child that no worker serves is the reaper's
	action, open := ActStop, child.Status.Live()
	switch parent {
	case Stop:
		if !open || child.Control.Ends() {
			return Change{Effect: Unchanged, Control: child.Control}, action
		}
	case Delete:
		action = ActDelete
		if open && child.Control == Delete {
			return Change{Effect: Unchanged, Control: child.Control}, action
		}
	case Pause:
		action = ActPause
		if !open || child.Control != None {
			return Change{Effect: Unchanged, Control: child.Control}, action
		}
	case None:
		action = ActResume
		if !open || child.Control != Pause || !child.Passed {
			return Change{Effect: Unchanged, Control: child.Control}, action
		}
		return child.record(None), action
	}
	c, err := Decide(child, action)
	if err != nil { // no such action is refused in these states
		return Change{Effect: Unchanged, Control: child.Control}, action
	}
	return c, action
}

// OpenStatuses are the statuses of a task that has not ended.
func OpenStatuses() []Status {
	return slices.DeleteFunc(Statuses(), func(s Status) bool { return !s.Live() })
}
