package taskkit

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// Status is where a task stands.
type Status string

// The statuses (SSP-16 to SSP-21).
const (
	Queued     = Status(workflow.Queued)     // waits: for a worker, or for its time
	Scheduling = Status(workflow.Scheduling) // held by a worker, not begun
	Executing  = Status(workflow.Executing)  // held by a worker, begun
	Completed  = Status(workflow.Completed)  // done; or stopped, see Task.Partial
	Error      = Status(workflow.Error)      // the mechanism could not run it
	Failure    = Status(workflow.Failure)    // the task's own problem
)

// Ended reports whether a task in status s has reached an end.
func (s Status) Ended() bool { return workflow.Status(s).Terminal() }

// Control is what has been asked of a task and is not yet done. On a COMPLETED
// task [ControlStop] says that it was stopped.
type Control string

// The requests.
const (
	ControlNone   = Control(workflow.None)
	ControlStop   = Control(workflow.Stop)
	ControlPause  = Control(workflow.Pause)
	ControlDelete = Control(workflow.Delete)
)

// Task is a task as an operator sees it. Do not hand State and Desc to clients
// (SSP-32): they may hold anything. Secrets in Spec and State are masked, as
// "***"; the typed [Get] reads them. Times are the database's.
type Task struct {
	ID           ID              `json:"id"`
	Kind         string          `json:"kind"`
	Revision     int             `json:"revision"`      // of State
	SpecRevision int             `json:"spec_revision"` // of Spec, at most Revision
	Spec         json.RawMessage `json:"spec,omitempty"`
	State        json.RawMessage `json:"state,omitempty"`

	Status        Status    `json:"status"`
	Desc          string    `json:"desc,omitempty"` // error code, then detail
	Control       Control   `json:"control,omitempty"`
	ControlBy     uuid.UUID `json:"control_by,omitzero"`
	ControlReason string    `json:"control_reason,omitempty"`
	Progress      Progress  `json:"progress"`

	Owner     uuid.UUID     `json:"owner"`
	RunAs     uuid.UUID     `json:"run_as"`
	Created   time.Time     `json:"created"`
	Modified  time.Time     `json:"modified"`
	NotBefore time.Time     `json:"not_before"`
	Wait      time.Duration `json:"-"` // until NotBefore; negative when due
	Scheduled *time.Time    `json:"scheduled,omitempty"`
	Started   *time.Time    `json:"started,omitempty"`
	Stopped   *time.Time    `json:"stopped,omitempty"`
	Elapsed   time.Duration `json:"elapsed_ns"` // since Created, until it ended

	Queue       string   `json:"queue"`
	Priority    Priority `json:"priority"`
	Reference   string   `json:"reference,omitempty"`
	Reason      string   `json:"reason,omitempty"` // why it waits
	UniqueKey   string   `json:"unique_key,omitempty"`
	Parent      ID       `json:"parent,omitzero"`
	Worker      string   `json:"worker,omitempty"` // who holds it
	Fence       int64    `json:"fence"`
	Checkpoints int64    `json:"checkpoints"`
	Attempts    int      `json:"attempts"` // since the last checkpoint
	Traceparent string   `json:"traceparent,omitempty"`
}

// Progress counts items.
type Progress struct {
	Total   int64 `json:"total"` // -1 while unknown
	Done    int64 `json:"done"`
	Failed  int64 `json:"failed"`
	Skipped int64 `json:"skipped"`
}

// Dealt returns the number of items dealt with, in whatever way.
func (p Progress) Dealt() int64 { return p.Done + p.Failed + p.Skipped }

// Ended reports whether the task has reached an end.
func (t *Task) Ended() bool { return t.Status.Ended() }

// Partial reports whether the task was stopped before it was done.
func (t *Task) Partial() bool { return t.Status == Completed && t.Control == ControlStop }

// fromStore makes the public task. It is the one place where tasks get out, and
// where secrets do not.
func fromStore(t store.Task) *Task {
	var hidden secrets
	if t.Secrets != "" {
		hidden = parseSecrets(strings.Split(t.Secrets, "\n"))
	}
	return &Task{
		ID: t.ID, Kind: t.Kind, Revision: t.Revision, SpecRevision: t.SpecRevision,
		Spec: hidden.below("spec").mask(t.Spec), State: hidden.below("state").mask(t.State),
		Status: Status(t.Status), Desc: t.Desc, Control: Control(t.Control),
		ControlBy: t.ControlBy, ControlReason: t.ControlReason,
		Progress: Progress{Total: t.Progress.Total, Done: t.Progress.Done, Failed: t.Progress.Failed, Skipped: t.Progress.Skipped},
		Owner:    t.Owner, RunAs: t.RunAs, Created: t.Created, Modified: t.Modified,
		NotBefore: t.NotBefore, Wait: t.Wait, Scheduled: t.Scheduled, Started: t.Started,
		Stopped: t.Stopped, Elapsed: t.Elapsed,
		Queue: t.Queue, Priority: Priority(t.Priority), Reference: t.Reference, Reason: t.Reason,
		UniqueKey: t.UniqueKey, Parent: t.Parent, Worker: t.Process, Fence: t.Fence,
		Checkpoints: t.Seq, Attempts: t.Attempts, Traceparent: t.Traceparent,
	}
}

// ItemFailure is one item that will never work.
type ItemFailure struct {
	ID      uuid.UUID `json:"id"`
	Created time.Time `json:"created"`
	Item    string    `json:"item"`
	Code    string    `json:"code"`
	Detail  string    `json:"detail"` // operators only
	Attempt int       `json:"attempt"`
}

// Attempt is one failed attempt of a batch: when, where, at which checkpoint,
// and why.
type Attempt struct {
	Created    time.Time `json:"created"`
	Worker     string    `json:"worker"`
	Fence      int64     `json:"fence"`
	Checkpoint int64     `json:"checkpoint"`
	Attempt    int       `json:"attempt"`
	Class      Class     `json:"class"`
	Code       string    `json:"code"`
	Detail     string    `json:"detail"` // operators only
}

// Event is one action of an operator.
type Event struct {
	Created time.Time `json:"created"`
	Action  string    `json:"action"`
	Actor   uuid.UUID `json:"actor,omitzero"`
	Reason  string    `json:"reason,omitempty"`
	Was     Status    `json:"was"`
}

// WorkerInfo is a worker process as the database knows it.
type WorkerInfo struct {
	ID        string           `json:"id"`
	Version   string           `json:"version"`
	Kinds     map[string][]int `json:"kinds"` // kind to the revisions it reads
	Queues    []string         `json:"queues"`
	Slots     int              `json:"slots"`
	Busy      int              `json:"busy"`
	Draining  bool             `json:"draining"`
	Started   time.Time        `json:"started"`
	Heartbeat time.Time        `json:"heartbeat"`
	Silence   time.Duration    `json:"silence_ns"` // since Heartbeat, by the database's clock
	DeadAfter time.Duration    `json:"dead_after_ns"`
	Alive     bool             `json:"alive"`
	Ended     *time.Time       `json:"ended,omitempty"`
	Why       string           `json:"why,omitempty"`
}
