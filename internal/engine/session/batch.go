package session

import (
	"cmp"
	"context"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// work is what the batches of a session do: they execute the task, or find its targets.
type work interface {
	// batch prepares the step of a batch, and returns the batch. Nil: the work has ended, and the session has other work.
	batch(step *Step) (batch, error)
}

// batch is one call of the executor. An executor that was abandoned may still use its batch, and no other.
type batch interface {
	// call calls the executor. It runs on the executor's goroutine.
	call(ctx context.Context, step *Step) error
	// result returns the outcome after call has succeeded, without what the features add.
	result(step *Step) (*result, error)
}

// batch runs one batch: the executor, and the write of its checkpoint.
func (s *Session) batch() flow {
	tx := s.newTx()
	step := s.newStep(tx)
	b, err := s.work.batch(step)
	if err == nil && b == nil {
		return continueSession
	}
	for i := 0; err == nil && i < len(s.features); i++ {
		err = s.features[i].begin(step)
	}
	if err != nil {
		return s.failed(s.ctx, classify.OfRuntime(err))
	}
	ctx, cancel := context.WithTimeoutCause(s.ctx, s.Config.BatchTimeout, classify.ErrBatchTimeout)
	defer cancel()
	started := time.Now()
	err = s.callExecutor(s.following.batch(ctx, step), step, func(ctx context.Context) error { return b.call(ctx, step) })
	if step.hasSkipped() {
		tx.rollback()
		return s.commitSkip(step)
	}
	var r *result
	if err == nil { // else an executor that did not return may still write what it has found
		r, err = b.result(step)
	}
	for i := 0; err == nil && i < len(s.features); i++ {
		r.took = time.Since(started)
		err = s.features[i].finish(step, r)
	}
	if err != nil {
		tx.rollback()
		took := time.Since(started)
		s.reportFailedBatch(ctx, step, took, err)
		for _, f := range s.features {
			f.discarded(took)
		}
		return s.react(ctx, err, step, started)
	}
	s.reportBatch(step, r.took, r.Progress, classify.Classification{})
	s.summed = step.isSum()
	then := s.next(r)
	if d := step.decision(); d != nil && (!r.To.Terminal() || s.isBucket()) {
		then = s.request(&r.Write, d, then)
	}
	s.check(&r.Write)
	s.limit.Record(r.items, r.took)
	return s.orFailed(s.commit(tx, &r.Write, then))
}

// next sets where the task goes after a batch that succeeded.
func (s *Session) next(r *result) flow {
	w, next := &r.Write, r.next
	switch {
	case r.another:
		s.nextRound(w)
	case next.Done:
		w.To, w.HasChildren = lifecycle.Completed, s.hasChildren()
		w.Partial, w.StatusDetail = next.LeftOut != "", classify.Clean(next.LeftOut)
	case next.AwaitChildren:
		w.To, w.At, w.Reason = lifecycle.Queued, store.Forever, lifecycle.ReasonChildren
		w.Wait = &store.Wait{OpenAtMost: next.OpenAtMost, OnFailure: next.OnFailure}
		if s.children != nil {
			w.Wait.Seen = s.children.family.Failed
		}
		switch {
		case next.Divided && w.Progress.Total >= 0:
			w.Wait.Total = w.Progress.Total
		case next.MoreParts:
			w.Wait.Total = -1
		}
		w.Attempts = lifecycle.AfterLater(s.stored, r.progressed)
	case next.later():
		w.To, w.Delay, w.At, w.Reason = lifecycle.Queued, next.Wait, next.At, cmp.Or(next.Reason, reasonLater)
		w.Attempts = lifecycle.AfterLater(s.stored, r.progressed)
	case s.Pool.IsDraining():
		w.To, w.Reason = lifecycle.Queued, ReasonShutdown
	default:
		return continueSession
	}
	return endSession
}

// commit makes the last write of a batch: inside its transaction if that has begun, otherwise with the group commit. The
// transaction of a preview is rolled back before. If the write is applied, the session does then. The error is the error of
// [Session.handleWriteResult].
func (s *Session) commit(tx *LazyTx, w *store.Write, then flow) (flow, error) {
	s.notify(w)
	open, _ := tx.close()
	if tx.isPreview() {
		tx.rollback()
		open = nil
	}
	if open == nil {
		if then == endSession {
			*s.handed = true
			// The slot is free for the next task; the end is reported after its flush has committed.
			s.Writer.Add(w, func(a store.Applied, err error) { s.onEndWritten(w, a, err) })
			return endSession, nil
		}
		a, err := s.Writer.Apply(w)
		return s.handleWriteResult(w, a, err, then)
	}
	s.Writer.CancelStart(s.lease.ID)
	sent := time.Now()
	w.Renew = s.Deadline.Age() > s.Config.Heartbeat/4
	// The executor's time is over; the commit has a timeout of its own, and goes
	// through even when the worker is stopped just now.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), s.Config.Call)
	defer cancel()
	a, err := open.Commit(ctx, *w)
	if !store.Unknown(err) {
		err = classify.OfShared(err)
	}
	if err == nil && a.OK && a.Renewed {
		s.Deadline.Renew(sent)
	}
	return s.handleWriteResult(w, a, err, then)
}

// commitSkip records the element that Take has skipped as a failed item, and continues the task after it. What the executor
// did before it called Take is rolled back.
func (s *Session) commitSkip(step *Step) flow {
	w := s.checkpoint(s.state, nil)
	w.Revision, w.Secrets = s.task.Revision, ""
	w.Progress, w.Items, _ = step.finish()
	s.retryDeferred(&w, step, false)
	s.check(&w)
	s.limit.alone = 0 // the item that killed its workers is found
	a, err := s.Writer.Apply(&w)
	if err == nil && a.OK {
		s.Events.Report(taskevent.ItemSkipped{TaskRef: s.ref(), Item: itemkey.Text(w.Items[0].Key), Position: w.Progress.Position})
	}
	return s.orFailed(s.handleWriteResult(&w, a, err, continueSession))
}
