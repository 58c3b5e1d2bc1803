package lifecycle

import (
	"fmt"
	"slices"
)

// Edge is one legal transition and the condition that a row must meet after it.
type Edge struct {
	From, To Status
	// Started: legal only when the row has an execution_started_date afterwards.
	Started bool
	// Partial: legal only when the row is partial afterwards.
	Partial bool
	// Claimed: legal only when the fence goes up by exactly one.
	Claimed bool
	// Why names the event, for diagrams and messages.
	Why string
}

// edges is the table of legal transitions, and the only one.
var edges = []Edge{
	{From: Queued, To: Scheduling, Claimed: true, Why: "claim"},
	{From: Queued, To: Completed, Partial: true, Why: "stop of a task that no worker has"},
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

// EdgeChange is what the condition of an edge depends on.
type EdgeChange struct {
	Fences           int64 // by how much the fence goes up
	Started, Partial bool  // of the row after the change
}

// Check returns nil if a change meets the condition of the edge, and otherwise an
// error with what it does not meet.
func (e Edge) Check(c EdgeChange) error {
	want := int64(0)
	if e.Claimed {
		want = 1
	}
	switch {
	case c.Fences != want:
		return fmt.Errorf("%s to %s changes the fence by %d, not %d", e.From, e.To, want, c.Fences)
	case e.Started && !c.Started:
		return fmt.Errorf("%s to %s needs execution_started_date", e.From, e.To)
	case e.Partial && !c.Partial:
		return fmt.Errorf("%s to %s needs partial", e.From, e.To)
	default:
		return nil
	}
}
