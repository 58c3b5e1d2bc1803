package store

import (
	"time"
)

// UnknownKind is a kind, or a revision of one, of due tasks. Live processes serve their queue, and
// none of these processes has it.
type UnknownKind struct {
	Kind     string
	Revision int
	Queue    string
	Tasks    int64 // at least so many were due when it was last seen
	First    time.Time
	Last     time.Time
}

const (
	// UnknownGap is for how long a sighting counts: after it, the time begins anew, since no worker
	// may have looked meanwhile.
	UnknownGap = 24 * time.Hour
	// UnknownReported is how often an unknown kind is reported again.
	UnknownReported = 24 * time.Hour
	// UnknownCounted is how many due tasks of an unknown kind are counted at most, in each queue and of each rank.
	UnknownCounted = 100
	// UnknownRead is how many due tasks of an unknown kind, in each queue and of each rank, one call reads at most to end the tasks
	// that have waited for too long.
	UnknownRead = 500

	// UnknownKindDesc is the description of a task that ended because its kind was unknown.
	UnknownKindDesc = "unknown_kind: for too long no live worker that serves its queue has known its kind or revision: start one that does, and retry the task"
)
