package taskkit

import (
	"context"
	"time"
)

// Observer receives what happens in a worker, as [Config.Observer]: for metrics,
// traces or alerts. A type switch selects the events that are of interest.
//
// Observe is called synchronously, from several goroutines of the worker at once:
// the work on tasks waits for it. It must be quick, must not block, and must not end
// its goroutine (runtime.Goexit). An observer that writes to a network queues its
// events. A panic of Observe is recovered, and the first one is logged.
//
// The events of a task under one fence (see [TaskRef]) come in the order in which
// they happened. When a worker claims a task again, the claim may be reported before
// the end of the task's previous lease. A write is reported after its commit. A write
// whose outcome is unknown is reported once the runtime has read the task back, or
// not at all if the worker ends before that; so an event may be missing, and none is
// false.
//
// A submission is not among the events: it may still be rolled back with the
// transaction of its caller, which is often another program. [TaskClaimed] has its
// time.
//
// ctx carries the values of the context of [Worker.Run], and does not end.
type Observer interface {
	Observe(ctx context.Context, e WorkerEvent)
}

// WorkerEvent is one of the event types of this package, such as [TaskEnded].
// Releases may add types and fields, so a type switch needs no default case.
//
// Errors and details may contain anything that an executor or a database says:
// they are for operators. Codes are short and have few values.
type WorkerEvent interface{ workerEvent() }

// TaskRef is the task of an event.
type TaskRef struct {
	Worker string // the worker's ID, as in [WorkerInfo]
	Task   ID
	Kind   string // as stored, perhaps an alias; empty in [ClaimLost] and what follows it
	Fence  int64  // the number of the task's lease, from 1; each claim has the next one
	// Attempt is the number of the current attempt since the last checkpoint, from 1.
	Attempt int
}

// WorkerStarted: a worker has registered. It may do so again under another ID, after
// a [WorkerEnded] with an error.
type WorkerStarted struct {
	Worker string
	Slots  int
	Queues []string // not to be modified
	// SafeMode: it claims nothing, see Config.SafeMode.
	SafeMode bool
}

// KindUnknown: tasks are due whose kind or revision no live worker knows that serves their queue. One
// worker reports it once a day.
type KindUnknown struct {
	Worker   string
	Kind     string
	Revision int
	Queue    string
	Tasks    int64     // that were due, or a part of them
	Since    time.Time // when that was first seen
}

// UnknownKindsEnded: tasks have ended in ERROR with the code unknown_kind, see
// [Config.UnknownKindAfter].
type UnknownKindsEnded struct {
	Worker string
	Tasks  int
}

// WorkerEnded: a worker does nothing more under its ID. It no longer has any task,
// with or without a last event of them.
type WorkerEnded struct {
	Worker string
	// Err is nil if the context of Run ended. Otherwise its heartbeat could not be
	// renewed in time or it was declared dead, and it registers under a new ID.
	Err error
}

// WorkerListening: the worker receives notifications of new tasks.
type WorkerListening struct{ Worker string }

// WorkerPolling: the worker cannot receive notifications, and polls instead.
type WorkerPolling struct {
	Worker  string
	Every   time.Duration // between polls, Config.Poll
	RetryIn time.Duration // until the worker tries to listen again
	Err     error
}

// PresenceMissing: the worker cannot hold a presence lock, for the reason in Err. It is
// sent once, and again only if the worker has held one since. Other workers then notice that it
// was killed after DeadAfter only.
type PresenceMissing struct {
	Worker    string
	DeadAfter time.Duration // Config.DeadAfter
	Err       error
}

// PresenceUnknown: the worker cannot tell which others are present, for the reason in
// Err. It notices that one was killed after that one's DeadAfter, and asks again every
// few minutes. It is sent once.
type PresenceUnknown struct {
	Worker string
	Err    error
}

// DeclaredDead: others have declared the worker dead although it runs, because it had lost
// its presence lock or could not renew its heartbeat, and may have taken its tasks over. What it
// had not committed is undone, and it registers under a new ID.
type DeclaredDead struct{ Worker string }

// HeartbeatFailed: the worker could not renew its heartbeat. It tries again.
type HeartbeatFailed struct {
	Worker     string
	DeadlineIn time.Duration // until the worker gives up its tasks
	Err        error
}

// ClaimFailed: a claim failed, or its response was lost. The worker tries again.
type ClaimFailed struct {
	Worker string
	Try    int // claims in a row that failed
	Err    error
}

// GroupCommitFailed: the outcome of a group of writes is unknown. The worker reads
// their tasks back.
type GroupCommitFailed struct {
	Worker string
	Writes int
	Try    int // for these writes, from 1
	Err    error
}

// CallFailed: another call of the runtime to the database failed.
type CallFailed struct {
	Worker  string
	Call    string        // "register", "deregister", "reap", "remove_old", "fire_schedules" or "check_claims"
	Try     int           // from 1
	RetryIn time.Duration // zero unless Call is "register"
	Err     error
}

// BatchesCancelled: the worker ends, and cancels the batches that did not finish
// within Config.Drain.
type BatchesCancelled struct {
	Worker   string
	Sessions int // tasks whose batches are cancelled
}

// SessionsAbandoned: the worker ends without waiting any longer for batches that it
// has cancelled.
type SessionsAbandoned struct {
	Worker   string
	Sessions int // tasks whose batches still run
}

// OldRemoved: the worker has removed what was kept for long enough, see [Retention].
type OldRemoved struct {
	Worker  string
	Results int // erased
	Tasks   int // that had ended
	Idle    int // tasks that had not
	Events  int
}

// ThrottleBegan: an indicator has ceased to be well, and batches of this worker wait for it, see
// [Throttle]. It is sent once, and again after a [ThrottleEnded].
type ThrottleBegan struct {
	Worker    string
	Indicator string // such as "vacuum", or the name of an [Indicator]
	Reason    string // the first
	Err       error  // why the indicator could not be read; nil: it was read
}

// ThrottleEnded: an indicator is well again, or can be read again. A worker finds out when one of its
// tasks is about to run a batch; without such a task it does not read.
type ThrottleEnded struct {
	Worker    string
	Indicator string
	Duration  time.Duration // since ThrottleBegan
}

// IndicatorUnreadable: the worker cannot read an indicator of the database, for the reason in Err: its
// role has no right to, the server does not have it, or a kind touches a table that does not exist. No
// batch waits for what is not read. It is sent once for each.
type IndicatorUnreadable struct {
	Worker    string
	Indicator string
	Err       error
}

// ScheduleFired: the worker has submitted tasks of a schedule, in the transaction that sets its
// next fire.
type ScheduleFired struct {
	Worker    string
	Schedule  string
	Kind      string
	Wall      string // the last wall time, such as 2026-03-29 02:30; empty: it was only triggered
	Triggered bool   // one of the tasks was asked for by a person
	Tasks     []ID   // not to be modified
}

// ScheduleMissed: fires of a schedule were more than a minute late. What became of them was
// decided by its policy.
type ScheduleMissed struct {
	Worker    string
	Schedule  string
	Kind      string
	Policy    Misfire
	First     string // the first wall time that was missed
	Last      string // the last one
	Submitted int    // tasks for these wall times
}

// ScheduleFailed: a schedule cannot submit its task.
type ScheduleFailed struct {
	Worker   string
	Schedule string
	Kind     string
	// Wall is the wall time that has no task for this reason. If it is empty the schedule
	// stays due: another worker may know its time zone.
	Wall string
	Err  error
}

// TasksTakenOver: the worker has declared others dead, and released tasks that no
// live worker had. Any worker may claim them; see [TaskClaimed].
type TasksTakenOver struct {
	Worker string
	Dead   []string // IDs of workers
	Tasks  []ID     // queued again
	Ended  []ID     // ended or removed, as had been requested
}

// TaskClaimed: the worker has claimed a task. It is the first event of a lease.
type TaskClaimed struct {
	TaskRef
	Queue     string
	Submitted time.Time // by the clock of the database
	TakenOver bool      // a worker was lost with the task, and those since have only given it back
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
}

// BatchShrunk: a statement of a batch was too large for the database. The batch is
// tried again at once, with fewer items.
type BatchShrunk struct {
	TaskRef
	Limit    int // items
	NewLimit int // items
	Detail   string
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
	Delay  time.Duration // until it is due; after [LaterAt] by this machine's clock
}

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
	Status     Status
	Partial    bool   // COMPLETED by a stop, before it was done
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

func (WorkerStarted) workerEvent()       {}
func (OldRemoved) workerEvent()          {}
func (WorkerEnded) workerEvent()         {}
func (WorkerListening) workerEvent()     {}
func (WorkerPolling) workerEvent()       {}
func (PresenceMissing) workerEvent()     {}
func (PresenceUnknown) workerEvent()     {}
func (DeclaredDead) workerEvent()        {}
func (HeartbeatFailed) workerEvent()     {}
func (ClaimFailed) workerEvent()         {}
func (GroupCommitFailed) workerEvent()   {}
func (CallFailed) workerEvent()          {}
func (BatchesCancelled) workerEvent()    {}
func (SessionsAbandoned) workerEvent()   {}
func (ThrottleBegan) workerEvent()       {}
func (ThrottleEnded) workerEvent()       {}
func (IndicatorUnreadable) workerEvent() {}
func (TasksTakenOver) workerEvent()      {}
func (TaskThrottled) workerEvent()       {}
func (TaskClaimed) workerEvent()         {}
func (ClaimLost) workerEvent()           {}
func (BatchDone) workerEvent()           {}
func (BatchShrunk) workerEvent()         {}
func (ItemSkipped) workerEvent()         {}
func (CheckpointWritten) workerEvent()   {}
func (TaskRetried) workerEvent()         {}
func (TaskReleased) workerEvent()        {}
func (TaskEnded) workerEvent()           {}
func (TaskLost) workerEvent()            {}
func (ExecutorAbandoned) workerEvent()   {}
func (CommitReadBack) workerEvent()      {}
func (ReadBackFailed) workerEvent()      {}
func (EndingFailed) workerEvent()        {}
func (WriteRefused) workerEvent()        {}
func (KindUnknown) workerEvent()         {}
func (UnknownKindsEnded) workerEvent()   {}
func (ScheduleFired) workerEvent()       {}
func (ScheduleMissed) workerEvent()      {}
func (ScheduleFailed) workerEvent()      {}
