package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Retention is how long what tasks leave is kept. Zero is for ever.
type Retention struct {
	Unfetched time.Duration // the result, since it was stored
	Fetched   time.Duration // the result, since it was first fetched
	Ended     time.Duration // the task, since it ended
	Idle      time.Duration // a task that waits and is due, since it changed
}

// Cleaner removes what has been kept for long enough. Its methods wait for no lock of
// a row, and skip what others work on.
type Cleaner interface {
	// EraseResults erases the results that have expired, at most limit, the oldest
	// first, and returns how many.
	EraseResults(ctx context.Context, limit int) (int, error)
	// RemoveTasks removes tasks of one page, in one transaction, with all that belongs to
	// them but their events.
	RemoveTasks(ctx context.Context, p OldTasks) (RemovedTasks, error)
	UnknownKinds
	EventPruner
}

// EventPruner deletes old events.
type EventPruner interface {
	// PruneEvents deletes events of any task that are older than this, the oldest
	// first, at most limit, and returns how many. Both arguments are positive.
	PruneEvents(ctx context.Context, olderThan time.Duration, limit int) (int, error)
}

// OldTasks is a page of tasks to read, in the order of their ids, which is that of time.
type OldTasks struct {
	After uuid.UUID // only tasks with a larger id
	Limit int
	// Items is how many recorded items the tasks that are removed may have together. One
	// task may have more.
	Items int64
	Keep  func(kind string) Retention
	// Youngest is the shortest period of any kind: no younger task is old enough.
	Youngest time.Duration
}

// RemovedTasks is what became of a page.
type RemovedTasks struct {
	Ended, Idle []uuid.UUID
	// Next is where the next page begins; zero when no task after this page is old
	// enough.
	Next uuid.UUID
}

// EventReasonIdle is the reason in the event of a task that was removed because it was idle.
const EventReasonIdle = "idle for too long"
