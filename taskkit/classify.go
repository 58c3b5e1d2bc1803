package taskkit

import (
	"context"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
)

// Class is what an error means for a task.
type Class string

// The classes.
const (
	// ClassTransient: the batch is tried again, later, within its budget.
	ClassTransient = Class(lifecycle.Transient)
	// ClassPermanent: the batch is never tried again; the task ends in FAILURE.
	ClassPermanent = Class(lifecycle.Permanent)
	// ClassInterrupted: the worker shuts down; the task is released and no
	// attempt is spent.
	ClassInterrupted = Class(lifecycle.Interrupted)
	// ClassLost: another worker holds the task now; nothing was written.
	ClassLost = Class(lifecycle.LeaseLost)
)

// Permanent marks an error that no retry can correct. The code is shown to
// clients: keep it short and free of data. The error is shown to operators. A nil
// err is allowed.
func Permanent(code string, err error) error {
	return &classify.MarkedError{Class: lifecycle.Permanent, Code: code, Err: err}
}

// Transient marks an error that a retry may correct, whatever its type. It
// returns nil for nil.
func Transient(err error) error {
	if err == nil {
		return nil
	}
	return &classify.MarkedError{Class: lifecycle.Transient, Err: err}
}

// RetryAfter marks an error as transient and requests a retry no sooner than d
// from now; the backoff may make it later. It spends an attempt, as every
// failure does. For waiting that is no failure return [Later].
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &classify.MarkedError{Class: lifecycle.Transient, After: d, Err: err}
}

// Classify returns the class of an error that a batch returned under ctx. The
// order is: marks ([Permanent], [Transient], [RetryAfter]); the cause of a
// cancelled context; SQLSTATE, through interface{ SQLState() string }
// (40001, 40P01, 55P03, 57014, 57P0x, 25P03, 25006, 08xxx, 53xxx, 58xxx are
// transient, the classes 22, 23 and 42 permanent); SQLite's result code;
// decoding and validation errors, which are permanent. The rest is transient,
// bounded by Config.MaxAttempts.
//
// A statement that is larger than the database allows, such as one with too many
// parameters, is permanent for its batch. But unless the executor has marked its
// error, the runtime first halves b.Limit and tries again, down to a batch of one
// item.
func Classify(ctx context.Context, err error) Class {
	return Class(classify.Classify(ctx, err).Class)
}
