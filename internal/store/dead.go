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

// DeadRead is how many dead letters of a kind and a status [Ops.DeadGroups] reads at most.
const DeadRead = 10_000

// DeadShare is how many dead letters of each of so many kinds and statuses [Ops.DeadGroups] reads for a total. It is a
// constant of the statement, so there are few of them.
func DeadShare(total, keys int) int {
	for _, share := range []int{DeadRead, 5000, 2000, 1000, 500, 200} {
		if total == 0 || share*keys <= total {
			return share
		}
	}
	return 100
}

// DeadGroups are the groups of the dead letters.
type DeadGroups struct {
	Groups []DeadGroup
	// Truncated are the kinds of which only the newest dead letters of a status were read: their groups may
	// have more tasks, and there may be more of these groups.
	Truncated []string
}

// ChangedError refuses a request with [Request.Dead] of a task that is not as it was listed.
func ChangedError(id uuid.UUID, a lifecycle.Action, s lifecycle.Status, c lifecycle.Control) *StateError {
	return &StateError{ID: id, RefusedError: lifecycle.RefusedError{
		Action: a, Status: s, Control: c, Why: "it has changed since it was listed among the dead letters: list them again",
	}}
}
