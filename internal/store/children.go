package store

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
)

// Child names the parent of a task, and the part of its work that the task has.
type Child struct {
	Parent uuid.UUID `json:"parent"`
	// Segment is the segment of a bucket, as JSON; nil: the child is no bucket. The spec of a bucket is
	// the spec of its parent, and is not stored again.
	Segment json.RawMessage `json:"segment,omitempty"`
	// Range is the part of the parent's targets that the child has, be they in its spec or frozen; nil: the child is no range. Positions
	// in the row and the items of a range count from its beginning. As a bucket, it has the spec of its parent.
	Range  *Range `json:"range,omitempty"`
	Number int64  `json:"number,omitempty"` // of a bucket or a range, from 1
	Stage  string `json:"stage,omitempty"`  // its name; "": the child is none
}

// Range is a range of positions, which count from 0. It includes From and not To.
type Range struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Len returns how many positions the range has.
func (r Range) Len() int64 { return r.To - r.From }

// Bucket reports whether the child is a bucket or a range: of the kind and the spec of its parent. It is false for nil.
func (c *Child) Bucket() bool { return c != nil && (c.Segment != nil || c.Range != nil) }

// Part reports whether the child is a bucket, a range or a stage, whose work belongs to the work of its parent. It is false for nil.
func (c *Child) Part() bool { return c.Bucket() || c != nil && c.Stage != "" }

// OnFailure is what a child that ends in FAILURE or ERROR means for its parent.
type OnFailure string

// What it can mean.
const (
	// FailureContinues: nothing.
	FailureContinues OnFailure = "continue"
	// FailurePauses pauses the parent at its next session.
	FailurePauses OnFailure = "pause"
	// FailureFails ends the parent in FAILURE once no child is open.
	FailureFails OnFailure = "fail"
)

// Wait is for what a parent waits, in a [Write] to QUEUED: a task that has children, or had
// some. It wakes when at most OpenAtMost of them are open.
type Wait struct {
	OpenAtMost int64
	OnFailure  OnFailure
	// Total is the number of items of all children, of which some do not exist yet; 0: it is the sum of theirs, and -1: unknown. Without a
	// checkpoint it stays as it was.
	Total int64
	// Seen is how many failed children have paused the parent already. With
	// [FailurePauses] more of them wake it.
	Seen int64
	// Ending is how the parent ends once no child is open, if that is neither by a stop nor by
	// a delete; nil: it goes on.
	Ending *Ending
	// Ends: the parent ends next, by Ending or by a request that stands on it. Such a request
	// makes another wait due at once.
	Ends bool
}

// Ending is how a parent ends that still waits for its children.
type Ending struct {
	Status lifecycle.Status `json:"status"`
	Class  string           `json:"class"`
	Code   string           `json:"code"`
	Detail string           `json:"detail"`
}

// Forever is when a task is due that waits for something else than a time. No claim and no
// request finds it there.
var Forever = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// Family is what a worker reads of the children of its task.
type Family struct {
	Open, Failed int64 // children that are open, and that ended in FAILURE or ERROR
	// Wait is what the task waits for, or has waited for last, at its checkpoint_seq; nil:
	// nothing at this one. An end takes it away, and a retry brings it back.
	Wait   *Wait
	Retry  bool            // the failed children are to be retried
	Ending *Ending         // see [Wait]
	Memo   json.RawMessage // see [Write]
}

// ChildTask is a child as its parent reads it.
type ChildTask struct {
	Child
	ID           uuid.UUID
	Kind         string
	Status       lifecycle.Status
	Partial      bool
	StatusDetail string
	State        json.RawMessage    // nil unless requested
	Revision     int                // of State
	Progress     lifecycle.Progress // its own, also if it has children
	HasChildren  bool               // it waits or has waited for some
	Started      *time.Time
	Stopped      *time.Time
}

// ChildCounts are the children of a task by their status, and the sum of their progress.
type ChildCounts struct {
	Statuses map[lifecycle.Status]int64 `json:"statuses,omitempty"`
	Stopped  int64                      `json:"stopped,omitempty"` // of the COMPLETED, those that are partial
	Fences   int64                      `json:"fences,omitempty"`  // the sum of their fences: another one if a child was executed again
	Running  int64                      `json:"-"`                 // those that a worker has, and those with such a child
	Unknown  int64                      `json:"unknown,omitempty"` // those whose total is unknown
	Items    lifecycle.Progress         `json:"items,omitzero"`    // Total without the unknown ones
	Total    int64                      `json:"-"`                 // of the children to come too, see [Wait]
}

// Progress returns the sum of the children's progress. Its total is -1 while one of them is unknown.
func (c *ChildCounts) Progress() lifecycle.Progress {
	p := c.Items
	switch {
	case c.Total > 0:
		p.Total = max(c.Total, p.Total)
	case c.Unknown > 0 || c.Total < 0:
		p.Total = -1
	}
	return p
}

// AllProcessed reports whether all items were processed of a task that is divided into parts with a known total, so that nothing is left that
// could be paused or stopped.
func (c *ChildCounts) AllProcessed() bool { return c.Total > 0 && c.Items.Processed() >= c.Total }

// Add adds n children in a status. Their totals are known, but for unknown ones.
func (c *ChildCounts) Add(status lifecycle.Status, n int64, p lifecycle.Progress, unknown int64) {
	if c.Statuses == nil {
		c.Statuses = make(map[lifecycle.Status]int64)
	}
	c.Statuses[status] += n
	if status.InFlight() {
		c.Running += n
	}
	c.Unknown += unknown
	c.Items.Total += max(p.Total, 0)
	c.Items.Done += p.Done
	c.Items.Failed += p.Failed
	c.Items.Skipped += p.Skipped
}

// ChildSums are what a task has stored of its children. A read counts the open ones anew, so that it costs no more than these.
// Each write that may add a child to the open ones stores them again, and a retry of a child that has ended removes them.
type ChildSums struct {
	Ended ChildCounts `json:"ended,omitzero"`
	Open  []uuid.UUID `json:"open,omitempty"`
	Total int64       `json:"total,omitempty"` // see [Wait]
}

// ParentError: an action on a child alone was refused because of its parent. A child cannot be retried when its parent has ended, nor
// deleted when its parent is open or can be retried, and a bucket or a stage cannot be stopped.
type ParentError struct {
	Action     lifecycle.Action
	ID, Parent uuid.UUID
	Status     lifecycle.Status // of the parent; "": it has been removed
}

func (e *ParentError) Error() string {
	return fmt.Sprintf("cannot %s task %s alone: it is a child of task %s, which is in %q", e.Action, e.ID, e.Parent, e.Status)
}
