package engine

import (
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

// abortTries is how often Abort and Report may fail before the task ends
// without them: a task always reaches an end.
const abortTries = 3

// ending is how a session ends its task without the executor being done.
type ending struct {
	status lifecycle.Status
	how    Ending
	class  classify.Classification // of an error; zero for a stop
}

// failed decides what an error means for the task, and records it. The session
// continues after a write of unknown outcome that turns out to have happened.
func (s *session) failed(ctx context.Context, err error) flow { return s.react(ctx, err, 0) }

// react is failed for the error of a batch that could take limit items at most. If
// a smaller batch may succeed, the session continues with one.
func (s *session) react(ctx context.Context, err error, limit int) flow {
	c := classified(ctx, err)
	reaction, delay := lifecycle.AfterError(lifecycle.BatchError{
		Class: c.Class, Attempt: s.tries, MaxAttempts: s.config.MaxAttempts,
		Backoff: s.config.Backoff.Delay(s.tries), After: c.After, TooLarge: c.TooLarge, Limit: limit,
	})
	switch reaction {
	case lifecycle.Shrink:
		s.shrink(limit, c)
		return continueSession
	case lifecycle.Verify:
		return s.verifyLease(c.Detail)
	case lifecycle.Release:
		return s.release(reasonShutdown)
	case lifecycle.Fail:
		return s.end(ending{status: lifecycle.Failure, how: EndFailed, class: c})
	case lifecycle.GiveUp:
		c.Detail = fmt.Sprintf("gave up after %d tries without progress: %s", s.tries, c.Detail)
		return s.end(ending{status: lifecycle.Failure, how: EndFailed, class: c})
	case lifecycle.Retry:
	}
	return s.write(&store.Write{
		Lease: s.lease, To: lifecycle.Queued, Attempts: s.tries, Delay: delay,
		Reason:  classify.Clean(fmt.Sprintf("retry: failed_at=%s error=%s", time.Now().UTC().Format(time.RFC3339), c.Code)),
		Attempt: s.attempt(c),
	})
}

// shrink halves the limit after a statement that was too large.
func (s *session) shrink(limit int, c classify.Classification) {
	s.limit.lowerMax(limit / 2)
	s.events.report(taskevent.BatchShrunk{TaskRef: s.ref(), Limit: limit, NewLimit: s.limit.size, Detail: c.Detail})
}

// verifyLease reads the task back after the database has said that it is not where
// this session left it. Mostly the task lease is gone. But a commit that seemed
// not to have happened may have been under way still, and have happened since:
// then the task is this worker's, one checkpoint on, and nobody else would ever
// take it.
func (s *session) verifyLease(detail string) flow {
	if s.ctx.Err() != nil {
		s.reportLost(detail)
		return endSession
	}
	return s.reconcile(&store.Write{Lease: s.lease})
}

// attempt is the record of a failed attempt.
func (s *session) attempt(c classify.Classification) *store.Attempt {
	return &store.Attempt{
		Process: s.process, Fence: s.lease.Fence, Seq: s.lease.Seq,
		Attempt: s.tries, Class: string(c.Class), Code: c.Code, Detail: c.Detail,
	}
}

// release gives the task back without spending an attempt.
func (s *session) release(reason string) flow { return s.releaseFor(reason, 0) }

// releaseFor is release until a delay has passed.
func (s *session) releaseFor(reason string, delay time.Duration) flow {
	w := store.Write{Lease: s.lease, To: lifecycle.Queued, Attempts: lifecycle.Unspent(s.stored), Delay: delay, Reason: reason}
	if s.conditions().AwaitsApproval(s.progress) {
		w.Progress = s.progress
		s.check(&w)
	}
	return s.write(&w)
}

// write makes a write without a transaction that is meant to end the session. The
// session continues if the write is not applied and the task is still its own.
func (s *session) write(w *store.Write) flow {
	a, err := s.flusher.apply(w)
	switch {
	case err == nil && a.OK:
		s.reportWritten(w, a.Control)
		return endSession
	case err == nil && a.Open:
		return s.waitAgain(s.untilNoneIsOpen(), "")
	case err == nil:
		return s.reconcile(w)
	case errors.Is(err, classify.ErrLost):
		s.reportLost(reasonWorkerEnded)
	default:
		s.events.report(taskevent.WriteRefused{TaskRef: s.ref(), Err: err})
	}
	return endSession
}

// errEndNotWritten: an end whose commit was uncertain has not happened.
var errEndNotWritten = errors.New("the end of the task was not committed")

// end ends the task: Abort, after a stop Report, and the terminal status, in
// one transaction. When the executor's part keeps failing the task ends
// without it.
//
// The session continues when a commit that seemed not to have happened turns out
// to have been late: then the batch that failed was not the next one, and its
// error does not count.
//
// A task with open children waits for them first.
func (s *session) end(e ending) flow {
	if waits, after := s.awaitEnd(e); waits {
		return after
	}
	var problem error
	seq := s.lease.Seq
	advanced := func() bool { return e.how == EndFailed && s.lease.Seq != seq }
	for try := 1; try <= abortTries; try++ {
		f, err := s.tryEnd(e)
		if f == endSession {
			return endSession
		}
		if errors.Is(err, errOpenChildren) {
			return s.end(e)
		}
		if advanced() {
			return continueSession
		}
		problem = err
		c := classified(s.ctx, err)
		if c.TooLarge && s.limit.size > 1 && s.ctx.Err() == nil {
			// Abort may use b.Limit as the size of its statements.
			s.shrink(s.limit.size, c)
			try--
			continue
		}
		delay := time.Duration(try) * s.config.Backoff.Delay(1) / 10
		s.events.report(taskevent.EndingFailed{TaskRef: s.ref(), Try: try, RetryIn: delay, Err: err})
		if s.ctx.Err() != nil || c.Class == lifecycle.Permanent {
			break
		}
		sleep(s.ctx, delay)
	}
	if s.ctx.Err() != nil {
		return endSession // the lease is gone, or is released when the worker ends
	}
	for f := continueSession; f == continueSession; {
		if advanced() {
			return continueSession
		}
		w := s.endWrite(e)
		w.StatusDetail = classify.Clean(fmt.Sprintf("%s [its end could not be completed: %v]", w.StatusDetail, problem))
		f = s.write(&w)
	}
	return endSession
}

// endWrite is the terminal write of an ending.
func (s *session) endWrite(e ending) store.Write {
	w := store.Write{Lease: s.lease, To: e.status, Attempts: s.tries, Partial: e.how == EndStop, HasChildren: s.hasChildren()}
	if e.class.Code != "" {
		w.StatusDetail = classify.Clean(e.class.Code + ": " + e.class.Detail)
		w.Attempt = s.attempt(e.class)
	}
	return w
}

// tryEnd tries once to end the task. The session continues, with the reason in the
// error, when the end was not written.
func (s *session) tryEnd(e ending) (flow, error) {
	ctx, cancel := context.WithTimeoutCause(s.ctx, s.config.BatchTimeout, classify.ErrBatchTimeout)
	defer cancel()
	tx := s.newTx()
	env := s.env(tx, s.limit.size)
	env.Ending = e.how
	step := newStep(s.task, env, s.progress)

	var result json.RawMessage
	abort := s.call != nil && s.kind.HasAbort && s.preview == nil // a preview leaves nothing to clean up
	report := s.call != nil && s.hasReport() && e.how == EndStop
	if abort || report {
		if err := s.refreshSearch(); err != nil {
			return continueSession, err
		}
		deferred, err := s.deferred()
		if err != nil {
			return continueSession, err
		}
		targets, err := s.targets(deferred)
		if err != nil {
			targets = &Targets{Err: err} // only Take needs them
		}
		step.Deferred = deferred
		step.Targets = targets
		err = s.callExecutor(ctx, step, func(ctx context.Context) (err error) {
			if abort {
				err = s.call.Abort(ctx, step, s.state)
			}
			if err == nil && report {
				result, err = s.call.Report(ctx, step, s.state)
			}
			return err
		})
		if err != nil {
			tx.rollback()
			if errors.Is(err, store.ErrLost) {
				return s.verifyLease(err.Error()), err
			}
			return continueSession, err
		}
	}
	w := s.endWrite(e)
	w.Result, w.Revision = result, s.kind.Revision
	if result != nil {
		w.Keep = s.config.retention(s.task.Kind)
	}
	f, err := s.commit(tx, &w, endSession)
	if f == continueSession && err == nil {
		err = errEndNotWritten
	}
	return f, err
}
