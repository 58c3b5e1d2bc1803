package taskkit

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Status is the status of a task.
type Status string

// The statuses.
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

// Task is a task as operators see it. SpecJSON, StateJSON and StatusDetail may contain
// anything and are not for clients: the JSON of a task, its line in a log and its
// String leave them out. Secrets in SpecJSON and StateJSON are masked as "***"; [Get] reads
// them. All times are the database's.
type Task struct {
	ID           ID              `json:"id"`
	Kind         string          `json:"kind"`
	Revision     int             `json:"revision"`      // of StateJSON
	SpecRevision int             `json:"spec_revision"` // of SpecJSON, at most Revision
	SpecJSON     json.RawMessage `json:"-"`
	StateJSON    json.RawMessage `json:"-"`

	Status        Status    `json:"status"`
	Partial       bool      `json:"partial,omitempty"` // COMPLETED by a stop, before it was done, or without parts that were left out
	StatusDetail  string    `json:"-"`                 // error code, then detail
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
	Version   *int64   `json:"version,omitempty"` // see [WithVersion]; nil: none
	Reason    string   `json:"reason,omitempty"`  // why it was submitted
	// WaitingReason is why it waits, if it is QUEUED and was not just submitted.
	WaitingReason string `json:"waiting_reason,omitempty"`
	UniqueKey     string `json:"unique_key,omitempty"`
	Parent        ID     `json:"parent,omitzero"` // of which it is a child, see [WithParent]
	// Children counts the children of the task; nil if it has none. Progress is then the sum
	// of its children's, without items that the task has processed itself.
	Children *ChildCounts `json:"children,omitempty"`
	// Follows is the task from which [Client.RetryFailed], RetryCorrected, [Client.Continue]
	// or Apply has made this one, or the task of the option WithPredecessor; of a notification, the task that it is about.
	Follows     ID     `json:"follows,omitzero"`
	Worker      string `json:"worker,omitempty"` // that has claimed it
	Fence       int64  `json:"fence"`
	Checkpoints int64  `json:"checkpoints"`
	Attempts    int    `json:"attempts"` // since the last checkpoint
	Traceparent string `json:"traceparent,omitempty"`

	item int64 // the position of the item that it is at, from 1; 0: not known

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

// Running reports whether a worker has the task, or a child of it, to any depth. A task whose buckets or stages
// are executed is QUEUED itself: it waits for them.
func (t *Task) Running() bool {
	return t.Status == StatusScheduling || t.Status == StatusExecuting || !t.Ended() && t.Children != nil && t.Children.Running > 0
}

// LogValue returns what identifies the task and how far it is, without texts that may
// contain anything.
func (t Task) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", t.ID.String()), slog.String("kind", t.Kind), slog.String("status", string(t.Status)),
		slog.String("queue", t.Queue), slog.String("owner", t.Owner.String()), slog.Int("attempts", t.Attempts),
		slog.Int64("processed", t.Progress.Processed()), slog.Int64("total", t.Progress.Total))
}

// String names the task and its status.
func (t Task) String() string { return fmt.Sprintf("task %s of kind %s, %s", t.ID, t.Kind, t.Status) }

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
		Queue: t.Queue, Priority: Priority(t.Priority), Reference: t.Reference, Version: t.Version, Reason: t.Reason, WaitingReason: t.WaitingReason,
		UniqueKey: t.UniqueKey, Parent: t.Parent, Follows: t.Follows, Worker: t.Process, Fence: t.Fence,
		Checkpoints: t.Seq, Attempts: t.Attempts, Traceparent: t.Traceparent, Found: t.Found,
		ResultExpires: t.ResultExpires, ResultErased: t.ResultErased, item: skippable(t),
	}
}

// skippable returns the position of the item that a task is at, which a retry can skip; 0: it is not known.
func skippable(t store.Task) int64 {
	if t.Progress.Total <= 0 || t.HasChildren {
		return 0
	}
	return lifecycle.Row{Seq: t.Seq, Progress: t.Progress}.Skippable(0)
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

// Event is a request that was made of a task, the action of a policy, or the loss of a worker (action "lost").
type Event struct {
	Created    time.Time `json:"created"`
	Action     string    `json:"action"`
	Actor      uuid.UUID `json:"actor,omitzero"`
	Reason     string    `json:"reason,omitempty"`
	FromStatus Status    `json:"from_status"`      // the task's status before
	Worker     string    `json:"worker,omitempty"` // the worker that was lost
}
