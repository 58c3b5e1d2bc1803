package engine

import (
	"context"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// Why a session no longer has its task, for [taskevent.TaskLost].
const (
	reasonWorkerEnded = "its worker ended, or lost its identity, before the task could be written"
	reasonLeaseGone   = "another worker has it, or it has ended"
)

// ref is the session's task as events name it.
func (s *session) ref() taskevent.TaskRef {
	return s.events.task(s.task.ID, s.task.Kind, s.lease.Fence, s.tries)
}

// reportWritten reports a write that the database has committed. The position of
// the session is still the one before it. Control is the request that stands on the
// task after the write.
func (s *session) reportWritten(w *store.Write, control lifecycle.Control) {
	s.checkFamily(w)
	if w.To != lifecycle.Executing {
		s.checkLimits()
	}
	if w.To == lifecycle.Queued && w.At.Before(store.Forever) {
		s.pool.returned()
	}
	seq, progress := s.lease.Seq, s.progress
	if w.Checkpoint {
		seq, progress = seq+1, w.Progress
		s.reportCheckpoint(seq, progress)
	}
	var c classify.Classification
	if w.Attempt != nil {
		c.Code, c.Detail = w.Attempt.Code, w.Attempt.Detail
	}
	switch {
	case w.To.Terminal():
		e := taskevent.TaskEnded{
			TaskRef: s.ref(), Status: string(w.To), Partial: w.Partial, Removed: control == lifecycle.Delete, Code: c.Code, Detail: c.Detail,
			Checkpoint: seq, Progress: progressOf(progress), Duration: time.Since(s.began),
		}
		if w.To == lifecycle.Completed {
			reportFrequent(s.events, e)
			return
		}
		s.events.report(e)
	case w.To == lifecycle.Queued && w.Attempt != nil:
		s.events.report(taskevent.TaskRetried{TaskRef: s.ref(), RetryIn: w.Delay, Code: c.Code, Detail: c.Detail})
	case w.To == lifecycle.Queued:
		delay := w.Delay
		if !w.At.IsZero() {
			delay = time.Until(w.At)
		}
		reportFrequent(s.events, taskevent.TaskReleased{TaskRef: s.ref(), Reason: w.Reason, Delay: max(delay, 0)})
		if s.throttledBy != "" {
			reportFrequent(s.events, taskevent.TaskThrottled{TaskRef: s.ref(), Indicator: s.throttledBy, Reason: w.Reason, Delay: max(delay, 0)})
		}
	}
}

// reportCheckpoint reports a checkpoint that is committed.
func (s *session) reportCheckpoint(seq int64, p lifecycle.Progress) {
	reportFrequent(s.events, taskevent.CheckpointWritten{TaskRef: s.ref(), Checkpoint: seq, Progress: progressOf(p)})
}

// reportBatch reports that the executor of a batch has returned, and the progress
// of the task if the batch is committed.
func (s *session) reportBatch(step *Step, took time.Duration, after lifecycle.Progress, c classify.Classification) {
	reportFrequent(s.events, taskevent.BatchDone{
		TaskRef: s.ref(), Limit: step.Limit, Duration: took, Code: c.Code, Detail: c.Detail,
		Done: after.Done - s.progress.Done, Failed: after.Failed - s.progress.Failed, Skipped: after.Skipped - s.progress.Skipped,
	})
}

// reportFailedBatch reports a batch that will not be committed.
func (s *session) reportFailedBatch(ctx context.Context, step *Step, took time.Duration, err error) {
	s.reportBatch(step, took, s.progress, classified(ctx, err))
}

// reportGone reports what a read-back says of a write after which the task is not
// leased by this session any more. A row that is gone was removed by an end: that of
// this session, if one of unknown outcome fits its position.
func (s *session) reportGone(w *store.Write, found lifecycle.Position) {
	// Whatever has become of it, and whichever write that was: it may be one before this.
	if s.child != nil {
		s.parents.check(s.child.Parent)
	}
	if s.hasChildren() {
		s.parents.check(s.task.ID)
	}
	s.checkLimits()
	switch {
	case !found.Exists && s.unknownEnd != nil && s.unknownEnd.Seq == s.lease.Seq:
		s.reportWritten(s.unknownEnd, lifecycle.Delete)
	case !found.Exists:
		s.reportLost("it does not exist any more")
	case lifecycle.ReadBack(w.Lifecycle(), found) == lifecycle.Happened:
		s.reportWritten(w, lifecycle.None)
	default:
		s.reportLost(reasonLeaseGone)
	}
}

// reportLost reports that the session no longer has its task.
func (s *session) reportLost(reason string) {
	s.events.report(taskevent.TaskLost{TaskRef: s.ref(), Reason: reason})
}
