package lifecycle

// Dead reports whether a task with this status is a dead letter: it has ended, and not as it was to.
func (s Status) Dead() bool { return s == Error || s == Failure }

// AsListed reports whether a task is still the dead letter that was listed with a fence, so that a
// request on many does not meet one that was retried meanwhile; nil sets no condition.
func AsListed(fence *int64, s Status, now int64) bool {
	return fence == nil || s.Dead() && *fence == now
}
