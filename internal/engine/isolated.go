package engine

import (
	"context"
	"errors"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

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

// runIsolated runs a user's code on a goroutine of its own and sends its error,
// once. It is classified, whatever the code did: returned, panicked or ended its
// goroutine.
func runIsolated(ctx context.Context, f func(context.Context) error) <-chan error {
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
