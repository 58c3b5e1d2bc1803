package taskkit

import (
	"context"
	"fmt"
	"slices"

	"taskkit.dev/internal/store"
)

// targetCursor reads the targets of a task in the order of their positions, a page at
// a time.
type targetCursor struct {
	read  store.ItemReader
	id    ID
	total int64
	begin int64 // the position in the set of the first target: of a range
	// keys are all targets of a list in the spec, or those of a page of a frozen set.
	frozen bool
	page   int
	keys   [][]byte
}

// newTargetCursor returns the targets of a task that was submitted with a spec. The
// second result is that spec without them. For a live walk both are nil. A task that has
// not found its targets is an *[ItemsError] without an action.
func newTargetCursor(read store.ItemReader, t *store.Task, p *store.Plan) (*targetCursor, []byte, error) {
	c := &targetCursor{read: read, id: t.ID, page: -1}
	piece := p.Options.Child
	if piece != nil && piece.Range != nil {
		c.id, c.begin = piece.Parent, piece.Range.From
		defer func() {
			if c.total > 0 {
				c.total = piece.Range.Len()
			}
		}()
	}
	switch {
	case p.Frozen.AreParts():
		return nil, nil, nil // its children have the items
	case p.Frozen != nil && p.Frozen.Finding:
		return nil, nil, errFinding(t, p)
	case p.Frozen != nil:
		c.frozen, c.total = true, p.Frozen.Total
		return c, p.Spec, nil
	case t.TargetsField == "":
		return nil, nil, nil
	}
	around, list, err := cutList(p.Spec, t.TargetsField)
	if err != nil {
		return nil, nil, fmt.Errorf("read the list %s in the spec of task %s: %w", t.TargetsField, t.ID, err)
	}
	if c.keys, err = appendElements(nil, list); err != nil {
		return nil, nil, fmt.Errorf("read the list %s in the spec of task %s: %w", t.TargetsField, t.ID, err)
	}
	if len(c.keys) == 0 {
		return nil, nil, nil // the executor finds its items itself
	}
	c.total = int64(len(c.keys))
	return c, around.with([]byte("[]")), nil
}

// target returns the JSON of the target at a position, from 0. It is valid until the
// next call.
func (c *targetCursor) target(ctx context.Context, position int64) ([]byte, error) {
	at := c.begin + position
	if c.frozen {
		page := int(at / store.TargetsPerPage)
		at %= store.TargetsPerPage
		if page != c.page {
			if err := c.load(ctx, page); err != nil {
				return nil, err
			}
		}
	}
	if at >= int64(len(c.keys)) {
		return nil, fmt.Errorf("the target at position %d of task %s is missing", position, c.id)
	}
	return c.keys[at], nil
}

// load reads a page of a frozen set.
func (c *targetCursor) load(ctx context.Context, page int) error {
	pages, err := c.read.Targets(ctx, c.id, page, page)
	if err != nil {
		return err
	}
	c.page, c.keys = page, c.keys[:0]
	for _, p := range pages {
		if c.keys, err = appendElements(c.keys, p.Keys); err != nil {
			return fmt.Errorf("read page %d of the targets of task %s: %w", page, c.id, err)
		}
	}
	return nil
}

// appendElements appends the elements of a JSON array.
func appendElements(keys [][]byte, array []byte) ([][]byte, error) {
	for key, err := range elements(array) {
		if err != nil {
			return keys, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// rowCursor reads the items of a task with one outcome in their order.
type rowCursor struct {
	read    store.ItemReader
	id      ID
	outcome store.Outcome

	rows []store.Item // read, and not yet passed
	last bool         // there are no more than these
	from store.ItemCursor
	// parts are the ranges whose items follow; their positions become those in the set of the whole task. begin is where the
	// present range begins.
	parts []store.ChildTask
	begin int64
	// selects reports whether an item is one of these; nil: all are.
	selects func(*store.Item) bool
}

// peek returns the next item, or nil at the end.
func (c *rowCursor) peek(ctx context.Context) (*store.Item, error) {
	for len(c.rows) == 0 && !c.last {
		rows, err := c.read.Items(ctx, c.id, c.outcome, c.from, itemsPage)
		if err != nil {
			return nil, err
		}
		c.rows, c.last = rows, len(rows) < itemsPage
		if len(rows) > 0 {
			c.from = rows[len(rows)-1].Cursor()
		}
		for i := range rows {
			if rows[i].Position > 0 {
				rows[i].Position += c.begin
			}
		}
		if c.selects != nil {
			c.rows = slices.DeleteFunc(rows, func(i store.Item) bool { return !c.selects(&i) })
		}
		if c.last && len(c.parts) > 0 {
			c.id, c.begin, c.last, c.from = c.parts[0].ID, c.parts[0].Range.From, false, store.ItemCursor{}
			c.parts = c.parts[1:]
		}
	}
	if len(c.rows) == 0 {
		return nil, nil //nolint:nilnil // the end is no error
	}
	return &c.rows[0], nil
}

// skip passes the item that peek returns.
func (c *rowCursor) skip() { c.rows = c.rows[1:] }

// recordedPositions are the positions of all items that have a row.
type recordedPositions []*rowCursor

// newRecordedPositions returns the positions of the rows of a task.
func newRecordedPositions(read store.ItemReader, id ID) (r recordedPositions) {
	for _, o := range store.Outcomes() {
		r = append(r, &rowCursor{read: read, id: id, outcome: o})
	}
	return r
}

// has reports whether there is a row for a position, from 1. The positions of
// successive calls ascend.
func (r recordedPositions) has(ctx context.Context, position int64) (found bool, err error) {
	for _, c := range r {
		for {
			i, err := c.peek(ctx)
			if err != nil {
				return false, err
			}
			if i == nil || i.Position > position {
				break
			}
			found = found || i.Position == position
			c.skip()
		}
	}
	return found, nil
}

// unplaced returns the first items of unknown position, at most n.
func (r recordedPositions) unplaced(ctx context.Context, n int) (keys []string, err error) {
	for _, c := range r {
		if _, err := c.peek(ctx); err != nil {
			return nil, err
		}
		for _, i := range c.rows {
			if i.Position > 0 || len(keys) == n {
				break
			}
			keys = append(keys, i.Key)
		}
	}
	return keys, nil
}
