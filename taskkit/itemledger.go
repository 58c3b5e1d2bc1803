package taskkit

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"taskkit.dev/internal/store"
)

// ledgerPages is how many pages of a ledger are read at once.
const ledgerPages = 16

// ledgerItems returns the items that succeeded in a task without a set of targets, as
// the batches recorded them.
func (c *Client) ledgerItems(ctx context.Context, op store.Client, t *store.Task, from itemPlace) (iter.Seq2[placedItem, error], error) {
	// What the ledger has more than the counter was committed since.
	items, err := op.LedgerItems(ctx, t.ID)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	switch missing := t.Progress.Done - items; {
	case missing > 0 && items == 0:
		return nil, &ItemsError{ID: t.ID, Action: actSucceeded, Problem: noLedger}
	case missing > 0:
		return nil, &ItemsError{ID: t.ID, Action: actSucceeded, Problem: fmt.Sprintf(incompleteLedger, missing, t.Progress.Done)}
	}
	recorded := false // items that may be in the ledger too
	for _, o := range store.Outcomes() {
		rows, err := op.Items(ctx, t.ID, o, store.ItemCursor{}, 1)
		if err != nil {
			return nil, c.public(ctx, err)
		}
		recorded = recorded || len(rows) > 0
	}
	return func(yield func(placedItem, error) bool) {
		passed := from.index // of the first batch
		for after := max(from.batch, 1) - 2; ; {
			pages, err := op.Ledger(ctx, t.ID, after, ledgerPages)
			if err != nil {
				yield(placedItem{}, err)
				return
			}
			for i := range pages {
				after = pages[i].Batch
				keys, err := ledgerKeys(ctx, op, t.ID, &pages[i], recorded)
				if err != nil {
					yield(placedItem{}, err)
					return
				}
				if after != from.batch-1 {
					passed = 0
				}
				for n := min(passed, int64(len(keys))); n < int64(len(keys)); n++ {
					item := Item{Key: keys[n], Outcome: OutcomeSucceeded, Created: pages[i].Created}
					if !yield(placedItem{Item: item, after: itemPlace{batch: after + 1, index: n + 1}}, nil) {
						return
					}
				}
			}
			if len(pages) < ledgerPages {
				return
			}
		}
	}, nil
}

// ledgerKeys returns the items of a page of a ledger, without those that have a row if
// the task has any: another batch has recorded another outcome, which is the last,
// since a success removes the row.
func ledgerKeys(ctx context.Context, op store.Client, id ID, page *store.LedgerPage, recorded bool) ([]json.RawMessage, error) {
	array, err := store.DecodeLedger(page.Keys)
	var keys []json.RawMessage
	if err == nil {
		err = json.Unmarshal(array, &keys) // a key may be what a spec must not have, as NUL
	}
	if err == nil && int64(len(keys)) != page.Items {
		err = fmt.Errorf("it has %d items, want %d", len(keys), page.Items)
	}
	if err != nil {
		return nil, fmt.Errorf("read what batch %d of task %s has recorded as succeeded: %w", page.Batch, id, err)
	}
	if !recorded {
		return keys, nil
	}
	asked := make([]string, len(keys))
	for i, k := range keys {
		asked[i] = string(k)
	}
	found, err := op.Recorded(ctx, id, asked)
	if err != nil || len(found) == 0 {
		return keys, err
	}
	slices.Sort(found)
	return slices.DeleteFunc(keys, func(k json.RawMessage) bool {
		_, has := slices.BinarySearch(found, string(k))
		return has
	}), nil
}
