package engine

import "taskkit.dev/internal/store"

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

// record adds an outcome, or replaces that of the same item.
func (o *outcomes) record(i store.Item) {
	if n, ok := o.at[i.Key]; ok {
		if n < o.marked {
			o.replaced = append(o.replaced, replacement{n, o.items[n]})
		}
		i.ID = o.items[n].ID
		o.items[n] = i
		return
	}
	i.ID = store.NewID()
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

// count returns how many items failed, were skipped and were deferred.
func (o *outcomes) count() (failed, skipped, deferred int64) {
	for i := range o.items {
		switch o.items[i].Outcome {
		case store.ItemFailed:
			failed++
		case store.ItemSkipped:
			skipped++
		case store.ItemDeferred:
			deferred++
		}
	}
	return failed, skipped, deferred
}
