package store

import (
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

// OldTasks is a page of tasks to read, in the order of their ids, which is the order of time.
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
