package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// batch runs one batch: the executor, and the write of its checkpoint.
func (s *session) batch() flow {
	deferred, err := s.deferred()
	if err != nil {
		return s.failed(s.ctx, err)
	}
	targets, err := s.targets(deferred)
	if err == nil {
		err = s.refreshReport()
	}
	if err != nil {
		return s.failed(s.ctx, err)
	}
	ctx, cancel := context.WithTimeoutCause(s.ctx, s.config.BatchTimeout, classify.ErrBatchTimeout)
	defer cancel()
	started := time.Now()

	tx := s.newTx()
	limit := s.rate.limit(s.conditions().Limit(s.limit.size, s.progress))
	env := s.env(tx, limit)
	env.Targets, env.Deferred, env.LastRound = targets, deferred, s.isLastRound()
	step := newStep(s.task, env, s.progress)
	step.skip = s.skip
	var got struct {
		next          Next
		another       bool // the executor is done with a round, and another follows
		state, result json.RawMessage
	}
	err = s.callExecutor(ctx, step, func(ctx context.Context) (err error) {
		got.next, got.state, err = s.call.Execute(ctx, step, s.state)
		if err == nil {
			err = step.misused()
		}
		if err == nil && got.next.Done && tx.submittedChildren() {
			err = errDoneWithChildren
		}
		got.another = got.next.Done && step.endsRound()
		if err == nil && got.next.Done && !got.another && s.hasReport() {
			// The state is what Execute has just returned.
			step.Ending, step.Task.Revision = EndDone, s.kind.Revision
			got.result, err = s.call.Report(ctx, step, got.state)
		}
		return err
	})
	if step.hasSkipped() {
		tx.rollback()
		return s.commitSkip(step)
	}
	if err != nil {
		s.discard(ctx, tx, step, started, err)
		return s.react(ctx, err, limit)
	}

	w := s.checkpoint(got.state, got.result)
	var succeeded []string
	w.Progress, w.Items, succeeded = step.finish()
	if w.Ledger, err = s.ledger(step, succeeded); err != nil {
		s.discard(ctx, tx, step, started, err)
		return s.react(ctx, err, limit)
	}
	w.Memo = step.memo
	s.retryDeferred(&w, step, got.next.Done)
	if got.next == (Next{}) && w.Memo == nil {
		if err := s.idle.check(step, s.progress, w.Progress, s.state, got.state); err != nil {
			s.discard(ctx, tx, step, started, err)
			return s.failed(ctx, err)
		}
	}
	took := time.Since(started)
	if err := s.reportPreview(&w, step, took); err != nil {
		s.discard(ctx, tx, step, started, err)
		return s.failed(ctx, err)
	}
	s.reportBatch(step, took, w.Progress, classify.Classification{})
	_, _, put, _ := step.outcomes.count()
	s.rate.add(put)
	processed := w.Progress.Done + w.Progress.Failed + w.Progress.Skipped -
		s.progress.Done - s.progress.Failed - s.progress.Skipped + put
	// What a parent does for its children is progress too: it must not run out of attempts.
	progressed := processed > 0 || w.Progress.Position != s.progress.Position || w.Memo != nil || tx.submittedChildren()
	w.HasChildren = tx.submittedChildren()
	then := s.next(&w, got.next, got.another, progressed)
	s.check(&w)
	s.measure(&w)
	s.limit.record(int(processed), took)
	return s.orFailed(s.commit(tx, &w, then))
}

// env is what each call is given.
func (s *session) env(tx *LazyTx, limit int) Env {
	e := Env{Tx: tx, Limit: limit, Attempt: s.tries, Log: s.log, Preview: s.preview != nil, Child: s.child, Family: s.family, Options: s.options}
	if s.hasChildren() {
		e.Children, e.CountChildren = s.listChildren, s.countChildren
	}
	return e
}

// checkpoint returns the write of a batch that succeeded, without what it counted.
func (s *session) checkpoint(state, result json.RawMessage) store.Write {
	w := store.Write{
		Lease: s.lease, To: lifecycle.Executing, Begun: s.begun, Checkpoint: true,
		Revision: s.kind.Revision, State: state, Result: result,
	}
	if result != nil {
		w.Keep = s.config.retention(s.task.Kind)
	}
	if s.task.Revision != s.kind.Revision {
		w.Secrets = s.kind.Secrets // the task knows those of its own revision
	}
	return w
}

// discard rolls a batch back that failed, reports it, and leaves out its time.
func (s *session) discard(ctx context.Context, tx *LazyTx, step *Step, started time.Time, err error) {
	tx.rollback()
	took := time.Since(started)
	s.reportFailedBatch(ctx, step, took, err)
	s.worktime.exclude(took)
}

// next sets where the task goes after a batch that succeeded.
func (s *session) next(w *store.Write, next Next, another, progressed bool) flow {
	switch {
	case another:
		s.nextRound(w)
	case next.Done:
		w.To, w.HasChildren = lifecycle.Completed, s.hasChildren()
	case next.AwaitChildren:
		w.To, w.At, w.Reason = lifecycle.Queued, store.Forever, lifecycle.ReasonChildren
		w.Wait = &store.Wait{OpenAtMost: next.OpenAtMost, OnFailure: next.OnFailure}
		if s.family != nil {
			w.Wait.Seen = s.family.Failed
		}
		w.Attempts = lifecycle.AfterLater(s.stored, progressed)
	case next.later():
		w.To, w.Delay, w.At, w.Reason = lifecycle.Queued, next.Wait, next.At, cmp.Or(next.Reason, reasonLater)
		w.Attempts = lifecycle.AfterLater(s.stored, progressed)
	case s.pool.isDraining():
		w.To, w.Reason = lifecycle.Queued, reasonShutdown
	default:
		return continueSession
	}
	return endSession
}

// callExecutor calls an executor on a goroutine of its own. An executor that does
// not return some time after its context has ended is abandoned.
func (s *session) callExecutor(ctx context.Context, step *Step, f func(context.Context) error) error {
	ctx, err := s.withIdentity(ctx)
	if err != nil {
		return err
	}
	returned := runIsolated(ctx, func(ctx context.Context) error { return ofStatement(ctx, step.Tx, f(ctx)) })
	select {
	case err = <-returned:
	case <-ctx.Done():
		grace := time.NewTimer(min(s.config.BatchTimeout/2, 5*time.Second))
		defer grace.Stop()
		select {
		case err = <-returned:
		case <-grace.C:
			step.close()
			s.events.report(taskevent.ExecutorAbandoned{TaskRef: s.ref(), Err: context.Cause(ctx)})
			return context.Cause(ctx)
		}
	}
	if err == nil {
		// If the transaction did not begin and the executor ignored that, its
		// writes went nowhere: the batch must not commit. Nor may it when the task
		// lease is known to be lost.
		tx, failed := step.Tx.close()
		if failed != nil {
			return failed
		}
		if tx != nil {
			return cmp.Or(ignored(ctx, tx.Failed()), tx.Unclosed())
		}
	}
	return err
}

// ofStatement returns the error of an executor. One that has no class of its own gets
// that of the statement that failed: the executor may have formatted that statement's
// error with %v, and could not have committed anyway.
func ofStatement(ctx context.Context, tx *LazyTx, err error) error {
	if err == nil || !classify.Unclassified(ctx, err) {
		return err
	}
	failed := tx.failedStatement()
	if failed == nil {
		return err
	}
	return &statementError{err, failed}
}

// statementError has the text of one error and the class of another.
type statementError struct{ returned, failed error }

func (e *statementError) Error() string { return e.returned.Error() }

// Unwrap returns the error of the statement that failed.
func (e *statementError) Unwrap() error { return e.failed }

// ignored is the error of a batch whose executor returned none although a
// statement of it failed. When the failure is one that a new try can mend, be it
// with a smaller batch, or the batch was cut off, it is treated as if the executor
// had returned it.
func ignored(ctx context.Context, failed error) error {
	if failed == nil || ctx.Err() != nil {
		return failed
	}
	if c := classify.Classify(ctx, failed); c.Class != lifecycle.Permanent || c.TooLarge {
		return failed
	}
	if _, marked := errors.AsType[*classify.MarkedError](failed); marked {
		return failed
	}
	return &classify.MarkedError{
		Class: lifecycle.Permanent, Code: classify.CodeSpoiledTransaction,
		Err: fmt.Errorf("a statement failed and the executor returned no error; return it (that of rows is rows.Err), or run the statement inside b.Try: %w", failed),
	}
}

// commit makes a batch's last write: inside its transaction if it has one,
// otherwise with the group. The transaction of a preview is rolled back before. What the session does after it, if it is applied, is
// then. The error is that of [session.handleWriteResult].
func (s *session) commit(tx *LazyTx, w *store.Write, then flow) (flow, error) {
	open, _ := tx.close()
	if tx.isPreview() {
		tx.rollback()
		open = nil
	}
	if open == nil {
		if then == endSession {
			// The slot is free for the next task; the end is acknowledged to
			// nobody before its flush has committed.
			s.flusher.add(w, func(a store.Applied, err error) { s.onEndWritten(w, a, err) })
			return endSession, nil
		}
		a, err := s.flusher.apply(w)
		return s.handleWriteResult(w, a, err, then)
	}
	s.flusher.cancelStart(s.lease.ID)
	sent := time.Now()
	w.Renew = s.deadline.age() > s.config.Heartbeat/4
	// The executor's time is over; the commit has a timeout of its own, and goes
	// through even when the worker is stopped just now.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), s.config.Call)
	defer cancel()
	a, err := open.Commit(ctx, *w)
	if err == nil && a.OK && a.Renewed {
		s.deadline.renew(sent)
	}
	return s.handleWriteResult(w, a, err, then)
}
