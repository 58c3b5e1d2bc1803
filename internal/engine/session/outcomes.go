package session

import (
	"hash/fnv"
	"io"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// outcomes are the items that a step has recorded, one of each key.
type outcomes struct {
	items []store.Item
	at    map[string]int // index in items, by key
	// What is needed to undo records: of the items below marked, those that were
	// replaced since the mark.
	marked   int
	replaced []replacement
}

// replacement is an item that another outcome has replaced.
type replacement struct {
	at  int
	old store.Item
}

// outcomesMark is a point to which outcomes can return.
type outcomesMark struct{ items, marked, replaced int }

// record adds an outcome, or replaces the outcome of the same item.
func (o *outcomes) record(i store.Item) {
	if n, ok := o.at[i.Key]; ok {
		if n < o.marked {
			o.replaced = append(o.replaced, replacement{n, o.items[n]})
		}
		i.ID = o.items[n].ID
		if i.ID == uuid.Nil && i.Outcome != store.ItemSucceeded {
			i.ID = store.NewID()
		}
		o.items[n] = i
		return
	}
	if i.Outcome != store.ItemSucceeded { // it is no row
		i.ID = store.NewID()
	}
	if o.at == nil {
		o.at = make(map[string]int)
	}
	o.at[i.Key] = len(o.items)
	o.items = append(o.items, i)
}

// mark begins what undo or keep ends. Marks are nested.
func (o *outcomes) mark() outcomesMark {
	m := outcomesMark{len(o.items), o.marked, len(o.replaced)}
	o.marked = len(o.items)
	return m
}

// undo forgets what was recorded since the mark.
func (o *outcomes) undo(m outcomesMark) {
	for n := len(o.replaced) - 1; n >= m.replaced; n-- {
		o.items[o.replaced[n].at] = o.replaced[n].old
	}
	for _, i := range o.items[m.items:] {
		delete(o.at, i.Key)
	}
	o.items = o.items[:m.items]
	o.marked, o.replaced = m.marked, o.replaced[:m.replaced]
}

// keep keeps what was recorded since the mark. An outer mark can still be undone.
func (o *outcomes) keep(m outcomesMark) {
	o.marked = m.marked
	if m.marked == 0 {
		o.replaced = o.replaced[:m.replaced]
	}
}

// count returns how many items failed, were skipped, were deferred and succeeded.
func (o *outcomes) count() (failed, skipped, deferred, succeeded int64) {
	for i := range o.items {
		switch o.items[i].Outcome {
		case store.ItemFailed:
			failed++
		case store.ItemSkipped:
			skipped++
		case store.ItemDeferred:
			deferred++
		case store.ItemSucceeded:
			succeeded++
		default:
		}
	}
	return failed, skipped, deferred, succeeded
}

// hash returns a hash of the keys of the items in their order, and 0 without items.
func (o *outcomes) hash() uint64 {
	if len(o.items) == 0 {
		return 0
	}
	h := fnv.New64a()
	for i := range o.items {
		_, _ = io.WriteString(h, o.items[i].Key)
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64() | 1
}

// undoSucceeded forgets which items succeeded since the mark, and keeps what else was
// recorded. An item that had another outcome at the mark has that again.
func (o *outcomes) undoSucceeded(m outcomesMark) {
	first := make(map[int]store.Item) // of those replaced since the mark, what they were then
	for _, r := range o.replaced[m.replaced:] {
		if _, ok := first[r.at]; !ok {
			first[r.at] = r.old
		}
	}
	since := o.replaced[m.replaced:]
	o.replaced = o.replaced[:m.replaced]
	for _, r := range since {
		switch {
		case r.at >= m.items: // of an inner mark
		case o.items[r.at].Outcome == store.ItemSucceeded:
			o.items[r.at] = first[r.at]
		case m.marked > 0:
			o.replaced = append(o.replaced, r)
		}
	}
	kept := o.items[:m.items]
	for _, i := range o.items[m.items:] {
		delete(o.at, i.Key)
		if i.Outcome != store.ItemSucceeded {
			o.at[i.Key] = len(kept)
			kept = append(kept, i)
		}
	}
	o.items = kept
	o.marked = m.marked
}

// split returns the items that are rows, and the keys of those that succeeded.
func (o *outcomes) split() (rows []store.Item, succeeded []string) {
	_, _, _, n := o.count() //nolint:dogsled // only the last
	if n == 0 {
		return o.items, nil
	}
	succeeded = make([]string, 0, n)
	for _, i := range o.items {
		if i.Outcome == store.ItemSucceeded {
			succeeded = append(succeeded, i.Key)
		} else {
			rows = append(rows, i)
		}
	}
	return rows, succeeded
}
