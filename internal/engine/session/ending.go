package session

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
	detail string                  // of what is no error; "" for a stop that was requested
	// unspent: the claim that ends the task has tried nothing, and does not count as an attempt.
	unspent bool
}

// failed decides what an error means for the task, and records it. The session
// continues after a write of unknown outcome that turns out to have happened.
func (s *Session) failed(ctx context.Context, err error) flow {
	return s.react(ctx, err, nil, time.Now())
}

// react is failed for the error of a batch that began at a time; nil: the error is of no batch. If a smaller batch may succeed, the
// session continues with one.
func (s *Session) react(ctx context.Context, err error, step *Step, began time.Time) flow {
	if s.outage(ctx, err, began) {
		return s.releaseLater()
	}
	c, limit := classified(ctx, err), 0
	if step != nil {
		limit = step.Limit
		if f, ok := s.reactBy(step, &c); ok {
			return f
		}
	}
	reaction, delay := lifecycle.AfterError(lifecycle.BatchError{
		Class: c.Class, Attempt: s.tries, MaxAttempts: s.Config.MaxAttempts,
		Backoff: s.Config.Backoff.Delay(s.tries), After: c.After, TooLarge: c.TooLarge, Limit: limit,
	})
	switch reaction {
	case lifecycle.Shrink:
		s.shrink(limit, c)
		return continueSession
	case lifecycle.Verify:
		return s.verifyLease(c.Detail)
	case lifecycle.Release:
		return s.release(ReasonShutdown)
	case lifecycle.Fail:
		return s.end(ending{status: lifecycle.Failure, how: EndFailed, class: c})
	case lifecycle.GiveUp:
		c.Detail = fmt.Sprintf("gave up after %d tries without progress: %s", s.tries, c.Detail)
		return s.end(ending{status: lifecycle.Failure, how: EndFailed, class: c})
	case lifecycle.Retry:
	}
	w := &store.Write{
		Lease: s.lease, To: lifecycle.Queued, Attempts: s.tries, Delay: delay,
		Reason:  classify.Clean(fmt.Sprintf(lifecycle.ReasonRetry+"failed_at=%s error=%s", time.Now().UTC().Format(time.RFC3339), c.Code)),
		Attempt: s.attempt(c),
	}
	s.watch(w)
	return s.write(w)
}

// outage reports whether a fault of the database as a whole has caused an error of what the session has done since a time.
func (s *Session) outage(ctx context.Context, err error, since time.Time) bool {
	c := classified(ctx, err)
	return c.Outage != classify.NoOutage && s.Outage.Causes(s.ctx, c, since)
}

// releaseLater gives the task back for a while without spending an attempt: its worker cannot use the database.
func (s *Session) releaseLater() flow {
	return s.write(s.requeueIn(s.Config.Backoff.Delay(1), ReasonOutage))
}

// release gives the task back without spending an attempt.
func (s *Session) release(reason string) flow { return s.write(s.requeueIn(0, reason)) }

// write makes a write without a transaction that is meant to end the session. The
// session continues if the write is not applied and the task is still its own.
func (s *Session) write(w *store.Write) flow {
	s.notify(w)
	a, err := s.Writer.Apply(w)
	switch {
	case err == nil && a.OK:
		s.advance(w, a)
		return endSession
	case err == nil && a.Open:
		return s.write(s.kin().wait(s.kin().untilNoneIsOpen()))
	case err == nil:
		return s.reconcile(w)
	case errors.Is(err, classify.ErrLost):
		s.reportLost(reasonWorkerEnded)
	case s.outage(s.ctx, classify.OfRuntime(err), time.Now()):
		return s.writeLater()
	default:
		s.Events.Report(taskevent.WriteRefused{TaskRef: s.ref(), Err: err})
	}
	return endSession
}

// writeLater gives the task back, after a fault of the database as a whole has kept the session from a write. It tries again
// while the database refuses even that, and the worker keeps the task lease.
func (s *Session) writeLater() flow {
	for n := 1; s.ctx.Err() == nil; n++ {
		w := s.requeueIn(s.Config.Backoff.Delay(1), ReasonOutage)
		a, err := s.Writer.Apply(w)
		switch {
		case err == nil && a.OK:
			s.advance(w, a)
			return endSession
		case err == nil:
			return s.reconcile(w)
		case s.Pool.IsDraining() || errors.Is(err, classify.ErrLost):
			return endSession // the task is released when the worker ends
		}
		sleep(s.ctx, min(time.Duration(n)*200*time.Millisecond, 5*time.Second))
	}
	return endSession
}

// errEndNotWritten: an end whose commit was uncertain has not happened.
var errEndNotWritten = errors.New("the end of the task was not committed")

// end ends the task: Abort unless a newer version has superseded the task, after a stop Report, and the terminal status, in
// one transaction. When the executor's part keeps failing the task ends
// without it.
//
// The session continues when a commit that seemed not to have happened turns out
// to have been late: then the batch that failed was not the next one, and its
// error does not count.
//
// A task with open children waits for them first.
func (s *Session) end(e ending) flow {
	if c := s.kin(); c != nil {
		wait, err := c.awaitEnd(e)
		switch {
		case err != nil:
			return s.endLater(err)
		case wait != nil:
			return s.write(wait)
		}
	}
	var problem error
	seq := s.lease.Seq
	advanced := func() bool { return e.how == EndFailed && s.lease.Seq != seq }
	for try := 1; try <= abortTries; try++ {
		began := time.Now()
		f, err := s.tryEnd(e)
		if f == endSession {
			return endSession
		}
		if errors.Is(err, errOpenChildren) {
			return s.end(e)
		}
		if err != nil && s.outage(s.ctx, err, began) {
			return s.releaseLater()
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
		delay := time.Duration(try) * s.Config.Backoff.Delay(1) / 10
		s.Events.Report(taskevent.EndingFailed{TaskRef: s.ref(), Try: try, RetryIn: delay, Err: err})
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
		w := s.terminal(e)
		w.StatusDetail = classify.Clean(fmt.Sprintf("%s [its end could not be completed: %v]", w.StatusDetail, problem))
		f = s.write(&w)
	}
	return endSession
}

// endLater gives a task back whose end needs its children, which could not be read or stopped. It spends no attempt: a task
// does not fail because its end could not be written.
func (s *Session) endLater(err error) flow {
	c := classified(s.ctx, err)
	if s.ctx.Err() != nil || errors.Is(err, store.ErrLost) {
		return s.verifyLease(c.Detail)
	}
	delay := s.Config.Backoff.Delay(1)
	s.Events.Report(taskevent.EndingFailed{TaskRef: s.ref(), Try: s.tries, RetryIn: delay, Err: err})
	w := s.requeue(classify.Clean("its end waits until its children can be read: " + c.Code))
	w.Delay = delay
	return s.write(w)
}

// tryEnd tries once to end the task. The session continues, with the reason in the
// error, when the end was not written.
func (s *Session) tryEnd(e ending) (flow, error) {
	ctx, cancel := context.WithTimeoutCause(s.ctx, s.Config.BatchTimeout, classify.ErrBatchTimeout)
	defer cancel()
	tx := s.newTx()
	step := s.newStep(tx)
	step.Ending = e.how

	var result json.RawMessage
	abort := s.call != nil && s.kind.HasAbort && !s.isPreview() // a preview leaves nothing to clean up
	if abort {
		superseded, err := s.permits.isSuperseded(ctx)
		if err != nil {
			return continueSession, classify.OfRuntime(err)
		}
		abort = !superseded
	}
	report := s.call != nil && s.hasReport() && e.how == EndStop
	if abort || report {
		for _, f := range s.features {
			if err := f.begin(step); err != nil {
				return continueSession, classify.OfRuntime(err)
			}
		}
		err := s.callExecutor(s.following.batch(ctx, step), step, func(ctx context.Context) (err error) {
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
	w := s.terminal(e)
	w.Result, w.Revision = result, s.kind.Revision
	if result != nil {
		w.Keep = s.Config.Keep(s.task.Kind)
	}
	f, err := s.commit(tx, &w, endSession)
	if f == continueSession && err == nil {
		err = errEndNotWritten
	}
	return f, err
}
