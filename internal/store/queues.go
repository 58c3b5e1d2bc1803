package store

import (
	"time"

	"github.com/google/uuid"
)

// QueueChange is what becomes of a queue.
type QueueChange struct {
	Queue  string
	Paused bool
	Actor  uuid.UUID // zero: unknown
	Reason string
}

// QueuePause is whether a queue is paused, and by whom it was paused and resumed last.
type QueuePause struct {
	Queue         string
	Paused        bool
	PausedBy      uuid.UUID
	PausedReason  string
	PausedDate    time.Time
	ResumedBy     uuid.UUID
	ResumedReason string
	ResumedDate   *time.Time // nil: never
	SincePaused   time.Duration
}

// QueueRead is how many waiting tasks of each kind, revision and rank in a queue are counted at most for an operator.
const QueueRead = 10_000

// QueueCounts is what is in a queue. Tasks that are paused themselves are not counted.
type QueueCounts struct {
	Queue   string
	Waiting int64
	Due     int64 // of those that wait
	// MoreWaiting: at least Waiting tasks wait, since not all were read; MoreDue: at least Due of them are due.
	MoreWaiting, MoreDue bool
	Running              int64 // claimed, whether their session has begun or not
	// Oldest is since when the task has been due that has been due for longest, and Wait how
	// long ago that is by the database's clock.
	Oldest *time.Time
	Wait   time.Duration
}
