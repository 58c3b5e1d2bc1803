package lifecycle

// Continuable reports whether a task in status s can be continued by another: it has
// ended before it was done.
func (s Status) Continuable(partial bool) bool {
	return s == Error || s == Failure || s == Completed && partial
}
