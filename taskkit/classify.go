package taskkit

import (
	"context"
	"time"

	"taskkit.dev/internal/errclass"
)

// Class is what an error means for a task.
type Class string

// The classes.
const (
	// ClassTransient: the batch is tried again, later, within its budget.
	ClassTransient = Class(errclass.Transient)
	// ClassPermanent: the batch is never tried again; the task ends in FAILURE.
	ClassPermanent = Class(errclass.Permanent)
	// ClassInterrupted: the worker shuts down; the task goes back, no attempt
	// is spent.
	ClassInterrupted = Class(errclass.Interrupted)
	// ClassLost: another worker holds the task now; nothing was written.
	ClassLost = Class(errclass.Lost)
)

// Permanent marks an error that no retry can mend. The code goes to clients:
// keep it short and free of data. The error goes to operators. A nil err is
// allowed.
func Permanent(code string, err error) error {
	return &errclass.Mark{Class: errclass.Permanent, Code: code, Err: err}
}

// Transient marks an error that a retry may mend, whatever its type says. It
// returns nil for nil.
func Transient(err error) error {
	if err == nil {
		return nil
	}
	return &errclass.Mark{Class: errclass.Transient, Err: err}
}

// RetryAfter marks an error as transient and asks for a retry no sooner than d
// from now; the backoff may make it later. It spends an attempt, as every
// failure does. For waiting that is no failure return [Later].
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &errclass.Mark{Class: errclass.Transient, After: d, Err: err}
}

// Classify says what an error that a batch returned under ctx means for its
// task. The order is: marks ([Permanent], [Transient], [RetryAfter]); the cause
// of a cancelled context; SQLSTATE, asked through interface{ SQLState() string }
// (40001, 40P01, 55P03, 57014, 57P0x, 25P03, 25006, 08xxx, 53xxx, 58xxx are
// transient, the classes 22, 23 and 42 permanent); SQLite's result code;
// decoding and validation errors, which are permanent. The rest is transient,
// bounded by Config.MaxAttempts.
func Classify(ctx context.Context, err error) Class {
	return Class(errclass.Judge(ctx, err).Class)
}
