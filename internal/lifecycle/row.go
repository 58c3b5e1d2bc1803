package lifecycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Row holds the columns of a task that the rules read and write. Its methods
// return a changed copy and leave the receiver as it is. Their time is the
// database's.
type Row struct {
	Status        Status
	Control       Control
	ControlBy     uuid.UUID // who made the request; zero: unknown, or no request
	ControlReason string
	Partial       bool // COMPLETED by a stop, before it was done, or without parts that were left out

	Fence    int64 // goes up by one with every claim
	Seq      int64 // checkpoint_seq: goes up by one with every checkpoint
	Attempts int   // claims and failures since the last checkpoint

	Process   string     // the worker process that has the task; "" unless in flight
	Scheduled *time.Time // last claim
	Started   *time.Time // first start under the last claim
	// FirstStarted is the first start under any claim. Only a coalesced
	// submission clears it.
	FirstStarted *time.Time
	Stopped      *time.Time // set while the status is terminal

	NotBefore time.Time // earliest claim
	// Stalled: the task goes before those that are not, because its last worker was
	// lost or because it is to end. While a worker has the task, it says what held when
	// the task was claimed; nothing else reads it then.
	Stalled  bool
	Priority int    // 1 to 4, 1 first
	Desc     string // workflow_status_desc
	// WaitingReason says why the task waits. It means nothing while a worker has the
	// task: a claim leaves it, so as not to pay for it, and the next change of status
	// clears it.
	WaitingReason string

	State        json.RawMessage
	Revision     int // of State
	SpecRevision int
	Secrets      string // JSON pointers to what must not be shown, one a line
	Progress     Progress
}

// Progress counts the items of a task and holds its cursor. Every checkpoint commits
// them together.
type Progress struct {
	Total                 int64 // negative while unknown
	Done, Failed, Skipped int64

	// Position is the number of elements that taskkit.Take has passed in this round.
	Position int64
	// Round is 0 while the task goes over its whole list. Later rounds go over the
	// deferred items.
	Round int
	// Deferred reports that an item was deferred in this round, so another round follows.
	Deferred bool
}

// The priorities.
const (
	HighestPriority = 1
	LowestPriority  = 4
)

// Check returns an error unless the row is one that the database can hold: the
// CHECK constraints of the table.
func (r Row) Check() error {
	switch {
	case !r.Status.Valid() || !slices.Contains(Controls(), r.Control):
		return errors.New("no such status or request")
	case r.Status.InFlight() != (r.Process != ""):
		return errors.New("a task has a process while it is in flight, and only then")
	case r.Status == Executing && r.Started == nil:
		return errors.New("an EXECUTING task has a start")
	case r.Status.Terminal() != (r.Stopped != nil):
		return errors.New("a task has a stop once it has ended, and only then")
	case r.Priority < HighestPriority || r.Priority > LowestPriority:
		return fmt.Errorf("the priority is %d to %d", HighestPriority, LowestPriority)
	case min(int64(r.Attempts), r.Progress.Position, int64(r.Progress.Round), r.Progress.Done, r.Progress.Failed, r.Progress.Skipped) < 0:
		return errors.New("a count is negative")
	}
	return nil
}

// CheckNew returns an error unless the row may be inserted.
func (r Row) CheckNew() error {
	if r.Status != Queued || r.Fence != 0 || r.Seq != 0 {
		return errors.New("a new task is QUEUED, with fence and checkpoint_seq 0")
	}
	return r.Check()
}

// CheckChange returns an error unless the row may become after, whoever changes
// it: what the triggers of the database check.
func (r Row) CheckChange(after Row) error {
	if r.Status != after.Status || r.Fence != after.Fence {
		e, ok := Find(r.Status, after.Status)
		if !ok || e.Check(EdgeChange{after.Fence - r.Fence, after.Started != nil, after.Partial}) != nil {
			return fmt.Errorf("not a legal transition of a task: %s to %s", r.Status, after.Status)
		}
	}
	if after.Seq != r.Seq && after.Seq != r.Seq+1 {
		return errors.New("checkpoint_seq goes up by one")
	}
	return after.Check()
}
