package lifecycle

import "slices"

// PassOn returns what the request that stands on a parent does to one of its children, and
// the action that is recorded for it. passed says that the child is paused because its
// parent was. The effect is Unchanged if the child is as it should be.
func PassOn(parent Control, child Found, passed bool) (Change, Action) {
	child.Served = true // a child that nobody serves is the reaper's
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
		if !open || child.Control != Pause || !passed {
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
