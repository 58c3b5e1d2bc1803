package lifecycle

import "time"

// ReleaseByLeaving returns the row of a task in flight after its process left.
// The claim does not count as an attempt.
func (r Row) ReleaseByLeaving(now time.Time) Row {
	r.Stalled = r.Stalled && UndoesClaim(r.Attempts, Unspent(r.Attempts))
	r.Status, r.Process, r.NotBefore, r.WaitingReason = Queued, "", now, ReasonWorkerLeft
	r.Attempts = Unspent(r.Attempts)
	return r
}

// ReleaseAsLost returns the row of a task in flight after its process was
// declared dead. The claim counts as an attempt, since the task may have killed
// its worker, unless it is certain that nothing was executed.
func (r Row) ReleaseAsLost(now time.Time) Row {
	if r.Status == Scheduling && StartIsCommitted(r.Attempts) {
		r.Attempts = Unspent(r.Attempts)
	}
	r.Status, r.Process, r.NotBefore, r.WaitingReason, r.Stalled = Queued, "", now, ReasonWorkerLost, true
	return r
}

// Unspent returns the attempts of a claimed task whose claim is not to count.
func Unspent(attempts int) int { return max(attempts-1, 0) }

// UndoesClaim reports whether a release without a checkpoint, which changes the
// attempts as given, undoes the claim. Then a stalled task stays so: if it was suspected
// to be a poison task, it still is. A checkpoint under the claim has reset the attempts,
// and an error leaves them as they are, because the worker survived it.
func UndoesClaim(attempts, after int) bool { return after < attempts }

// AfterLater returns the attempts of a task whose batch returned Later:
// what they were before the claim, or none if the batch counted items (CER-20).
// attempts is what the row has.
func AfterLater(attempts int, progressed bool) int {
	if progressed {
		return 0
	}
	return Unspent(attempts)
}

// StartIsCommitted reports whether a worker commits EXECUTING before it executes
// anything of a task, which has been claimed for the given number of attempts.
// At the first attempt it does not wait for that. From the second on it does, so
// that a task that is lost while SCHEDULING cannot have killed its worker.
func StartIsCommitted(attempts int) bool { return attempts > 1 }
