package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// familyPage is how many children one statement changes.
const familyPage = 500

// hasChildren reports whether the task of the session may have children. A bucket has the
// kind of its parent, and no children.
func (s *session) hasChildren() bool {
	return s.kind.Children && (s.child == nil || s.child.Segment == nil)
}

// joinFamily reads the children of the task before a batch, and does what they require: the
// task may end, be retried with them, or wait again, since it is also claimed after a
// resume, a retry and the loss of its worker. It reports whether the batch may be executed.
func (s *session) joinFamily() (execute bool, after flow) {
	f, err := s.readFamily()
	if err == nil && f.Retry {
		if err = s.retryChildren(); err == nil {
			f, err = s.readFamily()
		}
	}
	if err != nil {
		return false, s.failed(s.ctx, err)
	}
	s.family = &f
	if e := f.Ending; e != nil {
		return false, s.end(ending{status: e.Status, how: EndFailed, class: classify.Classification{
			Class: lifecycle.Class(e.Class), Code: e.Code, Detail: e.Detail,
		}})
	}
	w := f.Wait
	switch {
	case w == nil:
	case w.OnFailure == store.FailureFails && f.Failed > 0 && f.Open > 0:
		return false, s.waitAgain(store.Wait{OnFailure: w.OnFailure}, "")
	case w.OnFailure == store.FailureFails && f.Failed > 0:
		return false, s.end(ending{status: lifecycle.Failure, how: EndFailed, class: s.childFailed(f)})
	case w.OnFailure == store.FailurePauses && f.Failed > w.Seen:
		again := *w
		again.Seen = f.Failed
		return false, s.waitAgain(again, fmt.Sprintf("%d %s", f.Failed, lifecycle.ReasonChildFailed))
	case f.Open > w.OpenAtMost:
		return false, s.waitAgain(*w, "")
	}
	return true, continueSession
}

func (s *session) readFamily() (store.Family, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.config.Call)
	defer cancel()
	return s.store.Family(ctx, s.lease)
}

// listChildren lists the children of the task for a batch.
func (s *session) listChildren(ctx context.Context, after uuid.UUID, limit int, states bool) ([]store.ChildTask, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Call)
	defer cancel()
	return s.store.Children(ctx, s.task.ID, after, limit, states)
}

// countChildren counts the children of the task for a batch.
func (s *session) countChildren(ctx context.Context) (store.ChildCounts, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Call)
	defer cancel()
	return s.store.CountChildren(ctx, s.task.ID)
}

// hasReport reports whether the task has a result. A bucket has none: that of the whole task is
// its parent's.
func (s *session) hasReport() bool {
	return s.kind.HasReport && (s.child == nil || s.child.Segment == nil)
}

// retryChildren retries the failed children of a task that was retried, in pages.
func (s *session) retryChildren() error {
	for {
		ctx, cancel := context.WithTimeout(s.ctx, s.config.Call)
		n, err := s.store.RetryChildren(ctx, s.lease, familyPage)
		cancel()
		if err != nil || n < familyPage {
			return err
		}
	}
}

// childFailed is the classification of a parent that fails because of its children. It
// names one of them.
func (s *session) childFailed(f store.Family) classify.Classification {
	detail := fmt.Sprintf("%d of its children failed: retry the task, and it retries these", f.Failed)
	ctx, cancel := context.WithTimeout(s.ctx, s.config.Call)
	defer cancel()
	if c, err := s.store.FailedChild(ctx, s.task.ID); err == nil {
		detail += fmt.Sprintf("; the first is %s: %s", c.ID, c.StatusDetail)
	}
	return classify.Classification{Class: lifecycle.Permanent, Code: classify.CodeChildFailed, Detail: classify.Clean(detail)}
}

// waitAgain makes the task wait for its children without a batch. Pause is why it is paused
// with that; "": it is not.
func (s *session) waitAgain(w store.Wait, pause string) flow {
	reason := lifecycle.ReasonChildren
	if w.Ends {
		reason = lifecycle.ReasonEndingChildren
	}
	return s.write(&store.Write{
		Lease: s.lease, To: lifecycle.Queued, Attempts: lifecycle.Unspent(s.stored),
		At: store.Forever, Reason: reason, Wait: &w, Pause: pause,
	})
}

// awaitEnd makes a task that is to end wait until no child of it is open, and reports
// whether it does. A stop and a delete are passed on to the children first; a failure
// leaves them to end by themselves, so that a retry of the task finds them done.
func (s *session) awaitEnd(e ending) (waits bool, after flow) {
	if !s.hasChildren() {
		return false, endSession
	}
	if e.how == EndStop || e.how == EndDelete {
		if err := s.passOn(); err != nil {
			return true, s.endLater(err)
		}
	}
	f, err := s.readFamily()
	if err != nil {
		return true, s.endLater(err)
	}
	s.family = &f
	if f.Open == 0 {
		return false, endSession
	}
	wait := s.untilNoneIsOpen()
	wait.Ends = true
	if e.how == EndFailed {
		wait.Ending = &store.Ending{Status: e.status, Class: string(e.class.Class), Code: e.class.Code, Detail: e.class.Detail}
	}
	return true, s.waitAgain(wait, "")
}

// untilNoneIsOpen is the wait of a task that cannot end yet. What a failed child means stays as it
// was, for a retry of the task; a failed child that would pause it does not wake it.
func (s *session) untilNoneIsOpen() store.Wait {
	w := store.Wait{OnFailure: store.FailureContinues}
	if was := s.family.Wait; was != nil && was.OnFailure == store.FailureFails {
		w.OnFailure = was.OnFailure
	}
	return w
}

// endLater gives a task back whose end needs its children, which could not be read or
// stopped. It spends no attempt, so that this is no reason to end the task.
func (s *session) endLater(err error) flow {
	c := classified(s.ctx, err)
	if s.ctx.Err() != nil || errors.Is(err, store.ErrLost) {
		return s.verifyLease(c.Detail)
	}
	s.events.report(taskevent.EndingFailed{TaskRef: s.ref(), Try: s.tries, RetryIn: s.config.Backoff.Delay(1), Err: err})
	return s.write(&store.Write{
		Lease: s.lease, To: lifecycle.Queued, Attempts: lifecycle.Unspent(s.stored), Delay: s.config.Backoff.Delay(1),
		Reason: classify.Clean("its end waits until its children can be read: " + c.Code),
	})
}

// passOn passes the request that stands on the task on to its children, in pages. Theirs
// are reached by their own sessions.
func (s *session) passOn() error {
	for try := 1; ; {
		ctx, cancel := context.WithTimeout(s.ctx, s.config.Call)
		changed, more, err := s.store.PassOn(ctx, []uuid.UUID{s.task.ID}, familyPage)
		cancel()
		switch {
		case err != nil:
			return err
		case !more:
			return nil
		case len(changed) > 0:
			continue
		case try == maxPassOn:
			return nil // the reaper passes it on
		}
		// The rows of some children are locked, by writes that take no longer than this.
		sleep(s.ctx, time.Duration(try)*10*time.Millisecond)
		try++
	}
}

// maxPassOn is how many pages may change nothing.
const maxPassOn = 5

// errDoneWithChildren: a batch has submitted children and returned Done.
var errDoneWithChildren = &classify.MarkedError{
	Class: lifecycle.Permanent, Code: classify.CodeMisuse,
	Err: errors.New("the batch submitted children and returned Done: return AwaitChildren, and Done when they have ended"),
}

// checkFamily makes the check of the parents that a committed write of this task may
// have to be followed by: that of its parent after its end, and its own after its wait. It is
// made too often rather than too seldom.
func (s *session) checkFamily(w *store.Write) {
	if w.To.Terminal() && s.child != nil {
		s.parents.check(s.child.Parent)
	}
	if w.Wait != nil {
		s.parents.check(s.task.ID)
	}
}
