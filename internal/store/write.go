package store

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/taskkit/notice"
)

// Write is one change of a task by its holder: a start, a checkpoint, a
// release, an end, or a checkpoint together with one of the last two. Guard:
// id, fence, checkpoint_seq, and a status in flight.
type Write struct {
	Lease
	To lifecycle.Status // Executing for a start and for a checkpoint with more to come
	// Begun: an earlier write under this task lease has left the task EXECUTING.
	Begun bool

	// Checkpoint: State, Progress and Revision are written, checkpoint_seq goes
	// up by one. Otherwise State and Progress are ignored, and Revision is only
	// the version of a Result.
	Checkpoint bool
	Revision   int
	State      json.RawMessage
	Progress   lifecycle.Progress
	Items      []Item // outcomes of items; only with Checkpoint
	Ledger     Ledger // which items have succeeded; only with Checkpoint
	// Retried, only with Checkpoint: what becomes of items deferred before, after
	// Items have been stored.
	Retried Retried
	// Secrets are added to the secrets of the task, only with Checkpoint: a newer
	// revision's state may have secrets that the task was not submitted with.
	Secrets string
	// Found is only for a task that is finding its targets, and only with Checkpoint.
	Found *Found
	// Report is the [Report] of a preview as JSON, only with Checkpoint; nil leaves
	// what the plan of the task has.
	Report json.RawMessage
	Worked *Worked // is added to the rate of the task, only with Checkpoint; nil: nothing

	Attempts int // the new value of attempts
	// Delay, To QUEUED: not_before becomes now + Delay; a negative one leaves the
	// task where it was in the queue.
	Delay time.Duration
	// At, To QUEUED: not zero, not_before becomes this and Delay is ignored. It is
	// in microseconds, on SQLite in milliseconds.
	At     time.Time
	Reason string // To QUEUED: why it waits; "" clears it
	// StatusDetail is the new workflow_status_desc; "" leaves it as it is.
	StatusDetail string
	// Partial, To COMPLETED: the task ends because of a stop, before it was done, or without parts that were left out.
	Partial bool
	Attempt *Attempt        // a failed attempt to record
	Result  json.RawMessage // nil: none
	// Keep is how long Result is kept: Fetched and Unfetched.
	Keep Retention
	// Renew makes the Commit of a batch renew the heartbeat of the task's worker
	// as well. A store does so when its batches keep heartbeats from being written
	// (SQLite, which has one write lock), and sets Applied.Renewed.
	Renew bool
	// Check: the task may have reached a limit, see [lifecycle.Conditions]. The store reads
	// its stored conditions in the transaction of the write, after it, and pauses the
	// task if these say so at Progress. A stop policy of the task's own goes before
	// StopAfter, the policy of its kind. Not with an end.
	Check     bool
	StopAfter lifecycle.StopPolicy
	// CheckParents: items have failed that count for the stop policies of the tasks above, which are paused with their children if
	// one is reached. Only with Checkpoint.
	CheckParents bool
	// Policies: the task has policies, which are decided after the write, not with an end. Watched: a task above has some.
	Policies, Watched bool
	// Notify is the event of the write of which a subscription of the task may be notified; "": none. [notice.Ended] stands for the end that
	// the write makes, and [notice.Policy] for its Pause or Stop.
	Notify notice.Event

	// Wait, To QUEUED: what the task waits for, of a kind that may have children. At is
	// [Forever] then, and Reason is [lifecycle.ReasonChildren] or, if the task ends next,
	// [lifecycle.ReasonEndingChildren].
	Wait *Wait
	// Pause is why the task is paused by the write, unless another request stands on it; "": it is not. Stop is why it is stopped,
	// unless a request to end it stands on it. Not with an end.
	Pause, Stop string
	// Whole is the task that Pause and Stop are for, with all its children: the task of the write is a bucket or a range of it, and may
	// end. Zero: they are for the task of the write alone.
	Whole uuid.UUID
	// Memo is what the task remembers of its children, only with Checkpoint; nil leaves it.
	Memo json.RawMessage
	// HasChildren, with an end: the task may have children. While one of them is open the
	// write is not applied. Otherwise, with a checkpoint: the batch has submitted children. The
	// reaper then passes requests on to them, though the task has never waited.
	HasChildren bool
}

// IsCheckpoint reports whether the write leaves the task as it is but for the checkpoint.
func (w *Write) IsCheckpoint() bool {
	return w.Begun && w.Checkpoint && w.To == lifecycle.Executing && w.StatusDetail == ""
}

// Applied is the outcome of a Write.
type Applied struct {
	OK bool
	// Control is the request on the task after the write. A task
	// that has ended with a Delete standing has been removed.
	Control lifecycle.Control
	// Renewed: the commit has renewed the heartbeat, because of Write.Renew.
	Renewed bool
	// Decided is what policies have decided; nil: nothing.
	Decided *Decided
	// Open: it is not OK because children of the task are open.
	Open bool
	// Options are the options of the task as they are stored, after a write with Worked; else nil.
	Options *Options
}
