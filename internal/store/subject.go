package store

import (
	"errors"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
)

// Subject is a task with all that decides about a request of it.
type Subject struct {
	lifecycle.Found // with the conditions as stored

	ID, Owner, RunAs, CreatedBy uuid.UUID
	Kind, UniqueKey             string
	Parent                      ParentState
	// Continued is the task that continues this one, and KeyHolder another live task that has
	// its unique key. Zero: none.
	Continued, KeyHolder uuid.UUID
	// Retried and Applied are the tasks that were made of this one by a retry of its failed
	// items and by its application, as a preview. Zero: none. No request depends on them.
	Retried, Applied uuid.UUID
}

// ParentState is the parent of a task to which a request is made. The zero value is none.
type ParentState struct {
	ID      uuid.UUID
	Status  lifecycle.Status // "": it has been removed
	Control lifecycle.Control
}

// Decide returns what a request does to the task, or why it is refused: a *StateError,
// *DuplicateError, *ParentError or *NeededError. Request decides in the same way.
func (s *Subject) Decide(r Request) (lifecycle.Change, error) {
	change, err := s.DecideState(r)
	if err == nil {
		err = s.Forbids(r.Action, change)
	}
	return change, err
}

// DecideState is the part of Decide that needs neither parent nor keys. A refusal is a *StateError.
func (s *Subject) DecideState(r Request) (lifecycle.Change, error) {
	change, err := lifecycle.Decide(s.With(r), r.Action)
	if refusal, ok := errors.AsType[*lifecycle.RefusedError](err); ok {
		return change, &StateError{ID: s.ID, RefusedError: *refusal}
	}
	return change, err
}

// With returns the task as a request is decided, with the stop policy that it sets.
func (s *Subject) With(r Request) lifecycle.Found {
	f := s.Found
	if r.StopAfter != (lifecycle.StopPolicy{}) {
		f.Conditions.StopAfter = r.StopAfter
	}
	f.Own = r.Actor == s.Owner || r.Actor == s.RunAs || r.Actor == s.CreatedBy
	return f
}

// Forbids returns why a change that the state allows is refused because of another task; nil if it is not.
func (s *Subject) Forbids(a lifecycle.Action, c lifecycle.Change) error {
	switch p := s.Parent; {
	case c.Effect == lifecycle.Requeued && s.Continued != uuid.Nil:
		return &DuplicateError{Kind: s.Kind, Column: "idempotency_key", Key: ContinuationKey(s.ID), ID: s.Continued}
	case c.Effect == lifecycle.Requeued && s.KeyHolder != uuid.Nil:
		return &DuplicateError{Kind: s.Kind, Column: "unique_key", Key: s.UniqueKey, ID: s.KeyHolder}
	case c.Effect == lifecycle.Requeued && p.ID != uuid.Nil && !p.Status.Live():
		return &ParentError{ID: s.ID, Parent: p.ID, Status: p.Status}
	case a != lifecycle.ActDelete || p.ID == uuid.Nil || p.Status == "" || p.Status == lifecycle.Completed || p.Control == lifecycle.Delete:
		return nil
	}
	// A parent that is open or can be retried would do the work of a stage again, and leave out
	// the work of a bucket.
	return &NeededError{ID: s.ID, Parent: s.Parent.ID, Status: s.Parent.Status}
}
