package session

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// childrenPage is how many children one statement changes.
const childrenPage = 500

// children is the [feature] of a task that may have children.
type children struct {
	noFeature
	c      *current
	family store.Family // before the present batch
}

func newChildren(c *current) *children {
	c.options = cmp.Or(c.options, &store.Options{})
	return &children{c: c}
}

// between reads the children of the task before a batch, and decides what they require: the task may end, be retried with
// them, or wait again, since it is also claimed after a resume, a retry and the loss of its worker.
func (f *children) between(context.Context) (decision, error) {
	if !f.c.started {
		return decision{}, nil
	}
	err := f.read()
	if err == nil && f.family.Retry {
		if err = f.retry(); err == nil {
			err = f.read()
		}
	}
	if err != nil {
		return decision{}, err
	}
	return f.decide(), nil
}

// decide decides by the children that were read.
func (f *children) decide() decision {
	if e := f.family.Ending; e != nil {
		return decision{end: &ending{status: e.Status, how: EndFailed, class: classify.Classification{
			Class: lifecycle.Class(e.Class), Code: e.Code, Detail: e.Detail,
		}}}
	}
	w, failed, open := f.family.Wait, f.family.Failed, f.family.Open
	switch {
	case w == nil:
	case w.OnFailure == store.FailureFails && failed > 0 && open > 0:
		return decision{write: f.wait(store.Wait{OnFailure: w.OnFailure})}
	case w.OnFailure == store.FailureFails && failed > 0:
		return decision{end: &ending{status: lifecycle.Failure, how: EndFailed, class: f.childFailed()}}
	case w.OnFailure == store.FailurePauses && failed > w.Seen:
		again := *w
		again.Seen = failed
		pause := f.wait(again)
		pause.Pause = fmt.Sprintf("%d %s", failed, lifecycle.ReasonChildFailed)
		return decision{write: pause}
	case open > w.OpenAtMost:
		return decision{write: f.wait(*w)}
	}
	return decision{}
}

// begin implements [feature].
func (f *children) begin(step *Step) error {
	if !step.searching {
		family := f.family // an executor that was abandoned may still read it
		step.Family, step.Children, step.CountChildren = &family, f.list, f.count
	}
	return nil
}

// committed wakes the task if its wait was over when it was committed: then no child is left that does so.
func (f *children) committed(w *store.Write, _ store.Applied) {
	if w.Wait != nil {
		f.gone()
	}
}

// gone implements [feature].
func (f *children) gone() { f.c.Parents.Add(f.c.task.ID) }

// read reads the children of the task.
func (f *children) read() (err error) {
	ctx, cancel := f.c.short()
	defer cancel()
	f.family, err = f.c.Store.Family(ctx, f.c.lease)
	return err
}

// list lists the children of the task for a batch.
func (f *children) list(ctx context.Context, after uuid.UUID, limit int, states bool) ([]store.ChildTask, error) {
	ctx, cancel := context.WithTimeout(ctx, f.c.Config.Call)
	defer cancel()
	list, err := f.c.Store.Children(ctx, f.c.task.ID, after, limit, states)
	return list, classify.OfShared(err)
}

// count counts the children of the task for a batch.
func (f *children) count(ctx context.Context) (store.ChildCounts, error) {
	ctx, cancel := context.WithTimeout(ctx, f.c.Config.Call)
	defer cancel()
	counts, err := f.c.Store.CountChildren(ctx, []uuid.UUID{f.c.task.ID})
	return counts[f.c.task.ID], classify.OfShared(err)
}

// retry retries the failed children of a task that was retried, in pages.
func (f *children) retry() error {
	for {
		ctx, cancel := f.c.short()
		n, err := f.c.Store.RetryChildren(ctx, f.c.lease, childrenPage)
		cancel()
		if err != nil || n < childrenPage {
			return err
		}
	}
}

// childFailed is the classification of a parent that fails because of its children. It
// names one of them. That its time is over is not the fault of a bucket.
func (f *children) childFailed() classify.Classification {
	detail := fmt.Sprintf("%d of its children failed: retry the task, and it retries these", f.family.Failed)
	ctx, cancel := f.c.short()
	defer cancel()
	if c, err := f.c.Store.FailedChild(ctx, f.c.task.ID); err == nil {
		if f.c.times != nil && c.Bucket() && strings.HasPrefix(c.StatusDetail, string(lifecycle.DeadlineExceeded)) {
			return f.c.times.over()
		}
		detail += fmt.Sprintf("; the first is %s: %s", c.ID, c.StatusDetail)
	}
	return classify.Classification{Class: lifecycle.Permanent, Code: classify.CodeChildFailed, Detail: classify.Clean(detail)}
}

// wait returns the write that makes the task wait for its children without a batch.
func (f *children) wait(w store.Wait) *store.Write {
	reason := lifecycle.ReasonChildren
	if w.Ends {
		reason = lifecycle.ReasonEndingChildren
	}
	q := f.c.requeue(reason)
	q.At, q.Wait = store.Forever, &w
	return q
}

// awaitEnd returns the write that makes a task that is to end wait until no child of it is open; nil: none is. A stop and a
// delete are passed on to the children first; a failure leaves them to end by themselves, so that a retry of the task finds
// them done.
func (f *children) awaitEnd(e ending) (*store.Write, error) {
	if e.how == EndStop || e.how == EndDelete {
		if err := f.passOn(); err != nil {
			return nil, err
		}
	}
	if err := f.read(); err != nil {
		return nil, err
	}
	if f.family.Open == 0 {
		return nil, nil //nolint:nilnil // see above
	}
	wait := f.untilNoneIsOpen()
	wait.Ends = true
	if e.how == EndFailed {
		wait.Ending = &store.Ending{Status: e.status, Class: string(e.class.Class), Code: e.class.Code, Detail: e.class.Detail}
	}
	return f.wait(wait), nil
}

// untilNoneIsOpen is the wait of a task that cannot end yet. A failed child keeps its meaning for a retry of the task; a
// failed child that would pause the task does not wake it.
func (f *children) untilNoneIsOpen() store.Wait {
	w := store.Wait{OnFailure: store.FailureContinues}
	if was := f.family.Wait; was != nil && was.OnFailure == store.FailureFails {
		w.OnFailure = was.OnFailure
	}
	return w
}

// passOn passes the request on the task on to its children, in pages. Requests on their children are passed on by their own
// sessions.
func (f *children) passOn() error {
	for try := 1; ; {
		ctx, cancel := f.c.short()
		changed, more, err := f.c.Store.PassOn(ctx, []uuid.UUID{f.c.task.ID}, childrenPage)
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
		sleep(f.c.ctx, time.Duration(try)*10*time.Millisecond)
		try++
	}
}

// maxPassOn is how many pages may change nothing.
const maxPassOn = 5

// child is the [feature] of a task that is a child. It wakes the parent when the task has ended, rather too often
// than too seldom.
type child struct {
	noFeature
	c *current
}

// begin implements [feature].
func (f *child) begin(step *Step) error {
	step.Child = f.c.parent()
	return nil
}

// committed implements [feature].
func (f *child) committed(w *store.Write, _ store.Applied) {
	if w.To.Terminal() {
		f.gone()
	}
}

// gone implements [feature].
func (f *child) gone() { f.c.Parents.Add(f.c.parent().Parent) }
