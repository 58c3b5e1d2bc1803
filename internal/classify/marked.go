package classify

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"taskkit.dev/internal/lifecycle"
)

// MarkedError is an error whose class the executor or the runtime has set.
type MarkedError struct {
	Class lifecycle.Class
	Code  string        // for clients; "" where none was given
	After time.Duration // retry no sooner; zero: by the backoff
	Err   error
}

// Error implements error.
func (m *MarkedError) Error() string {
	if m.Err == nil {
		return m.Code
	}
	if m.Code == "" {
		return m.Err.Error()
	}
	return m.Code + ": " + m.Err.Error()
}

// Unwrap returns the marked error.
func (m *MarkedError) Unwrap() error { return m.Err }

// Panic turns a recovered value into a permanent error that carries the stack
// of the goroutine that panicked. Call it in the deferred function.
func Panic(v any) error {
	if m, ok := v.(*MarkedError); ok {
		return m // from a method without an error result, such as Take
	}
	return &MarkedError{Class: lifecycle.Permanent, Code: CodePanic, Err: fmt.Errorf("%v\n%s", v, debug.Stack())}
}

// Causes of a cancelled context, as [context.Cause] gives them.
var (
	// ErrDraining: the worker is shutting down and the drain time is over.
	ErrDraining = errors.New("the worker is shutting down")
	// ErrLost: the worker no longer has the task.
	ErrLost = errors.New("the worker no longer has the task")
	// ErrBatchTimeout: the batch took longer than its limit.
	ErrBatchTimeout = errors.New("the batch took longer than Config.BatchTimeout")
)
