// Package observe passes the events of a worker to its log and to the user's observer.
package observe

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// Observer passes the events of a worker to its log and to [Config.Observe]. It is
// safe for concurrent use.
type Observer struct {
	ctx      context.Context //nolint:containedctx // it carries the values of Run's context, and never ends
	Log      *slog.Logger
	user     func(ctx context.Context, e taskevent.Event) // nil: none
	Worker   string                                       // the process ID
	panicked *sync.Once                                   // the first panic of user is logged
	// Covers reports whether the log needs no line for an event of this observer, or gets it later by Write, because it may be an
	// effect of an outage, which has a line of its own. Nil: each event has its line.
	Covers func(by *Observer, e taskevent.Event) bool
}

// New returns an observer. user is called with each event, on the goroutine that it happens on; nil: events are only logged.
func New(ctx context.Context, log *slog.Logger, user func(ctx context.Context, e taskevent.Event)) *Observer {
	return &Observer{ctx: context.WithoutCancel(ctx), Log: log, user: user, panicked: new(sync.Once)}
}

// As returns the observer of a worker under a process ID.
func (o *Observer) As(process string) *Observer {
	own := *o
	own.Log, own.Worker = o.Log.With("worker", process), process
	return &own
}

// Task returns the reference to a task of this worker.
func (o *Observer) Task(id uuid.UUID, kind string, fence int64, attempt int) taskevent.TaskRef {
	return taskevent.TaskRef{Worker: o.Worker, Task: id, Kind: kind, Fence: fence, Attempt: attempt}
}

// Report passes on an event.
func (o *Observer) Report(e taskevent.Event) {
	level, message, args := line(e)
	if level > slog.LevelDebug && o.Covers != nil && o.Covers(o, e) {
		level = slog.LevelDebug
	}
	o.Log.Log(o.ctx, level, message, args...)
	o.callUser(e)
}

// Write writes the line of an event that was covered.
func (o *Observer) Write(e taskevent.Event) {
	level, message, args := line(e)
	o.Log.Log(o.ctx, level, message, args...)
}

// Frequent is report for the events of every batch and every task, whose
// lines have the level DEBUG. It allocates nothing while neither the log nor an
// observer receives them.
func Frequent[E taskevent.Event](o *Observer, e E) {
	switch {
	case o.Log.Enabled(o.ctx, slog.LevelDebug):
		o.Report(e)
	case o.user != nil:
		o.callUser(e)
	}
}

// Measured passes a measurement to the user's observer. It has no line in the log, and allocates nothing while there is no
// observer.
func Measured[E taskevent.Event](o *Observer, e E) {
	if o.user != nil {
		o.callUser(e)
	}
}

// callUser calls the user's observer, if there is one. Its panics must not harm the
// worker.
func (o *Observer) callUser(e taskevent.Event) {
	if o.user != nil {
		o.Guard(func() { o.user(o.ctx, e) })
	}
}

// Guard calls a function of the user's observer, and recovers its panics.
func (o *Observer) Guard(f func()) {
	defer func() {
		if v := recover(); v != nil {
			o.panicked.Do(func() {
				o.Log.Error("the observer panicked; its further panics are not logged", "error", classify.Panic(v))
			})
		}
	}()
	f()
}

// line returns the line of an event in the log. The lines of a task begin with the
// keys "task" and "kind", and the log of a worker has the key "worker".
func line(e taskevent.Event) (level slog.Level, message string, args []any) {
	switch e := e.(type) {
	case taskevent.WorkerStarted:
		if e.SafeMode {
			return slog.LevelWarn, "worker started in safe mode and claims nothing", []any{"slots", e.Slots, "queues", e.Queues}
		}
		return slog.LevelInfo, "worker started", []any{"slots", e.Slots, "queues", e.Queues}
	case taskevent.WorkerEnded:
		if e.Err != nil {
			return slog.LevelError, "worker lost its identity and ends under this ID", []any{"error", e.Err}
		}
		return slog.LevelInfo, "worker ended", nil
	case taskevent.WorkerListening:
		return slog.LevelDebug, "listening for new tasks", nil
	case taskevent.WorkerPolling:
		return slog.LevelInfo, "cannot listen for new tasks; polling", []any{"poll", e.Every, "retry_in", e.RetryIn, "error", e.Err}
	case taskevent.PresenceMissing:
		if errors.Is(e.Err, store.ErrInMemory) {
			return slog.LevelDebug, "no presence lock, since the database is in memory", []any{"dead_after", e.DeadAfter}
		}
		return slog.LevelWarn, "no presence lock; others notice the end of this worker by its heartbeat alone", []any{"dead_after", e.DeadAfter, "error", e.Err}
	case taskevent.PresenceUnknown:
		return slog.LevelWarn, "cannot read the presence of other workers; their ends are noticed by their heartbeats alone", []any{"error", e.Err}
	case taskevent.DeclaredDead:
		return slog.LevelWarn, "declared dead although it runs; others may have taken its tasks over, and what it has not committed is undone", nil
	case taskevent.OutageBegan:
		return slog.LevelWarn, "the database cannot be used; nothing is claimed, and no task spends an attempt", []any{"error", e.Err}
	case taskevent.OutageEnded:
		return slog.LevelInfo, "the database can be used again", []any{"duration", e.Duration}
	case taskevent.HeartbeatFailed:
		return slog.LevelWarn, "cannot renew the heartbeat", []any{"deadline_in", e.DeadlineIn, "error", e.Err}
	case taskevent.ClaimFailed:
		return slog.LevelWarn, "cannot claim", []any{"try", e.Try, "error", e.Err}
	case taskevent.GroupCommitFailed:
		return slog.LevelWarn, "group commit failed; reading the tasks back", []any{"writes", e.Writes, "try", e.Try, "error", e.Err}
	case taskevent.CallFailed:
		return lineOfCall(e)
	case taskevent.BatchesCancelled:
		return slog.LevelWarn, "cancelling batches", []any{"sessions", e.Sessions}
	case taskevent.SessionsAbandoned:
		return slog.LevelError, "abandoning sessions that ignore their context", []any{"sessions", e.Sessions}
	case taskevent.OldRemoved:
		return slog.LevelInfo, "removed what was kept for long enough", []any{"results", e.Results, "tasks", e.Tasks, "idle", e.Idle, "events", e.Events}
	case taskevent.ThrottleBegan:
		if e.Err != nil {
			return slog.LevelWarn, "batches wait because an indicator cannot be read", []any{"indicator", e.Indicator, "error", e.Err}
		}
		return slog.LevelInfo, "batches wait", []any{"indicator", e.Indicator, "reason", e.Reason}
	case taskevent.ThrottleEnded:
		return slog.LevelInfo, "batches run again", []any{"indicator", e.Indicator, "duration", e.Duration}
	case taskevent.IndicatorUnreadable:
		return slog.LevelWarn, "cannot read an indicator; no batch waits for it", []any{"indicator", e.Indicator, "error", e.Err}
	case taskevent.KindUnknown:
		return slog.LevelWarn, "tasks wait whose kind or revision no live worker of their queue knows", []any{"kind", e.Kind, "revision", e.Revision, "queue", e.Queue, "tasks", e.Tasks, "since", e.Since}
	case taskevent.UnknownKindsEnded:
		return slog.LevelWarn, "ended tasks whose kind or revision has been unknown for too long", []any{"tasks", e.Tasks}
	case taskevent.TasksExpired:
		return slog.LevelWarn, "failed tasks that waited beyond their latest start or deadline", []any{"tasks", e.Tasks}
	case taskevent.TasksTakenOver:
		return slog.LevelWarn, "released the tasks of lost workers", []any{"dead", e.Dead, "released", len(e.Tasks), "ended", len(e.Ended)}
	case taskevent.ScheduleFired, taskevent.ScheduleMissed, taskevent.ScheduleFailed, taskevent.ScheduleSkipped, taskevent.ScheduleAlternates:
		return lineOfSchedule(e)
	default:
		return lineOfTask(e)
	}
}

// lineOfSchedule is line for the events of a schedule.
func lineOfSchedule(e taskevent.Event) (level slog.Level, message string, args []any) {
	switch e := e.(type) {
	case taskevent.ScheduleMissed:
		return slog.LevelWarn, "schedule fires late", []any{"schedule", e.Schedule, "kind", e.Kind, "first", e.First, "last", e.Last, "misfire", e.Policy, "submitted", e.Submitted}
	case taskevent.ScheduleSkipped:
		return slog.LevelWarn, "schedule skips a fire, since an earlier task has not ended", []any{"schedule", e.Schedule, "kind", e.Kind, "wall", e.Wall, "policy", e.Policy, "task", e.Task}
	case taskevent.ScheduleAlternates:
		return slog.LevelWarn, "programs set a schedule to different definitions in turn", []any{"schedule", e.Schedule, "kind", e.Kind, "changes", e.Changes, "modified", e.Modified}
	case taskevent.ScheduleFailed:
		args = []any{"schedule", e.Schedule, "kind", e.Kind, "error", e.Err}
		if e.Wall == "" {
			return slog.LevelWarn, "cannot fire a schedule here; another worker may", args
		}
		return slog.LevelError, "a schedule cannot submit its task; it goes on with its next wall time", append(args, "wall", e.Wall)
	case taskevent.ScheduleFired:
		return slog.LevelInfo, "schedule fired", []any{"schedule", e.Schedule, "kind", e.Kind, "wall", e.Wall, "triggered", e.Triggered, "tasks", len(e.Tasks)}
	default:
		return slog.LevelError, noLine, []any{"event", e}
	}
}

// lineOfCall is line for a call of the runtime that failed.
func lineOfCall(e taskevent.CallFailed) (level slog.Level, message string, args []any) {
	switch e.Call {
	case taskevent.CallRegister:
		return slog.LevelError, "cannot register", []any{"try", e.Try, "retry_in", e.RetryIn, "error", e.Err}
	case taskevent.CallDeregister:
		return slog.LevelError, "cannot deregister; other workers will take the tasks over", []any{"error", e.Err}
	case taskevent.CallPresence:
		return slog.LevelWarn, "cannot read the presence of other workers", []any{"error", e.Err}
	case taskevent.CallFoundAlive:
		return slog.LevelWarn, "cannot record that this worker ran", []any{"error", e.Err}
	case taskevent.CallCheckClaims:
		return slog.LevelWarn, "cannot check for lost claims", []any{"error", e.Err}
	case taskevent.CallSchedules:
		return slog.LevelWarn, "cannot fire schedules", []any{"error", e.Err}
	case taskevent.CallClean:
		return slog.LevelWarn, "cannot remove what was kept for long enough", []any{"error", e.Err}
	case taskevent.CallWakeParents:
		return slog.LevelWarn, "cannot wake parents whose children have ended", []any{"try", e.Try, "error", e.Err}
	case taskevent.CallWakeWaiting:
		return slog.LevelWarn, "cannot wake tasks under limits", []any{"try", e.Try, "error", e.Err}
	default:
		return slog.LevelWarn, "cannot " + e.Call, []any{"error", e.Err}
	}
}

// noLine is the message of an event that has none. A test finds such an event.
const noLine = "an event without a line"

// lineOfTask is line for the events of a task.
func lineOfTask(e taskevent.Event) (level slog.Level, message string, args []any) {
	of := func(r taskevent.TaskRef, more ...any) []any {
		return append([]any{"task", r.Task, "kind", r.Kind}, more...)
	}
	switch e := e.(type) {
	case taskevent.TaskClaimed:
		return slog.LevelDebug, "task claimed", of(e.TaskRef, "fence", e.Fence, "try", e.Attempt, "taken_over", e.TakenOver)
	case taskevent.ClaimLost:
		return slog.LevelWarn, "releasing a task whose claim was lost", of(e.TaskRef)
	case taskevent.BatchDone:
		args = of(e.TaskRef, "try", e.Attempt, "limit", e.Limit, "duration", e.Duration, "done", e.Done, "failed", e.Failed, "skipped", e.Skipped)
		if e.Code != "" {
			args = append(args, "code", e.Code, "error", e.Detail)
		}
		return slog.LevelDebug, "batch done", args
	case taskevent.BatchShrunk:
		return slog.LevelWarn, "batch too large for the database", of(e.TaskRef, "limit", e.Limit, "new_limit", e.NewLimit, "error", e.Detail)
	case taskevent.ItemSkipped:
		return slog.LevelWarn, "skipped a poison item", of(e.TaskRef, "item", e.Item, "position", e.Position)
	case taskevent.PolicyFired:
		return slog.LevelWarn, "policy fired", of(e.TaskRef, "of", e.Of, "policy", e.Policy, "action", e.Action, "reason", e.Reason)
	case taskevent.CheckpointWritten:
		return slog.LevelDebug, "checkpoint written", of(e.TaskRef, append([]any{"checkpoint", e.Checkpoint}, counters(e.Progress)...)...)
	case taskevent.TaskRetried:
		return slog.LevelWarn, "batch failed", of(e.TaskRef, "try", e.Attempt, "retry_in", e.RetryIn, "code", e.Code, "error", e.Detail)
	case taskevent.TaskReleased:
		return slog.LevelDebug, "task released", of(e.TaskRef, "reason", e.Reason, "delay", e.Delay)
	case taskevent.TaskThrottled:
		return slog.LevelDebug, "task throttled", of(e.TaskRef, "indicator", e.Indicator, "reason", e.Reason, "delay", e.Delay)
	case taskevent.TaskEnded:
		level, args = slog.LevelDebug, of(e.TaskRef, append([]any{"status", e.Status}, counters(e.Progress)...)...)
		if e.Status != string(lifecycle.Completed) {
			level = slog.LevelWarn
		}
		if e.Partial {
			args = append(args, "stopped", true)
		}
		if e.Removed {
			args = append(args, "removed", true)
		}
		if e.Code != "" {
			args = append(args, "code", e.Code, "error", e.Detail)
		}
		return level, "task ended", args
	case taskevent.TaskLost:
		return slog.LevelWarn, "task lost", of(e.TaskRef, "reason", e.Reason)
	case taskevent.ExecutorAbandoned:
		return slog.LevelError, "abandoning an executor that ignores its context", of(e.TaskRef, "error", e.Err)
	case taskevent.CommitReadBack:
		return slog.LevelWarn, "read back after an uncertain commit", of(e.TaskRef, "committed", e.Committed, "checkpoint", e.Checkpoint)
	case taskevent.ReadBackFailed:
		return slog.LevelWarn, "cannot read back after an uncertain commit", of(e.TaskRef, "try", e.Try, "retry_in", e.RetryIn, "error", e.Err)
	case taskevent.EndingFailed:
		return slog.LevelWarn, "cannot end the task", of(e.TaskRef, "try", e.Try, "retry_in", e.RetryIn, "error", e.Err)
	case taskevent.WriteRefused:
		return slog.LevelError, "the database refuses a write; the task is released when this worker ends", of(e.TaskRef, "error", e.Err)
	default:
		return slog.LevelError, noLine, []any{"event", e}
	}
}

// Progress returns the progress of a task for an event.
func Progress(p lifecycle.Progress) taskevent.Progress {
	return taskevent.Progress{Total: p.Total, Done: p.Done, Failed: p.Failed, Skipped: p.Skipped}
}

// counters are the keys of a task's progress.
func counters(p taskevent.Progress) []any {
	return []any{"done", p.Done, "failed", p.Failed, "skipped", p.Skipped}
}
