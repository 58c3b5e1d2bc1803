package store

import (
	"bytes"
	"encoding/binary"
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

// EndedKind is a kind of tasks that have ended.
type EndedKind struct {
	Kind string
	Age  time.Duration // of the first end
}

// EndedTasks is a page of the tasks of a kind that ended longer ago than a period, those that ended first
// before others.
type EndedTasks struct {
	Kind   string
	Period time.Duration
	After  EndedCursor
	Limit  int
	// Items is how many recorded items the tasks that are removed may have together. One
	// task may have more.
	Items int64
}

// EndedCursor is a place among the tasks of a kind that have ended; zero is before the first.
type EndedCursor struct {
	Ended time.Time
	ID    uuid.UUID
}

// RemovedEnded is what became of a page.
type RemovedEnded struct {
	IDs  []uuid.UUID
	Next EndedCursor // where the next page begins; zero when there is none
}

// WaitingTasks is a page of tasks to read, in the order of their ids, which is about the order of time, see [WaitingTasks.Skip].
type WaitingTasks struct {
	After uuid.UUID // only tasks with a larger id
	Limit int
	Items int64 // as in [EndedTasks]
	// Keep says for how long idle tasks of a kind are kept.
	Keep func(kind string) Retention
	// Youngest is the shortest of these periods: no younger task is old enough.
	Youngest time.Duration
}

// clockSkew is how far the clock of a client that makes an id may be ahead of the database's before its task is
// removed later than it could be: by what it is ahead.
const clockSkew = time.Hour

// Skip reports whether the tasks from this id on are too young, by the time in it, and returns the last of them. Those behind it
// have ids of the future: their age is not known. The time of creation decides nothing here, since a merge renews it and keeps the id.
func (p WaitingTasks) Skip(id uuid.UUID, now time.Time) (last uuid.UUID, young bool) {
	first, last := lowestID(now.Add(clockSkew-p.Youngest)), lowestID(now.Add(clockSkew))
	return last, bytes.Compare(first[:], id[:]) <= 0 && bytes.Compare(id[:], last[:]) < 0
}

// lowestID returns the lowest id that can be made at a time.
func lowestID(t time.Time) (id uuid.UUID) {
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(max(t.UnixMilli(), 0)))
	copy(id[:], ms[2:])
	return id
}

// RemovedIdle is what became of a page.
type RemovedIdle struct {
	IDs []uuid.UUID
	// Next is where the next page begins, after tasks that are too young to be read; zero when there is none.
	Next uuid.UUID
}

// EventReasonIdle is the reason in the event of a task that was removed because it was idle.
const EventReasonIdle = "idle for too long"
