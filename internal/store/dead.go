package store

import (
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
)

// DeadGroup are the dead letters of a kind with a code.
type DeadGroup struct {
	Kind, Code     string
	Tasks          int64
	Oldest, Newest time.Time // when they ended
	Example        uuid.UUID // the newest by id
}

// ChangedError refuses a request with [Request.Dead] of a task that is not as it was listed.
func ChangedError(id uuid.UUID, a lifecycle.Action, s lifecycle.Status, c lifecycle.Control) *StateError {
	return &StateError{ID: id, RefusedError: lifecycle.RefusedError{
		Action: a, Status: s, Control: c, Why: "it has changed since it was listed among the dead letters: list them again",
	}}
}
