package store

import (
	"time"

	"github.com/google/uuid"
)

// Outcome is what became of an item of a task, where it is a row of its own.
type Outcome string

// The outcomes.
const (
	ItemFailed   Outcome = "failed"   // will never work
	ItemSkipped  Outcome = "skipped"  // needed nothing, or was left out
	ItemDeferred Outcome = "deferred" // will be tried again in the next round; see [Retried]
)

// The outcomes of items without a row.
const (
	ItemSucceeded   Outcome = "succeeded"
	ItemUnprocessed Outcome = "unprocessed"
)

// Outcomes returns the outcomes that a row can have.
func Outcomes() []Outcome { return []Outcome{ItemFailed, ItemSkipped, ItemDeferred} }

// Item is an item of a task with its outcome. A task has one row for each Key: a
// later outcome replaces an earlier one, and keeps its ID.
type Item struct {
	ID       uuid.UUID
	Created  time.Time // when the outcome was recorded
	Key      string    // see package itemkey
	Outcome  Outcome
	Code     string
	Detail   string
	Position int64 // in the list or the set, from 1; 0: unknown
	// Attempt is the attempt of the batch. For a deferred item it is the number of rounds
	// in which it was tried.
	Attempt int
}

// Retried are the deferred items that a batch has retried. The zero value is none.
type Retried struct {
	// Round is the round of the batch. Rows of items that were deferred in earlier
	// rounds are removed if their positions are greater than After and at most Upto.
	// Items that failed or were deferred again have new rows.
	Round       int
	After, Upto int64
	// FailRest then turns all remaining deferred items into failed ones.
	FailRest bool
}

// FailedItem is where and when an item failed.
type FailedItem struct {
	Task    uuid.UUID
	Created time.Time
	ID      uuid.UUID
}

// ItemRecord is what became of an item in one task.
type ItemRecord struct {
	Item
	Task uuid.UUID
}

// ItemCursor is where a list of items goes on. The zero value is its beginning.
type ItemCursor struct {
	Position int64
	ID       uuid.UUID
}

// Cursor returns where the list goes on after the item.
func (i *Item) Cursor() ItemCursor { return ItemCursor{i.Position, i.ID} }
