package lifecycle

import "slices"

// Status is the state of a task (SSP-16 to SSP-21).
type Status string

// The six statuses.
const (
	Queued     Status = "QUEUED"     // eligible for pickup, now or at not_before
	Scheduling Status = "SCHEDULING" // claimed by a worker, not started
	Executing  Status = "EXECUTING"  // claimed by a worker, started
	Completed  Status = "COMPLETED"  // done, or stopped on request; what was done is kept
	Error      Status = "ERROR"      // the runtime could not run it
	Failure    Status = "FAILURE"    // the executor failed
)

// Statuses returns all statuses in the order of a task's life.
func Statuses() []Status {
	return []Status{Queued, Scheduling, Executing, Completed, Error, Failure}
}

// InFlight reports whether a task in status s has a worker.
func (s Status) InFlight() bool { return s == Scheduling || s == Executing }

// Terminal reports whether a task in status s has ended. Only an operator's
// retry leads out of a terminal status.
func (s Status) Terminal() bool { return s == Completed || s == Error || s == Failure }

// Live reports whether a task in status s has not ended.
func (s Status) Live() bool { return s == Queued || s.InFlight() }

// Valid reports whether s is one of the six.
func (s Status) Valid() bool { return slices.Contains(Statuses(), s) }

// Values implements ent's EnumValues.
func (Status) Values() []string {
	var vs []string
	for _, s := range Statuses() {
		vs = append(vs, string(s))
	}
	return vs
}
