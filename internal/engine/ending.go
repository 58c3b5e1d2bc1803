package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/internal/errclass"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// abortTries is how often Abort and Report may fail before the task ends
// without them: a task always reaches an end.
const abortTries = 3

// ending is how a session ends its task without the executor being done.
type ending struct {
	status  workflow.Status
	how     Ending
	verdict errclass.Verdict // of an error; zero for a stop
}

// failed decides what an error means for the task, and records it. It reports
// whether the session goes on, which it does after a write of unknown outcome
// that turns out to have happened.
func (s *session) failed(ctx context.Context, err error) bool {
	if errors.Is(err, store.ErrLost) {
		err = errclass.ErrLost
	}
	v := judge(ctx, err)
	switch v.Class {
	case errclass.Lost:
		return s.lost(v.Detail)
	case errclass.Interrupted:
		return s.release("interrupted: its worker shut down")
	case errclass.Permanent:
		return s.end(ending{status: workflow.Failure, how: EndFailed, verdict: v})
	case errclass.Transient:
	}
	if s.tries >= s.config.MaxAttempts {
		v.Detail = fmt.Sprintf("gave up after %d tries without progress: %s", s.tries, v.Detail)
		return s.end(ending{status: workflow.Failure, how: EndFailed, verdict: v})
	}
	delay := max(s.config.Backoff.Delay(s.tries), v.After)
	s.log.Warn("batch failed and will be tried again", "try", s.tries, "in", delay, "code", v.Code, "error", v.Detail)
	return s.write(store.Write{
		Hold: s.hold, To: workflow.Queued, Attempts: s.tries, Delay: delay,
		Reason:  errclass.Clean(fmt.Sprintf("retry: failed_at=%s error=%s", time.Now().UTC().Format(time.RFC3339), v.Code)),
		Attempt: s.attempt(v),
	})
}

// lost looks where the task stands after the database has said that it does not
// stand where this session left it. Mostly it is gone. But a commit that was
// believed not to have happened may have been on its way still, and have
// happened since: then the task is this worker's, one checkpoint on, and nobody
// else would ever take it. It reports whether the session goes on.
func (s *session) lost(detail string) bool {
	if s.ctx.Err() != nil {
		s.log.Warn("task lost during a batch; nothing was written", "error", detail)
		return false
	}
	return s.reconcile(store.Write{Hold: s.hold})
}

// attempt is the record of a failed attempt.
func (s *session) attempt(v errclass.Verdict) *store.Attempt {
	return &store.Attempt{
		Process: s.process, Fence: s.hold.Fence, Seq: s.hold.Seq,
		Attempt: s.tries, Class: string(v.Class), Code: v.Code, Detail: v.Detail,
	}
}

// release gives the task back with no attempt spent.
func (s *session) release(reason string) bool {
	s.log.Debug("task released", "reason", reason)
	return s.write(store.Write{Hold: s.hold, To: workflow.Queued, Attempts: max(s.stored-1, 0), Reason: reason})
}

// write makes a write without a transaction that is meant to end the session,
// and reports whether the session goes on all the same.
func (s *session) write(w store.Write) bool {
	a, err := s.flush.apply(w)
	switch {
	case err == nil && a.OK:
		s.note(w, a)
		return false
	case err == nil:
		return s.reconcile(w)
	case errors.Is(err, errclass.ErrLost):
		s.log.Warn("task lost before it could be given back; another worker will take it over")
	default:
		s.log.Error("the database refuses a write; the task is released when this worker ends", "error", err)
	}
	return false
}

// errUncertain: an end whose commit was uncertain has not happened.
var errUncertain = errors.New("the end of the task was not committed")

// end ends the task: Abort, after a stop Report, and the terminal status, in
// one transaction. When the executor's part keeps failing the task ends
// without it.
//
// It reports whether the session goes on instead: when a commit that was believed
// not to have happened turns out to have been late. Then the batch that failed was
// not the next one, and its error is void.
func (s *session) end(e ending) (on bool) {
	var problem error
	at := s.hold.Seq
	void := func() bool { return e.how == EndFailed && s.hold.Seq != at }
	for try := 1; try <= abortTries; try++ {
		done, err := s.tryEnd(e)
		if done {
			return false
		}
		if void() {
			return true
		}
		problem = err
		s.log.Warn("the task's end failed and is tried again", "try", try, "error", err)
		if s.ctx.Err() != nil || judge(s.ctx, err).Class == errclass.Permanent {
			break
		}
		sleep(s.ctx, time.Duration(try)*s.config.Backoff.Delay(1)/10)
	}
	if s.ctx.Err() != nil {
		return false // not ours any more, or given back by the worker's end
	}
	for more := true; more; {
		if void() {
			return true
		}
		w := s.endWrite(e)
		w.Desc = errclass.Clean(fmt.Sprintf("%s [its end could not be completed: %v]", w.Desc, problem))
		more = s.write(w)
	}
	return false
}

// endWrite is the terminal write of an ending.
func (s *session) endWrite(e ending) store.Write {
	w := store.Write{Hold: s.hold, To: e.status, Attempts: s.tries}
	if e.verdict.Code != "" {
		w.Desc = errclass.Clean(e.verdict.Code + ": " + e.verdict.Detail)
		w.Attempt = s.attempt(e.verdict)
		w.ClearControl = true
	}
	return w
}

// tryEnd makes one try at an ending and reports whether the session is over.
func (s *session) tryEnd(e ending) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(s.ctx, s.config.BatchTimeout, errclass.ErrBatchTimeout)
	defer cancel()
	tx := newLazyTx(s.store, s.hold, s.config.limits())
	step := newStep(s.task, Env{Tx: tx, Limit: s.limit.now, Attempt: s.tries, Ending: e.how, Log: s.log}, s.progress)

	var result json.RawMessage
	abort := s.call != nil && s.kind.HasAbort
	report := s.call != nil && s.kind.HasReport && e.how == EndStop
	if abort || report {
		err := s.guarded(ctx, step, func(ctx context.Context) (err error) {
			if abort {
				err = s.call.Abort(ctx, step, s.state)
			}
			if err == nil && report {
				result, err = s.call.Report(ctx, step, s.state)
			}
			return err
		})
		if err != nil {
			tx.drop()
			if errors.Is(err, store.ErrLost) {
				return !s.lost(err.Error()), err
			}
			return false, err
		}
	}
	w := s.endWrite(e)
	w.Result, w.Revision = result, s.kind.Revision
	if s.commit(tx, w, true) {
		return false, errUncertain
	}
	return true, nil
}
