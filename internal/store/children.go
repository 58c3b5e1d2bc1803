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
	Number  int64           `json:"number,omitempty"` // of a bucket, from 1
	Stage   string          `json:"stage,omitempty"`  // its name; "": the child is none
}

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
	Statuses map[lifecycle.Status]int64
	Stopped  int64 // of the COMPLETED, those that are partial
	Fences   int64 // the sum of their fences: another one if a child was executed again
	Progress lifecycle.Progress
}

// NeededError: a child cannot be deleted, because its parent is open or can be retried.
type NeededError struct {
	ID, Parent uuid.UUID
	Status     lifecycle.Status // of the parent
}

func (e *NeededError) Error() string {
	return fmt.Sprintf("task %s is a child of task %s, which is in %s and goes by what has become of it: stop the child, or delete the parent", e.ID, e.Parent, e.Status)
}

// ParentError: a child cannot be retried, because its parent has ended.
type ParentError struct {
	ID, Parent uuid.UUID
	Status     lifecycle.Status // of the parent; "": it has been removed
}

func (e *ParentError) Error() string {
	if e.Status == "" {
		return fmt.Sprintf("task %s is a child of task %s, which has been removed: submit its work again", e.ID, e.Parent)
	}
	return fmt.Sprintf("task %s is a child of task %s, which has ended in %s: retry that, and it retries its failed children", e.ID, e.Parent, e.Status)
}
