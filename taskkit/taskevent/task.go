package taskevent

import (
	"time"

	"github.com/google/uuid"
)

// TaskRef is the task of an event.
type TaskRef struct {
	Worker string // the worker's ID, as in the list of workers
	Task   uuid.UUID
	Kind   string // as stored, perhaps an alias; empty in [ClaimLost] and what follows it
	Fence  int64  // the number of the task's lease, from 1; each claim has the next one
	// Attempt is the number of the current attempt since the last checkpoint, from 1.
	Attempt int
}

// Progress counts the items of a task.
type Progress struct {
	Total   int64 // -1 while unknown
	Done    int64
	Failed  int64
	Skipped int64
}

// TaskClaimed: the worker has claimed a task. It is the first event of a lease.
type TaskClaimed struct {
	TaskRef
	Queue     string
	Submitted time.Time // by the clock of the database
	// Waited is how long the task had been due, by the clock of the database. Zero: the claim did not read it, as of tasks
	// that are to end.
	Waited    time.Duration
	TakenOver bool // a worker was lost with the task, and those since have only given it back
}

// ClaimLost: the database gave a task to this worker in a claim whose response was
// lost. The worker releases it.
type ClaimLost struct{ TaskRef }

// BatchDone: the executor has returned. The batch is not committed yet: a
// [CheckpointWritten] says that it is.
type BatchDone struct {
	TaskRef
	Limit    int           // b.Limit
	Done     int64         // items of this batch
	Failed   int64         // items of this batch
	Skipped  int64         // items of this batch
	Duration time.Duration // of the executor's call
	Code     string        // of the error; empty: none
	Detail   string        // of the error
	Traced   bool          // a [Trace] gets the event too
}

// BatchShrunk: a statement of a batch was too large for the database. The batch is
// tried again at once, with fewer items.
type BatchShrunk struct {
	TaskRef
	Limit    int // items
	NewLimit int // items
	Detail   string
}

// PolicyFired: a policy of the task, or of a task above it, has fired with a write of the task. It does not fire again before it
// is set again.
type PolicyFired struct {
	TaskRef
	Of     uuid.UUID // the task that has the policy
	Policy string    // its name, or its number
	Action string    // what it does, see [taskkit.dev/taskkit/taskpolicy.Action]
	Reason string
}

// ItemSkipped: an item that seems to kill its worker is recorded as failed, and the
// task continues after it.
type ItemSkipped struct {
	TaskRef
	Item     string
	Position int64 // in the list that the executor gives to Take, from 1
}

// CheckpointWritten: a batch is committed.
type CheckpointWritten struct {
	TaskRef
	Checkpoint int64    // its number, from 1
	Progress   Progress // of the task
	// Done, Failed and Skipped are the items since the checkpoint before. A checkpoint that adds up what children have
	// processed has none: they are in the events of the children.
	Done, Failed, Skipped int64
}

// TaskRetried: a batch has failed, and its task waits for the next attempt.
type TaskRetried struct {
	TaskRef
	RetryIn time.Duration
	Code    string
	Detail  string
}

// TaskReleased: the task waits again, without a failure: it was paused, asked to
// continue later, yielded to others, or its worker ends.
type TaskReleased struct {
	TaskRef
	Reason string
	// Cause is the reason as one of few words: one of the constants, such as [ReleaseShutdown], or a cause of package
	// taskcause for which tasks wait, such as "later" or "throttled".
	Cause string
	Delay time.Duration // until it is due; after taskkit.LaterAt by this machine's clock
}

// The values of [TaskReleased].Cause that are no causes of package taskcause.
const (
	ReleaseShutdown = "shutdown" // its worker ends
	ReleaseYielded  = "yielded"  // other tasks waited for its slot
	ReleasePaused   = "paused"   // it was paused, or waits for approval
	ReleaseNoSlot   = "no_slot"  // its worker had no free slot
	ReleaseOutage   = "outage"   // its worker cannot use the database
)

// TaskThrottled: the task waits because an indicator is not well. It follows the [TaskReleased] of
// the same task, and comes again for each time that the task was claimed and still had to wait.
type TaskThrottled struct {
	TaskRef
	Indicator string        // the first, if there are several
	Reason    string        // of all
	Delay     time.Duration // until the task is due, when the indicators are read again
}

// TaskEnded: the end of a task is committed. A request that ends a waiting task in
// the database itself is no event of a worker.
type TaskEnded struct {
	TaskRef
	Queue      string
	Status     string // such as "COMPLETED", see taskkit.Status
	Partial    bool   // COMPLETED by a stop, before it was done, or without parts that were left out
	Removed    bool   // the task was removed, as had been requested
	Code       string // of the error; empty: none
	Detail     string // of the error
	Checkpoint int64  // checkpoints written
	Progress   Progress
	Duration   time.Duration // of the work on the task under this lease
}

// TaskLost: the worker no longer has the task, or no longer knows: its lease or that
// of the worker itself was lost.
type TaskLost struct {
	TaskRef
	Reason string
}

// ExecutorAbandoned: an executor did not return after its context had ended. Its
// goroutine goes on; its transaction is rolled back.
type ExecutorAbandoned struct {
	TaskRef
	Err error // why the context ended
}

// CommitReadBack: the outcome of a write was uncertain. The task was read back, and
// the worker still has it.
type CommitReadBack struct {
	TaskRef
	Committed  bool
	Checkpoint int64 // the number of the last one in the database
}

// ReadBackFailed: a task whose last write is uncertain could not be read back. The
// worker tries again.
type ReadBackFailed struct {
	TaskRef
	Try     int // from 1
	RetryIn time.Duration
	Err     error
}

// EndingFailed: a task could not be ended. The worker tries again, and in the end
// does without the executor's Abort and Report.
type EndingFailed struct {
	TaskRef
	Try     int // from 1
	RetryIn time.Duration
	Err     error
}

// WriteRefused: the database refuses a write for good. The task is released when the
// worker ends.
type WriteRefused struct {
	TaskRef
	Err error
}

func (TaskThrottled) event()     {}
func (TaskClaimed) event()       {}
func (ClaimLost) event()         {}
func (BatchDone) event()         {}
func (BatchShrunk) event()       {}
func (ItemSkipped) event()       {}
func (PolicyFired) event()       {}
func (CheckpointWritten) event() {}
func (TaskRetried) event()       {}
func (TaskReleased) event()      {}
func (TaskEnded) event()         {}
func (TaskLost) event()          {}
func (ExecutorAbandoned) event() {}
func (CommitReadBack) event()    {}
func (ReadBackFailed) event()    {}
func (EndingFailed) event()      {}
func (WriteRefused) event()      {}
