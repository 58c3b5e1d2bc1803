package taskkit

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Status is the status of a task.
type Status string

// The statuses (SSP-16 to SSP-21).
const (
	StatusQueued     = Status(lifecycle.Queued)     // waits for a worker or for its time
	StatusScheduling = Status(lifecycle.Scheduling) // claimed by a worker, not started
	StatusExecuting  = Status(lifecycle.Executing)  // running on a worker
	StatusCompleted  = Status(lifecycle.Completed)  // done, or stopped: see Task.Partial
	StatusError      = Status(lifecycle.Error)      // the runtime could not run it
	StatusFailure    = Status(lifecycle.Failure)    // the task itself failed
)

// Ended reports whether a task in status s has ended.
func (s Status) Ended() bool { return lifecycle.Status(s).Terminal() }

// Control is a request that a task has received and not yet carried out; "" is none. A task
// that has ended has none; see Task.Partial.
type Control string

// The requests.
const (
	ControlStop   = Control(lifecycle.Stop)
	ControlPause  = Control(lifecycle.Pause)
	ControlDelete = Control(lifecycle.Delete)
)

// Task is a task as operators see it. Do not pass StateJSON and StatusDetail to
// clients (SSP-32): they may contain anything. Secrets in SpecJSON and StateJSON
// are masked as "***"; [Get] reads them. All times are the database's.
type Task struct {
	ID           ID              `json:"id"`
	Kind         string          `json:"kind"`
	Revision     int             `json:"revision"`      // of StateJSON
	SpecRevision int             `json:"spec_revision"` // of SpecJSON, at most Revision
	SpecJSON     json.RawMessage `json:"spec,omitempty"`
	StateJSON    json.RawMessage `json:"state,omitempty"`

	Status        Status    `json:"status"`
	Partial       bool      `json:"partial,omitempty"`       // COMPLETED by a stop, before it was done
	StatusDetail  string    `json:"status_detail,omitempty"` // error code, then detail
	Control       Control   `json:"control,omitempty"`
	ControlBy     uuid.UUID `json:"control_by,omitzero"`
	ControlReason string    `json:"control_reason,omitempty"`
	Progress      Progress  `json:"progress"`
	// Preview: it is a preview, see the option [WithPreview]. In lists it is known only with
	// Filter.Previews, and otherwise false.
	Preview bool `json:"preview,omitempty"`
	// Found is how many targets a task has found so far, while it is finding them (see
	// [Targeter]); otherwise nil. It is nil in lists.
	Found *int64 `json:"found,omitempty"`

	Owner     uuid.UUID     `json:"owner"`
	RunAs     uuid.UUID     `json:"run_as"`
	CreatedBy uuid.UUID     `json:"created_by"` // see WithActor
	Created   time.Time     `json:"created"`
	Modified  time.Time     `json:"modified"`
	NotBefore time.Time     `json:"not_before"`
	Wait      time.Duration `json:"-"` // until NotBefore, negative when due
	Scheduled *time.Time    `json:"scheduled,omitempty"`
	Started   *time.Time    `json:"started,omitempty"` // for the first time
	// LeaseStarted is the start under the last lease, nil if that has not started.
	LeaseStarted *time.Time    `json:"lease_started,omitempty"`
	Stopped      *time.Time    `json:"stopped,omitempty"`
	Elapsed      time.Duration `json:"elapsed_ns"` // from Created to now or to its end

	Queue     string   `json:"queue"`
	Priority  Priority `json:"priority"`
	Reference string   `json:"reference,omitempty"`
	Reason    string   `json:"reason,omitempty"` // why it was submitted
	// WaitingReason is why it waits, if it is QUEUED and was not just submitted.
	WaitingReason string `json:"waiting_reason,omitempty"`
	UniqueKey     string `json:"unique_key,omitempty"`
	Parent        ID     `json:"parent,omitzero"` // of which it is a child, see [WithParent]
	// Children counts the children of the task; nil if it has none. Progress is then the sum
	// of its children's.
	Children *ChildCounts `json:"children,omitempty"`
	// Follows is the task from which [Client.RetryFailed], RetryCorrected, [Client.Continue]
	// or Apply has made this one, or that of the option Follows.
	Follows     ID     `json:"follows,omitzero"`
	Worker      string `json:"worker,omitempty"` // that has claimed it
	Fence       int64  `json:"fence"`
	Checkpoints int64  `json:"checkpoints"`
	Attempts    int    `json:"attempts"` // since the last checkpoint
	Traceparent string `json:"traceparent,omitempty"`

	// ResultExpires is when the result may be erased; nil if there is none, or it is kept
	// for ever. The first fetch changes it, see [Retention].
	ResultExpires *time.Time `json:"result_expires,omitempty"`
	ResultErased  bool       `json:"result_erased,omitempty"` // see [ErrExpired]
}

// Progress counts items.
type Progress struct {
	Total   int64 `json:"total"` // -1 while unknown
	Done    int64 `json:"done"`
	Failed  int64 `json:"failed"`
	Skipped int64 `json:"skipped"`
}

// Processed returns the number of items processed: done, failed or skipped.
func (p Progress) Processed() int64 { return p.Done + p.Failed + p.Skipped }

// Ended reports whether the task has ended.
func (t *Task) Ended() bool { return t.Status.Ended() }

// fromStore converts a task and masks its secrets. Its progress does not include that of
// its children: see [Client.read].
func fromStore(t store.Task) *Task {
	var hidden secrets
	if t.Secrets != "" {
		hidden = parseSecrets(strings.Split(t.Secrets, "\n"))
	}
	return &Task{
		ID: t.ID, Kind: t.Kind, Revision: t.Revision, SpecRevision: t.SpecRevision,
		SpecJSON: hidden.below("spec").mask(t.Spec), StateJSON: hidden.below("state").mask(t.State),
		Status: Status(t.Status), Partial: t.Partial, Preview: t.Preview, StatusDetail: t.StatusDetail, Control: Control(t.Control),
		ControlBy: t.ControlBy, ControlReason: t.ControlReason,
		Progress: progress(t.Progress),
		Owner:    t.Owner, RunAs: t.RunAs, CreatedBy: t.CreatedBy, Created: t.Created, Modified: t.Modified,
		NotBefore: t.NotBefore, Wait: t.Wait, Scheduled: t.Scheduled, Started: t.Started, LeaseStarted: t.LeaseStarted,
		Stopped: t.Stopped, Elapsed: t.Elapsed,
		Queue: t.Queue, Priority: Priority(t.Priority), Reference: t.Reference, Reason: t.Reason, WaitingReason: t.WaitingReason,
		UniqueKey: t.UniqueKey, Parent: t.Parent, Follows: t.Follows, Worker: t.Process, Fence: t.Fence,
		Checkpoints: t.Seq, Attempts: t.Attempts, Traceparent: t.Traceparent, Found: t.Found,
		ResultExpires: t.ResultExpires, ResultErased: t.ResultErased,
	}
}

// progress returns the progress of a task as users see it.
func progress(p lifecycle.Progress) Progress {
	return Progress{Total: p.Total, Done: p.Done, Failed: p.Failed, Skipped: p.Skipped}
}

// Attempt is a failed attempt of a batch.
type Attempt struct {
	Created    time.Time `json:"created"`
	Worker     string    `json:"worker"`
	Fence      int64     `json:"fence"`
	Checkpoint int64     `json:"checkpoint"`
	Attempt    int       `json:"attempt"`
	Class      string    `json:"class"` // "transient", "refused" (see [IsPermanent]) or "permanent"
	Code       string    `json:"code"`
	Detail     string    `json:"detail"` // for operators only
}

// Event is a request that was made of a task.
type Event struct {
	Created    time.Time `json:"created"`
	Action     string    `json:"action"`
	Actor      uuid.UUID `json:"actor,omitzero"`
	Reason     string    `json:"reason,omitempty"`
	FromStatus Status    `json:"from_status"` // the task's status before
}
