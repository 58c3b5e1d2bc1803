package classify

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"taskkit.dev/internal/lifecycle"
)

// Outage says whether an error comes from a fault of the database as a whole, or of the worker's access to it: a
// right is missing, the disk is full, no connection is left. No task has caused it, and it costs no task an attempt.
type Outage int

// The answers.
const (
	NoOutage Outage = iota
	// SuspectedOutage: an executor may have caused the error too, so the worker checks the database.
	SuspectedOutage
	// CertainOutage: no executor can have caused the error.
	CertainOutage
)

// RuntimeError is the error of a statement of the runtime, in a transaction of its own or, if it is Shared, in one that
// an executor has used.
type RuntimeError struct {
	Err    error
	Shared bool
}

// OfRuntime returns err as a [RuntimeError], unless it is nil or one already.
func OfRuntime(err error) error {
	if _, ok := errors.AsType[*RuntimeError](err); ok || err == nil {
		return err
	}
	return &RuntimeError{Err: err}
}

// OfShared returns err as a Shared [RuntimeError] if the database has refused the statement for what may be a fault of the database
// as a whole. A connection that was lost is none: the executor's statements may have caused that.
func OfShared(err error) error {
	if _, ok := errors.AsType[*RuntimeError](err); ok || !DatabaseError(err) || !refusesRuntime(err) {
		return err
	}
	return &RuntimeError{Err: err, Shared: true}
}

// Error implements error.
func (e *RuntimeError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the database.
func (e *RuntimeError) Unwrap() error { return e.Err }

// OutageOf returns what an error is. Statements of executors are refused for their own faults too: an error of theirs is
// suspected only without a mark, and with a code for a database that takes no writes or no connections, or for a pooler in the
// wrong mode.
func OutageOf(err error) Outage {
	r, ofRuntime := errors.AsType[*RuntimeError](err)
	_, marked := errors.AsType[*MarkedError](err)
	switch {
	case ofRuntime && refusesRuntime(r.Err) && !r.Shared:
		return CertainOutage
	case ofRuntime && refusesRuntime(r.Err), !ofRuntime && !marked && is(err, unserviceable|preparedStatement):
		return SuspectedOutage
	}
	return NoOutage
}

// refusesRuntime reports whether an error of a statement of the runtime is one that every worker with this access to the
// database would get. A connection that cannot be made is one, whatever its code is, such as XX000 where the disk of the server is full, and
// also without an answer in time. A call that took too long is none: the task may be large.
func refusesRuntime(err error) bool {
	if Unconnected(err) {
		return !errors.Is(err, context.Canceled)
	}
	if m, ok := databaseMeaning(err); ok {
		return m.class == lifecycle.Refused || m.is&(unserviceable|refusedLogin|lostConnection|preparedStatement) != 0
	}
	return LostConnection(err) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

// Unconnected reports whether no connection could be made, so that nothing was sent.
func Unconnected(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok
}
