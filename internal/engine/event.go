package engine

import (
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
)

// Event is something that happened in a worker. Package taskkit has the same
// types for users, and documents their fields.
type Event interface{ event() }

// TaskRef is the task of an event, as its worker had it under one task lease.
type TaskRef struct {
	Worker  string
	Task    uuid.UUID
	Kind    string
	Fence   int64
	Attempt int
}

// The events of a worker.
type (
	// WorkerStarted is sent when a worker has registered.
	WorkerStarted struct {
		Worker string
		Slots  int
		Queues []string
		// SafeMode: it claims nothing.
		SafeMode bool
	}
	// KindUnknown is sent once a day by one worker for a kind that no worker knows.
	KindUnknown struct {
		Worker   string
		Kind     string
		Revision int
		Queue    string
		Tasks    int64
		Since    time.Time
	}
	// UnknownKindsEnded is sent when tasks of unknown kinds have ended.
	UnknownKindsEnded struct {
		Worker string
		Tasks  int
	}
	// WorkerEnded is sent when a registration has ended.
	WorkerEnded struct {
		Worker string
		Err    error // nil: its context ended; otherwise the heartbeat was lost
	}
	// WorkerListening is sent when notifications of new tasks arrive.
	WorkerListening struct{ Worker string }
	// WorkerPolling is sent when notifications cannot be received.
	WorkerPolling struct {
		Worker  string
		Every   time.Duration
		RetryIn time.Duration
		Err     error
	}
	// PresenceMissing is sent once while the worker cannot have presence.
	PresenceMissing struct {
		Worker    string
		DeadAfter time.Duration // others notice the end of this worker then
		Err       error
	}
	// PresenceUnknown is sent once, when the worker cannot tell whether others are present.
	PresenceUnknown struct {
		Worker string
		Err    error
	}
	// DeclaredDead is sent when others have declared the worker dead although it runs.
	DeclaredDead struct{ Worker string }
	// HeartbeatFailed is sent when the heartbeat could not be renewed.
	HeartbeatFailed struct {
		Worker     string
		DeadlineIn time.Duration
		Err        error
	}
	// ClaimFailed is sent when a claim failed or its response was lost.
	ClaimFailed struct {
		Worker string
		Try    int
		Err    error
	}
	// GroupCommitFailed is sent when the outcome of a group of writes is unknown.
	GroupCommitFailed struct {
		Worker string
		Writes int
		Try    int
		Err    error
	}
	// CallFailed is sent when another call of the runtime failed.
	CallFailed struct {
		Worker  string
		Call    string // one of the Call constants
		Try     int
		RetryIn time.Duration
		Err     error
	}
	// BatchesCancelled is sent when a worker ends and cancels its batches.
	BatchesCancelled struct {
		Worker   string
		Sessions int
	}
	// SessionsAbandoned is sent when batches go on although they were cancelled.
	SessionsAbandoned struct {
		Worker   string
		Sessions int
	}
	// OldRemoved is sent when a worker has removed what was kept for long enough.
	OldRemoved struct {
		Worker                       string
		Results, Tasks, Idle, Events int
	}
	// ThrottleBegan is sent when an indicator has ceased to be well.
	ThrottleBegan struct {
		Worker    string
		Indicator string
		Reason    string
		Err       error // nil: it was read
	}
	// ThrottleEnded is sent when it is well again.
	ThrottleEnded struct {
		Worker    string
		Indicator string
		Duration  time.Duration
	}
	// IndicatorUnreadable is sent once, when the worker cannot read an indicator.
	IndicatorUnreadable struct {
		Worker    string
		Indicator string
		Err       error
	}
	// ScheduleFired is sent when tasks of a schedule are committed.
	ScheduleFired struct {
		Worker    string
		Schedule  string
		Kind      string
		Wall      string // the last wall time; "": it was only triggered
		Triggered bool
		Tasks     []uuid.UUID
	}
	// ScheduleMissed is sent when fires of a schedule were late.
	ScheduleMissed struct {
		Worker      string
		Schedule    string
		Kind        string
		Policy      string
		First, Last string // wall times
		Submitted   int    // for late wall times
	}
	// ScheduleFailed is sent when a schedule cannot submit its task.
	ScheduleFailed struct {
		Worker   string
		Schedule string
		Kind     string
		Wall     string // the wall time that is given up; "": it stays due, for another worker
		Err      error
	}
	// TasksTakenOver is sent by the worker whose reaper released tasks.
	TasksTakenOver struct {
		Worker string
		Dead   []string
		Tasks  []uuid.UUID
		Ended  []uuid.UUID
	}
)

// The calls of [CallFailed].
const (
	CallRegister    = "register"
	CallDeregister  = "deregister"
	CallReap        = "reap"
	CallPresence    = "read_presence"
	CallFoundAlive  = "found_alive"
	CallClean       = "remove_old"
	CallWakeParents = "wake parents"
	CallWakeWaiting = "wake tasks under limits"
	CallCheckClaims = "check_claims"
	CallSchedules   = "fire_schedules"
)

// The events of a task.
type (
	// TaskClaimed is sent when a worker has claimed a task.
	TaskClaimed struct {
		TaskRef
		Queue     string
		Submitted time.Time
		TakenOver bool
	}
	// ClaimLost is sent when a claim turns out to have had no response.
	ClaimLost struct{ TaskRef }
	// BatchDone is sent when the executor has returned, before the commit.
	BatchDone struct {
		TaskRef
		Limit                 int
		Done, Failed, Skipped int64
		Duration              time.Duration
		Code, Detail          string
	}
	// BatchShrunk is sent when a smaller batch is tried at once.
	BatchShrunk struct {
		TaskRef
		Limit, NewLimit int
		Detail          string
	}
	// ItemSkipped is sent when a poison item is recorded as failed.
	ItemSkipped struct {
		TaskRef
		Item     string
		Position int64
	}
	// CheckpointWritten is sent when a batch is committed.
	CheckpointWritten struct {
		TaskRef
		Checkpoint int64
		Progress   lifecycle.Progress
	}
	// TaskRetried is sent when a batch has failed and the task is queued again.
	TaskRetried struct {
		TaskRef
		RetryIn      time.Duration
		Code, Detail string
	}
	// TaskReleased is sent when a task is queued again without a failure.
	TaskReleased struct {
		TaskRef
		Reason string
		Delay  time.Duration
	}
	// TaskThrottled is sent after TaskReleased, when the task waits because of an indicator.
	TaskThrottled struct {
		TaskRef
		Indicator string
		Reason    string
		Delay     time.Duration
	}
	// TaskEnded is sent when the end of a task is committed.
	TaskEnded struct {
		TaskRef
		Status       lifecycle.Status
		Partial      bool
		Removed      bool // the task was to be deleted
		Code, Detail string
		Checkpoint   int64
		Progress     lifecycle.Progress
		Duration     time.Duration
	}
	// TaskLost is sent when a session finds that it no longer has its task.
	TaskLost struct {
		TaskRef
		Reason string
	}
	// ExecutorAbandoned is sent when an executor ignores its context.
	ExecutorAbandoned struct {
		TaskRef
		Err error
	}
	// CommitReadBack is sent when a task was read back and is still this worker's.
	CommitReadBack struct {
		TaskRef
		Committed  bool
		Checkpoint int64
	}
	// ReadBackFailed is sent when a task could not be read back.
	ReadBackFailed struct {
		TaskRef
		Try     int
		RetryIn time.Duration
		Err     error
	}
	// EndingFailed is sent when a task could not be ended.
	EndingFailed struct {
		TaskRef
		Try     int
		RetryIn time.Duration
		Err     error
	}
	// WriteRefused is sent when the database refuses a write for good.
	WriteRefused struct {
		TaskRef
		Err error
	}
)

func (WorkerStarted) event()       {}
func (WorkerEnded) event()         {}
func (WorkerListening) event()     {}
func (WorkerPolling) event()       {}
func (PresenceMissing) event()     {}
func (PresenceUnknown) event()     {}
func (DeclaredDead) event()        {}
func (HeartbeatFailed) event()     {}
func (ClaimFailed) event()         {}
func (GroupCommitFailed) event()   {}
func (CallFailed) event()          {}
func (BatchesCancelled) event()    {}
func (SessionsAbandoned) event()   {}
func (OldRemoved) event()          {}
func (ThrottleBegan) event()       {}
func (ThrottleEnded) event()       {}
func (IndicatorUnreadable) event() {}
func (TasksTakenOver) event()      {}
func (TaskThrottled) event()       {}
func (TaskClaimed) event()         {}
func (ClaimLost) event()           {}
func (BatchDone) event()           {}
func (BatchShrunk) event()         {}
func (ItemSkipped) event()         {}
func (CheckpointWritten) event()   {}
func (TaskRetried) event()         {}
func (TaskReleased) event()        {}
func (TaskEnded) event()           {}
func (TaskLost) event()            {}
func (ExecutorAbandoned) event()   {}
func (CommitReadBack) event()      {}
func (ReadBackFailed) event()      {}
func (EndingFailed) event()        {}
func (WriteRefused) event()        {}
func (KindUnknown) event()         {}
func (UnknownKindsEnded) event()   {}
func (ScheduleFired) event()       {}
func (ScheduleMissed) event()      {}
func (ScheduleFailed) event()      {}
