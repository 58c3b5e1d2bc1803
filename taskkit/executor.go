package taskkit

import (
	"context"
	"fmt"
	"time"
)

// Executor is a bulk action. The runtime calls Execute until it says [Done],
// as a reader is called until EOF. Nothing survives a call but b.State, so the
// path after a crash is the only path there is.
//
// One Executor serves many tasks at once: its fields are shared, and must be
// safe for concurrent use.
type Executor[Spec, State any] interface {
	// Execute performs one batch of the task described by b.Spec.
	//
	// When it returns a nil error, b.State and all that was written through
	// b.Tx are committed in one transaction. When it returns an error nothing
	// is, b.State is restored, and [Classify] decides whether the batch is
	// tried again.
	//
	// The context ends when the batch takes longer than Config.BatchTimeout,
	// when the worker must give the task up, and when the drain time of a
	// shutdown is over; [context.Cause] says which.
	Execute(ctx context.Context, b *Batch[Spec, State]) (Next, error)
}

// Aborter is an [Executor] that cleans up when a task ends without being done:
// after a permanent error, when its attempts are used up, and on a stop or a
// delete; b.Ending says which. Its writes through b.Tx commit together with the
// task's end, what it does to b.State is not kept. On a stop it is called before
// Report.
//
// An Abort that keeps failing does not keep the task from ending; its error is
// recorded for operators.
type Aborter[Spec, State any] interface {
	Abort(ctx context.Context, b *Batch[Spec, State]) error
}

// Reporter is an [Executor] with a typed result for whoever asked. Report is
// called once the task is done, and also after a stop, when the result is
// partial. The result commits together with the task's end.
type Reporter[Spec, State, Result any] interface {
	Report(ctx context.Context, b *Batch[Spec, State]) (Result, error)
}

// Next is what an executor wants after a batch that succeeded: [More], [Done],
// or [Later]. In each case the batch is committed.
type Next int64

const (
	// More asks for another batch. It is the zero value.
	More Next = 0
	// Done says that the task is complete.
	Done Next = -1
)

// Later asks for another batch no sooner than d from now. The worker gives the
// task back meanwhile; no attempt is spent. A d of zero or less is [More].
func Later(d time.Duration) Next {
	if d <= 0 {
		return More
	}
	return Next(d)
}

// String returns "more", "done" or "later 1s".
func (n Next) String() string {
	switch {
	case n == More:
		return "more"
	case n < 0:
		return "done"
	default:
		return fmt.Sprint("later ", time.Duration(n))
	}
}
