package taskkit

import (
	"context"
	"errors"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
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

// IsPermanent reports whether an error that a batch returned under ctx ends the task in
// FAILURE; otherwise the batch is tried again, bounded by Config.MaxAttempts. The first of these that
// applies decides: marks ([Permanent], [Transient], [RetryAfter]); the cause of a
// cancelled context; SQLSTATE, through interface{ SQLState() string }
// (40001, 40P01, 55P03, 57014, 57P0x, 25P03, 25006, 08xxx, 53xxx, 58xxx are
// transient, the classes 22 and 23 permanent); SQLite's result code;
// decoding and validation errors, which are permanent. The rest is transient. A statement of class 42 or
// 3F, which is refused as such, is tried three times.
//
// A statement that is larger than the database allows, such as one with too many
// parameters, is permanent for its batch. But unless the executor has marked its
// error, the runtime first halves b.Limit and tries again, down to a batch of one
// item.
func IsPermanent(ctx context.Context, err error) bool {
	return classify.Classify(ctx, err).Class == lifecycle.Permanent
}

// IsTransient reports whether an error is known to pass by itself: one that is marked so by
// [Transient] or [RetryAfter], the end of a context, a lost connection, or an error of the database that
// passes. It is for errors outside of batches. Unlike for [IsPermanent], an error of which nothing is known does not count.
func IsTransient(err error) bool {
	if m, ok := errors.AsType[*classify.MarkedError](err); ok {
		return m.Class == lifecycle.Transient
	}
	_, connect := errors.AsType[*ConnectError](err)
	return connect || classify.TransientDatabase(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
