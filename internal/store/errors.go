package store

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
)

var (
	// ErrNotFound: there is no such task.
	ErrNotFound = errors.New("no such task")
	// ErrExpired: the result has been erased, see [Upkeep].
	ErrExpired = errors.New("the result has been erased")
	// ErrNotFinding: a write has found targets of a task whose set is complete, or that
	// has none.
	ErrNotFinding = errors.New("the targets of the task do not change any more")
	// ErrNoSkip: a retry cannot skip an item of this task.
	ErrNoSkip = errors.New("no item to skip: the task is past the last one, does not keep its position by taskkit.Take, or has not found its targets")
	// ErrBucketLimit: a bucket or a range has no stop policy of its own.
	ErrBucketLimit = errors.New("the task is a bucket or a range, whose failed items count for the whole task: change the limit of its parent")
	// ErrNoPart: the rest of this task cannot be left out.
	ErrNoPart = errors.New("the task is neither a bucket nor a stage: stop it without leaving anything out")
	// ErrLost: the session no longer holds its task.
	ErrLost = errors.New("the task is held by another or has ended")
	// ErrDead: the process has been declared dead, or has left.
	ErrDead = errors.New("this process has been declared dead")
	// ErrNoWatch: notifications do not arrive on this connection.
	ErrNoWatch = errors.New("notifications do not arrive here")
)

// StateError is a request that a task's status does not allow.
type StateError struct {
	ID uuid.UUID
	lifecycle.RefusedError
}

func (e *StateError) Error() string {
	if e.Why != "" {
		return fmt.Sprintf("cannot %s task %s: %s", e.Action, e.ID, e.Why)
	}
	return fmt.Sprintf("cannot %s task %s: it is %s", e.Action, e.ID, e.Status)
}

// DuplicateError is a task that exists already, by a key of its kind.
type DuplicateError struct {
	Kind   string
	Column string // unique_key, idempotency_key or id
	Key    string
	ID     uuid.UUID // the task that has the key; zero where the handle cannot query
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%s task with %s %q exists already", e.Kind, e.Column, e.Key)
}

// CoalesceError is a submission that cannot be merged into the task with the same
// reference that waits.
type CoalesceError struct {
	Kind, Reference string
	ID              uuid.UUID // the waiting task
	Differs         []string  // as [lifecycle.Identity.Differences] names them
}

func (e *CoalesceError) Error() string {
	return fmt.Sprintf("a %s task with reference %q waits and differs in %v", e.Kind, e.Reference, e.Differs)
}

// PausedError is a submission that was merged into a task that is paused.
type PausedError struct {
	Kind, Reference string
	ID              uuid.UUID
}

func (e *PausedError) Error() string {
	return fmt.Sprintf("the %s task with reference %q is paused", e.Kind, e.Reference)
}

// RefusedError is a database that refuses what a worker does.
type RefusedError struct {
	Problem string // what is missing
	Remedy  string // the statement or the setting that mends it
}

func (e *RefusedError) Error() string {
	return "the database refuses what a worker does: " + e.Problem + "; " + e.Remedy
}

// UnknownError is an error from COMMIT: the transaction may have committed or
// not. Read [Sessions].Positions to find out.
type UnknownError struct{ Err error }

func (e *UnknownError) Error() string { return "outcome of commit unknown: " + e.Err.Error() }

// Unwrap returns the driver's error.
func (e *UnknownError) Unwrap() error { return e.Err }

// Unknown reports whether err leaves open whether a commit took effect.
func Unknown(err error) bool {
	var u *UnknownError
	return errors.As(err, &u)
}
