package taskkit

import (
	"context"
	"fmt"
	"time"
)

// Executor is a bulk action. The runtime calls Execute until it returns [Done],
// as a reader is called until io.EOF. Only b.State survives a call, so a task that
// continues after a crash takes the same path as one that never stopped.
//
// One Executor serves many tasks at once. Its fields are shared and must be safe
// for concurrent use.
type Executor[Spec, State any] interface {
	// Execute performs one batch of the task described by b.Spec.
	//
	// When it returns a nil error, b.State and everything written through b.Tx
	// are committed in one transaction. When it returns an error, nothing is
	// committed, b.State is restored, and [IsPermanent] says whether the batch is
	// tried again.
	//
	// The context ends when the batch takes longer than Config.BatchTimeout, when
	// the worker has to give up the task, and when the drain time of a shutdown is
	// over; [context.Cause] says which.
	Execute(ctx context.Context, b *Batch[Spec, State]) (Next, error)
}

// Aborter is an [Executor] that cleans up when a task ends without being done:
// after a permanent error, when its attempts are used up, and on a stop or a
// delete. b.EndReason says which. Its writes through b.Tx are committed together
// with the task's end; changes to b.State are not kept. On a stop it is called
// before Report. A task that is superseded by a newer version ends without it, see [WithVersion].
//
// An Abort that keeps failing does not prevent the task from ending. Its error is
// recorded for operators.
type Aborter[Spec, State any] interface {
	Abort(ctx context.Context, b *Batch[Spec, State]) error
}

// Reporter is an [Executor] with a typed result for whoever submitted the task.
// Report is called when the task is done, and also after a stop or when a newer version supersedes the task, when the result
// is partial. The result is committed together with the task's end.
type Reporter[Spec, State, Result any] interface {
	Report(ctx context.Context, b *Batch[Spec, State]) (Result, error)
}

// Targeter is an [Executor] that finds the targets of its tasks itself, when a task
// starts. The directive of the kind names the list of the spec that they stand for, with
// targets=FIELD, and Target is the type of its elements.
//
// Targets is called, batch by batch, for a task that is submitted with an empty list and
// without [WithTargets]; the [Definition] says so with [TargetsFoundIn]. It returns the next
// targets, about b.Limit of them, and [Done] with the last. What it returned is stored
// beside the task, in the transaction in which b.State and what it wrote through b.Tx are
// committed. So b.State keeps how far the search is, such as the last id of a query, and a
// search that is interrupted continues there.
//
// When Targets has returned Done the set never changes again, b.State is its zero value,
// and Execute is called, whose [Take] returns the targets. Without any target the task is
// complete, and Execute is not called. The rules for the set are those of WithTargets.
//
// Errors, [More], [Later] and the end of the context mean what they mean for Execute.
// Targets processes no items: a batch that calls Take, Fail, Skip, Defer, Advance or Total
// fails with the code misuse. When a task ends before all targets are found, b.State in
// Abort and Report is that of the search.
type Targeter[Spec, State, Target any] interface {
	Targets(ctx context.Context, b *Batch[Spec, State]) ([]Target, Next, error)
}

// Next is what happens after a successful batch: [More], [Done] or
// the value of [Later], [LaterAt] or [AwaitChildren]. In each case the batch is committed. Values of
// Next can be compared; the zero value is More.
type Next struct {
	done   bool
	wait   time.Duration
	at     time.Time
	reason string

	await     bool // see [AwaitChildren]
	atMost    int
	onFailure ChildFailure
}

var (
	// More requests another batch. It is a permanent error with the code no_progress
	// when nothing can follow: in a batch that counts nothing and called Take after it had
	// returned all elements before, in a batch that changed nothing in b.State and recorded
	// the items of the batch before, and after 100 batches in a row that changed nothing in
	// b.State and counted nothing, or more than the total.
	More = Next{}
	// Done says that the task is complete.
	Done = Next{done: true}
)

// Later requests another batch no sooner than d from now. The worker releases the
// task meanwhile, and no attempt is spent: attempts are as before the claim, or
// zero if the batch counted progress. A d of zero or less is [More].
func Later(d time.Duration) Next { return Next{wait: max(d, 0)} }

// LaterAt requests another batch no sooner than t, by the database's clock.
// As with [Later], the worker releases the task and no attempt is spent.
// The reason says why the task waits, for the people who read it in the task and in
// [Client.Explain]. Times are in milliseconds, rounded up, and between the years 1
// and 9999. After a t in the past the task is released and due at once; the zero
// time is [More].
func LaterAt(t time.Time, reason string) Next {
	if t.IsZero() {
		return More
	}
	t = t.UTC().Add(time.Millisecond - 1).Truncate(time.Millisecond)
	switch y := t.Year(); {
	case y < 1:
		t = time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)
	case y > 9999:
		t = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	}
	return Next{at: t, reason: reason}
}

// String returns "more", "done" or, for example, "later 1s".
func (n Next) String() string {
	switch {
	case n.done:
		return "done"
	case n.await:
		return fmt.Sprintf("await children, at most %d open", n.atMost)
	case n.wait > 0:
		return "later " + n.wait.String()
	case !n.at.IsZero():
		return "later at " + n.at.Format(time.RFC3339)
	default:
		return "more"
	}
}

// find returns the part of an executor that implements T: the executor itself or
// one that it wraps, which it returns from a method Unwrap() any.
func find[T any](x any) (T, bool) {
	for {
		if t, ok := x.(T); ok {
			return t, true
		}
		u, ok := x.(interface{ Unwrap() any })
		if !ok {
			var none T
			return none, false
		}
		x = u.Unwrap()
	}
}
