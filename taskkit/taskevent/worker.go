package taskevent

import (
	"time"

	"github.com/google/uuid"
)

// WorkerStarted: a worker has registered. It may do so again under another ID, after
// a [WorkerEnded] with an error.
type WorkerStarted struct {
	Worker string
	Slots  int
	Queues []string // not to be modified
	// SafeMode: it claims nothing, see Config.SafeMode.
	SafeMode bool
	// Busy returns how many of its slots run a task now. It is safe to call at any time, and costs nothing meanwhile.
	Busy func() int
}

// ClaimDone: a claim has been answered. It is not logged.
type ClaimDone struct {
	Worker   string
	Tasks    int // that it has taken
	Duration time.Duration
}

// GroupCommitted: writes of several tasks have been committed together. It is not logged.
type GroupCommitted struct {
	Worker   string
	Writes   int
	Duration time.Duration
}

// KindUnknown: tasks are due whose kind or revision no live worker knows that serves their queue. One
// worker reports it once a day.
type KindUnknown struct {
	Worker   string
	Kind     string
	Revision int
	Queue    string
	Tasks    int64     // at least so many were due
	Since    time.Time // when that was first seen
}

// UnknownKindsEnded: tasks have ended in ERROR with the code unknown_kind, see
// taskkit.Config.UnknownKindAfter.
type UnknownKindsEnded struct {
	Worker string
	Tasks  int
}

// TasksExpired: tasks that no worker has begun have ended in FAILURE, since their latest start or their deadline
// was over, see taskkit.WithLatestStart.
type TasksExpired struct {
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

// OutageBegan: the worker cannot use the database, for a reason that no task has caused: it is down, read-only or full, its
// role lacks a right, or the tables are missing. The worker claims nothing, and its tasks spend no attempt. It probes until an
// [OutageEnded]. Other events of failures that follow from it have lines of the level DEBUG in the log.
type OutageBegan struct {
	Worker string
	Err    error // the first
}

// OutageEnded: the worker can use the database again.
type OutageEnded struct {
	Worker   string
	Duration time.Duration // since OutageBegan
}

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
	Call    string        // one of the constants, such as [CallRegister]
	Try     int           // from 1
	RetryIn time.Duration // zero unless Call is "register"
	Err     error
}

// The calls of [CallFailed].
const (
	CallRegister    = "register"
	CallDeregister  = "deregister"
	CallReap        = "reap"          // release the tasks of lost workers
	CallPresence    = "read_presence" // of other workers
	CallFoundAlive  = "found_alive"   // record that a worker that was declared dead runs
	CallClean       = "remove_old"
	CallWakeParents = "wake_parents" // whose children have ended
	CallWakeWaiting = "wake_waiting" // tasks that wait for a concurrency limit
	CallCheckClaims = "check_claims" // for claims whose response was lost
	CallSchedules   = "fire_schedules"
)

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

// OldRemoved: the worker has removed what was kept for long enough, see taskkit.Retention.
type OldRemoved struct {
	Worker  string
	Results int // erased
	Tasks   int // that had ended
	Idle    int // tasks that had not
	Events  int
}

// ThrottleBegan: an indicator has ceased to be well, and batches of this worker wait for it, see
// taskkit.Config.Throttle. It is sent once, and again after a [ThrottleEnded].
type ThrottleBegan struct {
	Worker    string
	Indicator string // such as "vacuum", or the name of an indicator of the program
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
	// Lag is how late the last wall time was by the database's clock; 0: it was only triggered, or it had waited for the end of
	// the task before it.
	Lag   time.Duration
	Tasks []uuid.UUID // not to be modified
}

// ScheduleMissed: fires of a schedule were more than a minute late. What became of them was
// decided by its policy.
type ScheduleMissed struct {
	Worker    string
	Schedule  string
	Kind      string
	Policy    string // such as "once", see taskops.Misfire
	First     string // the first wall time that was missed
	Last      string // the last one
	Submitted int    // tasks for these wall times
}

// ScheduleSkipped: a fire of a schedule has no task, since an earlier task has not ended.
type ScheduleSkipped struct {
	Worker   string
	Schedule string
	Kind     string
	Wall     string    // the wall time; empty: it was triggered
	Policy   string    // the overlap policy, see taskops.Overlap; "unique key": a task has the unique key
	Task     uuid.UUID // the earlier task; zero for a unique key
}

// ScheduleAlternates: since its last fire, programs have set a schedule again and again from one definition to another and back.
// Probably two of them have different definitions under one name, or one of them is old.
type ScheduleAlternates struct {
	Worker   string
	Schedule string
	Kind     string
	Changes  int       // in a row that went back to the definition before
	Modified time.Time // the last of them
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
	Dead   []string    // IDs of workers
	Tasks  []uuid.UUID // queued again
	Ended  []uuid.UUID // ended or removed, as had been requested
}

func (WorkerStarted) event()       {}
func (ClaimDone) event()           {}
func (GroupCommitted) event()      {}
func (OldRemoved) event()          {}
func (WorkerEnded) event()         {}
func (WorkerListening) event()     {}
func (WorkerPolling) event()       {}
func (PresenceMissing) event()     {}
func (PresenceUnknown) event()     {}
func (DeclaredDead) event()        {}
func (OutageBegan) event()         {}
func (OutageEnded) event()         {}
func (HeartbeatFailed) event()     {}
func (ClaimFailed) event()         {}
func (GroupCommitFailed) event()   {}
func (CallFailed) event()          {}
func (BatchesCancelled) event()    {}
func (SessionsAbandoned) event()   {}
func (ThrottleBegan) event()       {}
func (ThrottleEnded) event()       {}
func (IndicatorUnreadable) event() {}
func (TasksTakenOver) event()      {}
func (KindUnknown) event()         {}
func (UnknownKindsEnded) event()   {}
func (TasksExpired) event()        {}
func (ScheduleFired) event()       {}
func (ScheduleMissed) event()      {}
func (ScheduleSkipped) event()     {}
func (ScheduleAlternates) event()  {}
func (ScheduleFailed) event()      {}
