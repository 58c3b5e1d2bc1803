package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// withIdentity installs the security context; SSP-50 and SSP-51 require it before
// each transaction. It fails when the task's people may not act now.
func (c *current) withIdentity(ctx context.Context) (_ context.Context, err error) {
	if c.Config.Identity == nil {
		return ctx, nil
	}
	made := make(chan context.Context, 1)
	err = <-RunIsolated(ctx, func(ctx context.Context) error {
		as, err := c.Config.Identity(ctx, c.task.Owner, c.task.RunAs)
		made <- as
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-made, nil
}

// callExecutor calls an executor on a goroutine of its own. An executor that does
// not return some time after its context has ended is abandoned.
func (c *current) callExecutor(ctx context.Context, step *Step, f func(context.Context) error) error {
	ctx, err := c.withIdentity(ctx)
	if err != nil {
		return err
	}
	returned := RunIsolated(ctx, func(ctx context.Context) error { return ofStatement(ctx, step.Tx, f(ctx)) })
	select {
	case err = <-returned:
	case <-ctx.Done():
		grace := time.NewTimer(min(c.Config.BatchTimeout/2, 5*time.Second))
		defer grace.Stop()
		select {
		case err = <-returned:
		case <-grace.C:
			step.close()
			c.Events.Report(taskevent.ExecutorAbandoned{TaskRef: c.ref(), Err: context.Cause(ctx)})
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
// the class of the statement that failed: the executor may have formatted that statement's
// error with %v, and could not have committed anyway. So does any error after a statement of the runtime that failed.
func ofStatement(ctx context.Context, tx *LazyTx, err error) error {
	failed := tx.failedStatement()
	_, ofRuntime := errors.AsType[*classify.RuntimeError](failed)
	if err == nil || failed == nil || !ofRuntime && !classify.Unclassified(ctx, err) {
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
	c := classify.Classify(ctx, failed)
	if c.Class != lifecycle.Permanent && c.Class != lifecycle.Refused || c.TooLarge || c.Outage != classify.NoOutage {
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

// classifiedError is an error of a user's code that was classified on the
// goroutine that made it. To call a method of such an error is to run the user's
// code, which may panic or end its goroutine: on the session's own goroutine that
// would end the worker or lose a slot.
type classifiedError struct {
	class classify.Classification
	text  string
	lost  bool
}

// Error implements error.
func (e *classifiedError) Error() string { return e.text }

// Is reports whether the error says that the task lease is lost.
func (e *classifiedError) Is(target error) bool { return e.lost && target == store.ErrLost }

// classified is [classify.Classify] for errors of the store and of users' code.
func classified(ctx context.Context, err error) classify.Classification {
	if errors.Is(err, store.ErrLost) {
		err = classify.ErrLost
	}
	if c, ok := errors.AsType[*classifiedError](err); ok {
		return c.class
	}
	return classify.Classify(ctx, err)
}

// errGoexit: user code did not return.
var errGoexit error = &classify.MarkedError{
	Class: lifecycle.Permanent, Code: classify.CodeGoexit,
	Err: errors.New("the executor ended its goroutine with runtime.Goexit"),
}

// RunIsolated runs a user's code on a goroutine of its own and sends its error,
// once. It is classified, whatever the code did: returned, panicked or ended its
// goroutine.
func RunIsolated(ctx context.Context, f func(context.Context) error) <-chan error {
	returned := make(chan error, 1)
	go func() {
		err := errGoexit
		defer func() {
			if v := recover(); v != nil {
				err = classify.Panic(v)
			}
			returned <- err
		}()
		if got := f(ctx); got != nil {
			err = &classifiedError{classify.Classify(ctx, got), got.Error(), errors.Is(got, store.ErrLost)}
			return
		}
		err = nil
	}()
	return returned
}

// sleep waits for d or for the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
