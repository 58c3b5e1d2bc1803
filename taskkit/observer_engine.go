package taskkit

import (
	"context"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/lifecycle"
)

// observe returns what the engine calls with its events, or nil without an
// observer.
func observe(o Observer) func(ctx context.Context, e engine.Event) {
	if o == nil {
		return nil
	}
	return func(ctx context.Context, e engine.Event) {
		if event := workerEvent(e); event != nil {
			o.Observe(ctx, event)
		}
	}
}

// workerEvent returns an event of the engine as users see it.
func workerEvent(e engine.Event) WorkerEvent {
	switch e := e.(type) {
	case engine.WorkerStarted:
		return WorkerStarted(e)
	case engine.KindUnknown:
		return KindUnknown(e)
	case engine.UnknownKindsEnded:
		return UnknownKindsEnded(e)
	case engine.WorkerEnded:
		return WorkerEnded(e)
	case engine.WorkerListening:
		return WorkerListening(e)
	case engine.WorkerPolling:
		return WorkerPolling(e)
	case engine.PresenceMissing:
		return PresenceMissing(e)
	case engine.PresenceUnknown:
		return PresenceUnknown(e)
	case engine.DeclaredDead:
		return DeclaredDead(e)
	case engine.HeartbeatFailed:
		return HeartbeatFailed(e)
	case engine.ClaimFailed:
		return ClaimFailed(e)
	case engine.GroupCommitFailed:
		return GroupCommitFailed(e)
	case engine.CallFailed:
		return CallFailed(e)
	case engine.BatchesCancelled:
		return BatchesCancelled(e)
	case engine.SessionsAbandoned:
		return SessionsAbandoned(e)
	case engine.OldRemoved:
		return OldRemoved(e)
	case engine.ThrottleBegan:
		return ThrottleBegan(e)
	case engine.ThrottleEnded:
		return ThrottleEnded(e)
	case engine.IndicatorUnreadable:
		return IndicatorUnreadable(e)
	case engine.TasksTakenOver:
		return TasksTakenOver(e)
	case engine.ScheduleFired:
		return ScheduleFired(e)
	case engine.ScheduleMissed:
		return ScheduleMissed{e.Worker, e.Schedule, e.Kind, Misfire(e.Policy), e.First, e.Last, e.Submitted}
	case engine.ScheduleFailed:
		return ScheduleFailed(e)
	default:
		return taskEvent(e)
	}
}

// taskEvent is workerEvent for the events of a task.
func taskEvent(e engine.Event) WorkerEvent {
	switch e := e.(type) {
	case engine.TaskClaimed:
		return TaskClaimed{TaskRef(e.TaskRef), e.Queue, e.Submitted, e.TakenOver}
	case engine.ClaimLost:
		return ClaimLost{TaskRef(e.TaskRef)}
	case engine.BatchDone:
		return BatchDone{TaskRef(e.TaskRef), e.Limit, e.Done, e.Failed, e.Skipped, e.Duration, e.Code, e.Detail}
	case engine.BatchShrunk:
		return BatchShrunk{TaskRef(e.TaskRef), e.Limit, e.NewLimit, e.Detail}
	case engine.ItemSkipped:
		return ItemSkipped{TaskRef(e.TaskRef), e.Item, e.Position}
	case engine.CheckpointWritten:
		return CheckpointWritten{TaskRef(e.TaskRef), e.Checkpoint, progress(e.Progress)}
	case engine.TaskRetried:
		return TaskRetried{TaskRef(e.TaskRef), e.RetryIn, e.Code, e.Detail}
	case engine.TaskReleased:
		return TaskReleased{TaskRef(e.TaskRef), e.Reason, e.Delay}
	case engine.TaskThrottled:
		return TaskThrottled{TaskRef(e.TaskRef), e.Indicator, e.Reason, e.Delay}
	case engine.TaskEnded:
		return TaskEnded{TaskRef(e.TaskRef), Status(e.Status), e.Partial, e.Removed, e.Code, e.Detail, e.Checkpoint, progress(e.Progress), e.Duration}
	case engine.TaskLost:
		return TaskLost{TaskRef(e.TaskRef), e.Reason}
	case engine.ExecutorAbandoned:
		return ExecutorAbandoned{TaskRef(e.TaskRef), e.Err}
	case engine.CommitReadBack:
		return CommitReadBack{TaskRef(e.TaskRef), e.Committed, e.Checkpoint}
	case engine.ReadBackFailed:
		return ReadBackFailed{TaskRef(e.TaskRef), e.Try, e.RetryIn, e.Err}
	case engine.EndingFailed:
		return EndingFailed{TaskRef(e.TaskRef), e.Try, e.RetryIn, e.Err}
	case engine.WriteRefused:
		return WriteRefused{TaskRef(e.TaskRef), e.Err}
	default:
		return nil
	}
}

// progress returns the progress of a task as users see it.
func progress(p lifecycle.Progress) Progress {
	return Progress{Total: p.Total, Done: p.Done, Failed: p.Failed, Skipped: p.Skipped}
}
