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
	Part, Bucket                bool // it is a part or a bucket of its parent, see [Child.Part] and [Child.Bucket]
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
// *DuplicateError or *ParentError. Request decides in the same way.
func (s *Subject) Decide(r Request) (lifecycle.Change, error) {
	change, err := s.DecideState(r)
	if err == nil {
		err = s.Forbids(r, change)
	}
	return change, err
}

// DecideState is the part of Decide that needs neither parent nor keys. A refusal is a *StateError, ErrNoPart or ErrBucketLimit.
func (s *Subject) DecideState(r Request) (lifecycle.Change, error) {
	if r.Action == lifecycle.ActStop && r.Skip && !s.Part {
		return lifecycle.Change{Control: s.Control}, ErrNoPart
	}
	if r.StopAfter != (lifecycle.StopPolicy{}) && s.Bucket {
		return lifecycle.Change{Control: s.Control}, ErrBucketLimit
	}
	change, err := lifecycle.Decide(s.With(r), r.Action)
	if refusal, ok := errors.AsType[*lifecycle.RefusedError](err); ok {
		return change, &StateError{ID: s.ID, RefusedError: *refusal}
	}
	if err == nil && r.Effective && change.Effect == lifecycle.Unchanged {
		return change, &StateError{ID: s.ID, RefusedError: lifecycle.RefusedError{Action: r.Action, Status: s.Status, Control: s.Control}}
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

// NeedsParent reports whether the parent of the task decides about a request.
func (s *Subject) NeedsParent(r Request) bool {
	switch r.Action {
	case lifecycle.ActRetry, lifecycle.ActDelete:
		return true
	case lifecycle.ActStop:
		return s.Part && !r.Skip
	default:
		return false
	}
}

// Forbids returns why a change that the state allows is refused because of another task; nil if it is not.
func (s *Subject) Forbids(r Request, c lifecycle.Change) error {
	switch p := s.Parent; {
	case c.Effect == lifecycle.Requeued && s.Continued != uuid.Nil:
		return &DuplicateError{Kind: s.Kind, Column: "idempotency_key", Key: ContinuationKey(s.ID), ID: s.Continued}
	case c.Effect == lifecycle.Requeued && s.KeyHolder != uuid.Nil:
		return &DuplicateError{Kind: s.Kind, Column: "unique_key", Key: s.UniqueKey, ID: s.KeyHolder}
	case p.ID == uuid.Nil || !s.NeedsParent(r) || c.Effect == lifecycle.Unchanged:
		return nil
	case r.Action == lifecycle.ActRetry && p.Status.Live():
		return nil
	case r.Action == lifecycle.ActDelete && (p.Status == "" || p.Status == lifecycle.Completed || p.Control == lifecycle.Delete):
		return nil
	case r.Action == lifecycle.ActStop && (!p.Status.Live() || p.Control.Ends()):
		return nil
	}
	// A parent that is open or can be retried would do the work of a deleted stage again, and leave out the work of a deleted
	// bucket. Without the work of a stopped part it would be complete although it is not.
	return &ParentError{Action: r.Action, ID: s.ID, Parent: s.Parent.ID, Status: s.Parent.Status}
}
