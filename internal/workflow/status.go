package workflow

import "slices"

// Status is where a task stands. The words are those of the first design
// (SSP-16 to SSP-21).
type Status string

// The six statuses.
const (
	Queued     Status = "QUEUED"     // eligible for pickup, now or at not_before
	Scheduling Status = "SCHEDULING" // held by a worker, not begun
	Executing  Status = "EXECUTING"  // held by a worker, begun
	Completed  Status = "COMPLETED"  // done, or stopped on request with what was done kept
	Error      Status = "ERROR"      // the mechanism could not run it
	Failure    Status = "FAILURE"    // the task's own problem
)

// Statuses returns all statuses in the order of a task's life.
func Statuses() []Status {
	return []Status{Queued, Scheduling, Executing, Completed, Error, Failure}
}

// InFlight reports whether a task in status s is held by a worker.
func (s Status) InFlight() bool { return s == Scheduling || s == Executing }

// Terminal reports whether a task in status s has ended. Only an operator's
// retry leads out of a terminal status.
func (s Status) Terminal() bool { return s == Completed || s == Error || s == Failure }

// Live reports whether a task in status s has not ended.
func (s Status) Live() bool { return s == Queued || s.InFlight() }

// Valid reports whether s is one of the six.
func (s Status) Valid() bool { return slices.Contains(Statuses(), s) }

// Edge is one legal transition and the condition that a row must meet after it.
type Edge struct {
	From, To Status
	// Started: legal only when the row has an execution_started_date afterwards.
	Started bool
	// Requested: legal only when a stop was asked for (control = STOP).
	Requested bool
	// Claimed: legal only when the fence goes up by exactly one.
	Claimed bool
	// Why names the event, for diagrams and messages.
	Why string
}

// edges is the table of legal transitions, and the only one.
var edges = []Edge{
	{From: Queued, To: Scheduling, Claimed: true, Why: "claim"},
	{From: Queued, To: Completed, Requested: true, Why: "stop of a task that nobody holds"},
	{From: Scheduling, To: Executing, Started: true, Why: "start"},
	{From: Scheduling, To: Queued, Why: "release, reclaim"},
	{From: Scheduling, To: Completed, Started: true, Why: "done before the start was written"},
	{From: Scheduling, To: Failure, Started: true, Why: "failed before the start was written"},
	{From: Scheduling, To: Error, Why: "cannot be run"},
	{From: Executing, To: Queued, Why: "retry, later, interrupt, yield, pause, reclaim"},
	{From: Executing, To: Completed, Why: "done, or stopped"},
	{From: Executing, To: Failure, Why: "permanent error, attempts used up"},
	{From: Executing, To: Error, Why: "killed its worker too often"},
	{From: Error, To: Queued, Why: "operator's retry"},
	{From: Failure, To: Queued, Why: "operator's retry"},
}

// Edges returns a copy of the table of legal transitions.
func Edges() []Edge { return slices.Clone(edges) }

// Find returns the edge between two statuses, if there is one.
func Find(from, to Status) (Edge, bool) {
	for _, e := range edges {
		if e.From == from && e.To == to {
			return e, true
		}
	}
	return Edge{}, false
}

// Sources returns the statuses from which there is an edge to a status.
func Sources(to Status) []Status {
	var from []Status
	for _, e := range edges {
		if e.To == to {
			from = append(from, e.From)
		}
	}
	return from
}

// Values implements ent's EnumValues.
func (Status) Values() []string {
	var vs []string
	for _, s := range Statuses() {
		vs = append(vs, string(s))
	}
	return vs
}
