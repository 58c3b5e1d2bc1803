package errclass

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Class is what an error means for a task.
type Class string

// The classes.
const (
	// Transient: try the batch again, later, as often as the budget allows.
	Transient Class = "transient"
	// Permanent: never try again; the task ends in FAILURE.
	Permanent Class = "permanent"
	// Interrupted: the worker must stop; the task goes back, nothing is spent.
	Interrupted Class = "interrupted"
	// Lost: the task is another's now; nothing may be written.
	Lost Class = "lost"
)

// Mark is an error whose class its maker has decided.
type Mark struct { //nolint:errname // the word of the design: errors are marked
	Class Class
	Code  string        // for clients; "" where the maker named none
	After time.Duration // try again no sooner; zero: by the backoff
	Err   error
}

// Error implements error.
func (m *Mark) Error() string {
	if m.Err == nil {
		return m.Code
	}
	if m.Code == "" {
		return m.Err.Error()
	}
	return m.Code + ": " + m.Err.Error()
}

// Unwrap returns the marked error.
func (m *Mark) Unwrap() error { return m.Err }

// Panic turns a recovered value into a permanent error that carries the stack
// of the goroutine that panicked. Call it in the deferred function.
func Panic(v any) error {
	return &Mark{Class: Permanent, Code: CodePanic, Err: fmt.Errorf("%v\n%s", v, debug.Stack())}
}

// Causes of a cancelled context, as [context.Cause] gives them.
var (
	// ErrDraining: the worker is shutting down and the drain time is over.
	ErrDraining = errors.New("the worker is shutting down")
	// ErrLost: the worker no longer holds the task.
	ErrLost = errors.New("the worker no longer holds the task")
	// ErrBatchTimeout: the batch took longer than its limit.
	ErrBatchTimeout = errors.New("the batch took longer than Config.BatchTimeout")
)

// Codes that the runtime itself gives. A code goes to clients.
const (
	CodePanic        = "panic"
	CodeGoexit       = "goexit"
	CodeBatchTimeout = "batch_timeout"
	CodeInvalid      = "invalid"
	CodeDatabase     = "database"
	CodeItemFailed   = "item_failed"
	CodeError        = "error"
)
