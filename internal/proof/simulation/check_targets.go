package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// searched are the targets that tasks have found, page by page.
type searched map[uuid.UUID]*foundSet

type foundSet struct {
	pages    [][]int64
	complete bool
}

// during counts what happens to a task between the batches of its search.
func (s searched) during(c memstore.Change, seen map[string]int) {
	if was := c.Before; was == nil || was.Seq == 0 || s[was.ID] != nil && s[was.ID].complete {
		return
	}
	switch now := c.After; {
	case now == nil:
		seen["delete during a search"]++
	case now.Status == lifecycle.Completed && now.Partial && !c.Before.Partial:
		seen["stop during a search"]++
	case now.Status == lifecycle.Failure && c.Before.Status != now.Status:
		seen["failure during a search"]++
	case c.Before.Status == lifecycle.Failure && now.Status == lifecycle.Queued:
		seen["retry of a search"]++
	case now.Control == lifecycle.Pause && c.Before.Control == lifecycle.None:
		seen["pause during a search"]++
	case now.Fence > c.Before.Fence:
		seen["claim during a search"]++
	}
}

// follow adds to the last change of a task what was found with it.
func (s searched) follow(t *oracle.Task, c memstore.Change) error {
	if c.Found == nil {
		return nil
	}
	id := c.After.ID
	if s[id] == nil {
		s[id] = &foundSet{}
	}
	set := s[id]
	set.complete = c.Found.Complete
	for _, p := range c.Found.Pages {
		page, err := entities(p.Keys)
		if err != nil {
			return fmt.Errorf("page %d of the targets of %s: %w", p.Number, id, err)
		}
		if p.Number >= len(set.pages) {
			set.pages = append(set.pages, make([][]int64, p.Number+1-len(set.pages))...)
		}
		set.pages[p.Number] = page
	}
	t.Changes[len(t.Changes)-1].Found = &oracle.Found{Set: slices.Concat(set.pages...), Complete: c.Found.Complete}
	return nil
}

// targetsAndLedger reads what is stored of a task that has found its targets, or keeps a ledger.
func (w *env) targetsAndLedger(ctx context.Context, id uuid.UUID, t *oracle.Task) error {
	if t.Facts.Search != nil {
		pages, err := w.mem.Targets(ctx, id, 0, 1<<20)
		if err != nil {
			return fmt.Errorf("read the targets of %s: %w", id, err)
		}
		for _, p := range pages {
			page, err := entities(p.Keys)
			if err != nil {
				return fmt.Errorf("page %d of the targets of %s: %w", p.Number, id, err)
			}
			t.Facts.Targets = append(t.Facts.Targets, page...)
		}
	}
	pages, err := w.mem.Ledger(ctx, id, -1, 1<<20)
	if err != nil {
		return fmt.Errorf("read the ledger of %s: %w", id, err)
	}
	t.Facts.Ledger = make(map[int64][]int64)
	for _, p := range pages {
		keys, err := store.DecodeLedger(p.Keys)
		var page []int64
		if err == nil {
			page, err = entities(keys)
		}
		if err != nil {
			return fmt.Errorf("batch %d of the ledger of %s: %w", p.Batch, id, err)
		}
		t.Facts.Ledger[p.Batch] = append(t.Facts.Ledger[p.Batch], page...)
	}
	return nil
}

// entities reads a list of items.
func entities(list json.RawMessage) (items []int64, err error) {
	err = json.Unmarshal(list, &items)
	return items, err
}

// outcomeAt is what becomes of the item at a position, see [Task.outcome]. The second time
// that a walk comes to it, it succeeds.
func (t *Task) outcomeAt(at int) (o store.Outcome, pass int) {
	if t.again(at) {
		return "", 0
	}
	return t.outcome(t.value(at))
}
