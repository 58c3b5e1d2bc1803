package taskkit

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/store"
)

// Outcome is what became of an item of a task.
type Outcome string

// The outcomes.
const (
	OutcomeSucceeded   Outcome = "succeeded"
	OutcomeFailed      Outcome = "failed"      // recorded by Batch.Fail
	OutcomeSkipped     Outcome = "skipped"     // recorded by Batch.Skip
	OutcomeUnprocessed Outcome = "unprocessed" // the task has not come to it, or was stopped before
)

// Item is an item of a task and its outcome.
type Item struct {
	// Key is the item as JSON, see [Batch.Fail]. It can be decoded into the type
	// that the executor passed.
	Key      json.RawMessage `json:"item"`
	Outcome  Outcome         `json:"outcome"`
	Code     string          `json:"code"`
	Detail   string          `json:"detail,omitempty"`   // for operators only
	Position int64           `json:"position,omitempty"` // in the list of Take, from 1; 0: unknown
	Attempt  int             `json:"attempt"`
	Created  time.Time       `json:"created"` // when the outcome was recorded
}

// Text returns the key for people: a string without its quotes, all else as JSON.
func (i *Item) Text() string { return itemkey.Text(string(i.Key)) }

// itemsPage is the number of items that [Client.Items] reads at once.
const itemsPage = 1000

// Items returns the items of a task with an outcome, in the order in which they were
// first recorded. It reads them in pages, so the memory that it needs does not depend
// on their number. The first error is the last element: [ErrNotFound] also
// when the task is removed meanwhile. What a running task records meanwhile may be
// missing.
//
// A task stores the items that failed or were skipped. Other outcomes are an
// *[OptionError].
func (c *Client) Items(ctx context.Context, id ID, outcome Outcome) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		if err := checkOutcome(outcome); err != nil {
			yield(Item{}, err)
			return
		}
		op, err := c.tables(ctx)
		if err != nil {
			yield(Item{}, err)
			return
		}
		var after ID
		for {
			page, err := op.Items(ctx, id, store.Outcome(outcome), after, itemsPage)
			if err != nil {
				yield(Item{}, c.public(ctx, err))
				return
			}
			for i := range page {
				if !yield(itemOf(&page[i]), nil) {
					return
				}
				after = page[i].ID
			}
			if len(page) < itemsPage {
				break
			}
		}
		// The items of a removed task are gone, and what was read may be a part.
		found, err := op.Tasks(ctx, store.Filter{IDs: []ID{id}, Limit: 1})
		if err == nil && len(found) == 0 {
			err = store.ErrNotFound
		}
		if err != nil {
			yield(Item{}, c.public(ctx, err))
		}
	}
}

// itemOf converts an item.
func itemOf(i *store.Item) Item {
	return Item{
		Key: json.RawMessage(i.Key), Outcome: Outcome(i.Outcome), Code: i.Code, Detail: i.Detail,
		Position: i.Position, Attempt: i.Attempt, Created: i.Created,
	}
}

// checkOutcome refuses outcomes of which nothing is stored.
func checkOutcome(o Outcome) error {
	switch o {
	case OutcomeFailed, OutcomeSkipped:
		return nil
	case OutcomeSucceeded, OutcomeUnprocessed:
		return &OptionError{"outcome", fmt.Sprintf("a task does not store which items are %s: "+
			"take the items of the task, and leave out those that failed or were skipped", o)}
	default:
		return &OptionError{"outcome", fmt.Sprintf("%q is none: use OutcomeFailed or OutcomeSkipped", shorten(string(o)))}
	}
}
