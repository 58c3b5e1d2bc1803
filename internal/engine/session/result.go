package session

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// onEndWritten handles the result of an end that no slot waited for.
func (s *Session) onEndWritten(w *store.Write, a store.Applied, err error) {
	switch {
	case err == nil && a.OK:
		s.advance(w, a)
		return
	case errors.Is(err, classify.ErrLost):
		s.reportLost(reasonWorkerEnded)
		return
	}
	// Not applied, or refused. The session continues until it knows why, on a
	// goroutine of its own, since this one is the flusher's.
	s.Pool.Detach(func() {
		s.own(func() {
			if s.orFailed(s.handleWriteResult(w, a, err, endSession)) == continueSession {
				s.loop()
			}
		})
	})
}

// handleWriteResult handles the result of a write. What the session does after it,
// if it was applied, is then. The error is why the database has refused the write:
// the task is where it was, and still this session's.
func (s *Session) handleWriteResult(w *store.Write, a store.Applied, err error, then flow) (flow, error) {
	switch {
	case store.Unknown(err):
		if w.To.Terminal() {
			s.unknownEnd = w
		}
		if answer, ok := errors.AsType[*store.UnknownError](err); ok {
			s.outage(s.ctx, classify.OfShared(answer.Err), time.Now()) // what is read back is logged after the line of the outage
		}
		f := s.reconcile(w)
		if f == continueSession && s.lease.Seq == w.Seq && s.ctx.Err() == nil {
			return f, s.refusal(err)
		}
		return f, nil
	case errors.Is(err, classify.ErrLost) || errors.Is(err, store.ErrLost):
		s.reportLost(reasonLeaseGone)
		return endSession, nil
	case err != nil:
		return continueSession, classify.OfRuntime(err)
	case a.Open:
		return continueSession, errOpenChildren
	case !a.OK:
		return s.reconcile(w), nil
	}
	s.advance(w, a)
	return then, nil
}

// errOpenChildren: a task cannot end while a child of it is open. Nothing was written.
var errOpenChildren = errors.New("a child of the task is open")

// maxUnanswered is how many commits of one batch in a row may have no answer and
// not happen before that counts as a failure of the batch.
const maxUnanswered = 3

// refusal returns the error of a COMMIT that the read-back says has not happened, if
// it is a failure of the batch: the answer of the database, such as an error of a deferred
// constraint that does not hold, which the same batch would get again, without end. It
// returns nil if there may have been no answer, only a lost connection: then the batch
// is executed again at once, a few times.
func (s *Session) refusal(err error) error {
	unknown, ok := errors.AsType[*store.UnknownError](err)
	if !ok {
		return nil
	}
	s.unanswered++
	if s.unanswered >= maxUnanswered || classify.DatabaseError(unknown.Err) {
		return classify.OfShared(unknown.Err)
	}
	return nil
}

// orFailed returns what the session does after a write of a batch. A write that the
// database has refused is a failure of the batch.
//
// A task whose end was refused because of open children waits for them, and the batch is
// executed again after that.
func (s *Session) orFailed(f flow, refused error) flow {
	if errors.Is(refused, errOpenChildren) {
		return s.write(s.kin().wait(s.kin().untilNoneIsOpen()))
	}
	if refused != nil {
		return s.failed(s.ctx, refused)
	}
	return f
}

// advance makes a committed write the session's own position.
func (s *Session) advance(w *store.Write, a store.Applied) {
	s.reportWritten(w, a.Control)
	if w.Checkpoint || w.To.Terminal() {
		s.Outage.Served()
	}
	// A notification that was stored with the write is a task that is due, and nothing else wakes a worker for it before its next poll.
	notified := w.Notify != "" || a.Decided != nil || w.Check && s.options.Notifies()
	if notified || w.To == lifecycle.Queued && w.At.Before(store.Forever) {
		s.Pool.Returned()
	}
	if w.Checkpoint {
		s.executed = true
		s.Pool.Processed(s.task.Owner, w.Progress.Processed()-s.progress.Processed())
		s.lease.Seq++
		s.begun = w.To == lifecycle.Executing
		s.state, s.progress, s.task.Revision = w.State, w.Progress, w.Revision
		s.tries, s.stored, s.unanswered = 1, 0, 0
	}
	s.control = a.Control
	s.decided(w, a.Decided)
	for _, f := range s.features {
		f.committed(w, a)
	}
}

// gone follows a read-back after which the task is not leased by this session any more. A row that does not exist was removed
// by an end: by this session's, if one of unknown outcome fits its position.
func (s *Session) gone(w *store.Write, found lifecycle.Position) {
	for _, f := range s.features {
		f.gone()
	}
	switch {
	case !found.Exists && s.unknownEnd != nil && s.unknownEnd.Seq == s.lease.Seq:
		s.advance(s.unknownEnd, store.Applied{Control: lifecycle.Delete})
	case !found.Exists:
		s.reportLost("it does not exist any more")
	case lifecycle.ReadBack(w.Lifecycle(), found) == lifecycle.Happened:
		s.advance(w, store.Applied{})
	default:
		s.reportLost(reasonLeaseGone)
	}
}

// reconcile reads the task back after a write whose outcome is uncertain, and
// continues from what the database holds.
func (s *Session) reconcile(w *store.Write) flow {
	for n := 1; ; n++ {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), s.Config.Call)
		at, err := s.Store.Positions(ctx, []uuid.UUID{s.lease.ID})
		cancel()
		if err == nil {
			p, exists := at[s.lease.ID]
			found := PositionOf(p, exists)
			if !found.Leased(s.lease.Fence) {
				s.gone(w, found)
				return endSession
			}
			s.Events.Report(taskevent.CommitReadBack{TaskRef: s.ref(), Committed: p.Seq != w.Seq, Checkpoint: p.Seq})
			advanced := p.Seq != s.lease.Seq
			if advanced {
				s.reportCheckpoint(p.Seq, s.progress, p.Progress)
				// It was this session's own: no other process writes under this fence.
				s.lease.Seq, s.state, s.progress, s.task.Revision = p.Seq, p.State, p.Progress, s.kind.Revision
				s.tries, s.stored, s.unanswered = p.Attempts+1, p.Attempts, 0
			}
			s.control, s.begun = p.Control, p.Status == lifecycle.Executing
			for _, f := range s.features {
				f.readBack(advanced)
			}
			return continueSession
		}
		if s.ctx.Err() != nil {
			s.reportLost("its worker ended before the outcome of a commit was known")
			return endSession
		}
		delay := s.Config.Backoff.Delay(1) / 10
		s.Events.Report(taskevent.ReadBackFailed{TaskRef: s.ref(), Try: n, RetryIn: delay, Err: err})
		sleep(s.ctx, delay)
	}
}

// verifyLease reads the task back after the database has said that it is not where
// this session left it. Mostly the task lease is gone. But a commit that seemed
// not to have happened may have been under way still, and have happened since:
// then the task is this worker's, one checkpoint on, and no other worker would ever
// take it.
func (s *Session) verifyLease(detail string) flow {
	if s.ctx.Err() != nil {
		s.reportLost(detail)
		return endSession
	}
	return s.reconcile(&store.Write{Lease: s.lease})
}

// PositionOf returns what a read-back has found of a task.
func PositionOf(p store.Position, exists bool) lifecycle.Position {
	return lifecycle.Position{Exists: exists, Fence: p.Fence, Seq: p.Seq, Status: p.Status}
}
