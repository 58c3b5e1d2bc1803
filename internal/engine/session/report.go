package session

import (
	"context"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine/observe"
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
func (c *current) ref() taskevent.TaskRef {
	return c.Events.Task(c.task.ID, c.task.Kind, c.lease.Fence, c.tries)
}

// reportWritten reports a write that the database has committed. The position of
// the session is still the one before it. Control is the request that stands on the
// task after the write.
func (c *current) reportWritten(w *store.Write, control lifecycle.Control) {
	seq, before, progress := c.lease.Seq, c.progress, c.progress
	if w.Checkpoint {
		seq, progress = seq+1, w.Progress
		if c.summed {
			before = progress
		}
		c.reportCheckpoint(seq, before, progress)
	}
	var code, detail string
	if w.Attempt != nil {
		code, detail = w.Attempt.Code, w.Attempt.Detail
	}
	switch {
	case w.To.Terminal():
		e := taskevent.TaskEnded{
			TaskRef: c.ref(), Queue: c.task.Queue, Status: string(w.To), Partial: w.Partial, Removed: control == lifecycle.Delete, Code: code, Detail: detail,
			Checkpoint: seq, Progress: observe.Progress(progress), Duration: time.Since(c.began),
		}
		if w.To == lifecycle.Completed {
			observe.Frequent(c.Events, e)
		} else {
			c.Events.Report(e)
		}
		endWith(c.following, e)
	case w.To == lifecycle.Queued && w.Attempt != nil:
		e := taskevent.TaskRetried{TaskRef: c.ref(), RetryIn: w.Delay, Code: code, Detail: detail}
		c.Events.Report(e)
		endWith(c.following, e)
	case w.To == lifecycle.Queued:
		delay := w.Delay
		if !w.At.IsZero() {
			delay = time.Until(w.At)
		}
		e := taskevent.TaskReleased{TaskRef: c.ref(), Reason: w.Reason, Cause: ReleaseCause(w.Reason), Delay: max(delay, 0)}
		observe.Frequent(c.Events, e)
		endWith(c.following, e)
	}
}

// reportCheckpoint reports a checkpoint that is committed, and the progress at the one before it.
func (c *current) reportCheckpoint(seq int64, before, p lifecycle.Progress) {
	observe.Frequent(c.Events, taskevent.CheckpointWritten{
		TaskRef: c.ref(), Checkpoint: seq, Progress: observe.Progress(p),
		Done: p.Done - before.Done, Failed: p.Failed - before.Failed, Skipped: p.Skipped - before.Skipped,
	})
}

// releaseCauses are the words of package taskevent for the reasons that a session has.
var releaseCauses = map[string]string{
	ReasonShutdown: taskevent.ReleaseShutdown, reasonPaused: taskevent.ReleasePaused, reasonYielded: taskevent.ReleaseYielded,
	reasonTurnOver: taskevent.ReleaseYielded, ReasonNoSlot: taskevent.ReleaseNoSlot, ReasonOutage: taskevent.ReleaseOutage,
}

// ReleaseCause returns the word for the reason of a release, see [taskevent.TaskReleased].
func ReleaseCause(reason string) string {
	if cause, ok := releaseCauses[reason]; ok {
		return cause
	}
	return lifecycle.WaitCause(reason)
}

// reportBatch reports that the executor of a batch has returned, and the progress
// of the task if the batch is committed.
func (c *current) reportBatch(step *Step, took time.Duration, after lifecycle.Progress, class classify.Classification) {
	e := taskevent.BatchDone{
		TaskRef: c.ref(), Limit: step.Limit, Duration: took, Code: class.Code, Detail: class.Detail,
		Done: after.Done - c.progress.Done, Failed: after.Failed - c.progress.Failed, Skipped: after.Skipped - c.progress.Skipped,
		Traced: c.following != nil && c.following.trace != nil,
	}
	observe.Frequent(c.Events, e)
	if e.Traced {
		c.following.done(e)
	}
}

// endWith ends a trace with an event. It allocates nothing if there is none.
func endWith[E taskevent.Event](f *following, e E) {
	if f != nil {
		f.end(e)
	}
}

// reportFailedBatch reports a batch that will not be committed.
func (c *current) reportFailedBatch(ctx context.Context, step *Step, took time.Duration, err error) {
	c.reportBatch(step, took, c.progress, classified(ctx, err))
}

// reportLost reports that the session no longer has its task.
func (c *current) reportLost(reason string) {
	e := taskevent.TaskLost{TaskRef: c.ref(), Reason: reason}
	c.Events.Report(e)
	endWith(c.following, e)
}
