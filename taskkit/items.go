package taskkit

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
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
	OutcomeDeferred    Outcome = "deferred"    // recorded by Batch.Defer: will be tried again, unless the task has ended
	OutcomeUnprocessed Outcome = "unprocessed" // the task has not come to it, or was stopped before
)

// Item is an item of a task and its outcome.
type Item struct {
	// Key is the item as JSON, see [Batch.Fail]. It can be decoded into the type
	// that the executor passed, or into that of the targets.
	Key      json.RawMessage `json:"item"`
	Outcome  Outcome         `json:"outcome"`
	Code     string          `json:"code"`               // of an item that failed or was skipped
	Detail   string          `json:"detail,omitempty"`   // for operators only
	Position int64           `json:"position,omitempty"` // in the list of Take, from 1; 0: unknown
	Attempt  int             `json:"attempt"`            // of an item that failed or was skipped
	Created  time.Time       `json:"created,omitzero"`   // when the outcome was stored, if it was
	// Task is the child that has the item, such as a bucket, and Position is its place in the list of that child; zero: the task itself. The Position of an
	// item of a range belongs to the list or the set of the whole task.
	Task ID `json:"task,omitzero"`
	// Stage is the stage that has the item; "": it belongs to none. A stage of a stage is "outer/inner".
	Stage string `json:"stage,omitempty"`
	// Source is the task that the item is from, of a task that [Client.RetrySelected] has made.
	Source ID `json:"source,omitzero"`
}

// Text returns the key for people: a string without its quotes, all else as JSON.
func (i *Item) Text() string { return itemkey.Text(string(i.Key)) }

// itemsPage is the number of items that [Client.Items] reads at once.
const itemsPage = 1000

// shownItems is how many items an error names.
const shownItems = 10

// Items returns the items of a task with an outcome, in the order of the list or the
// set that the task is over. Items whose position is unknown come first, in the order
// in which they were first recorded. Items reads page by page, so the memory that it
// needs does not depend on the number of items. The first error is the last element:
// [ErrNotFound] also when the task is removed meanwhile. Of a running task it shows
// what was committed when it began, and what is recorded meanwhile may be missing.
//
// A task with buckets, stages or other children has its own items, if there are any, and then the items of
// its children, to any depth, in the order of [Client.Children]. Unprocessed items of buckets that have not
// begun are not known, which is an *[ItemsError]; of stages that have not begun they are left out.
//
// A task stores the items that failed or were skipped. Those that succeeded and those
// that are unprocessed are found from the set and the position in it, if the directive
// of the kind names its list, with targets=FIELD. A task that finds its items itself
// stores those that succeeded if the kind has the word ledger, see [Batch.Succeed]:
// they come in the order of the batches, without a position, and twice if two batches
// have recorded them. In all other cases, and for the succeeded items of a task that
// has recorded items that are not elements of the set, or has counted more than it
// has recorded, Items is an *[ItemsError].
func (c *Client) Items(ctx context.Context, id ID, outcome Outcome) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for i, err := range c.placedItems(ctx, id, outcome, itemPlace{}) {
			if !yield(i.Item, err) {
				return
			}
		}
	}
}

// placedItems returns the items behind a place.
func (c *Client) placedItems(ctx context.Context, id ID, outcome Outcome, from itemPlace) iter.Seq2[placedItem, error] {
	return func(yield func(placedItem, error) bool) {
		op, err := c.tables(ctx)
		if err != nil {
			yield(placedItem{}, err)
			return
		}
		of := sources{id: id}
		for i, err := range c.ownItems(ctx, op, id, outcome, from) {
			if err == nil {
				err = c.public(ctx, of.set(ctx, op, &i))
			}
			if err != nil {
				_, err = c.unlessRemoved(ctx, op, id, err)
			}
			if !yield(i, err) || err != nil {
				return
			}
		}
		hasChildren, err := c.unlessRemoved(ctx, op, id, nil)
		if err == nil && hasChildren {
			for i, err := range c.partItems(ctx, op, id, outcome, from) {
				if err == nil {
					err = c.public(ctx, of.set(ctx, op, &i))
				}
				if !yield(i, err) || err != nil {
					return
				}
			}
			_, err = c.unlessRemoved(ctx, op, id, nil)
		}
		if err != nil {
			yield(placedItem{}, err)
		}
	}
}

// ownItems returns the items of a task itself behind a place; none if the place is in a child.
func (c *Client) ownItems(ctx context.Context, op store.Client, id ID, outcome Outcome, from itemPlace) iter.Seq2[placedItem, error] {
	return func(yield func(placedItem, error) bool) {
		if len(from.children) > 0 {
			return
		}
		items, err := c.itemsOf(ctx, op, id, outcome, from)
		if err != nil {
			yield(placedItem{}, err)
			return
		}
		for i, err := range items {
			if !yield(i, c.public(ctx, err)) || err != nil {
				return
			}
		}
	}
}

// partItems returns the items of the children of a task behind a place. Unprocessed items that no range has yet follow.
func (c *Client) partItems(ctx context.Context, op store.Client, id ID, outcome Outcome, from itemPlace) iter.Seq2[placedItem, error] {
	if outcome != OutcomeUnprocessed {
		return c.childItems(ctx, op, id, outcome, from)
	}
	return func(yield func(placedItem, error) bool) {
		p, err := op.Plan(ctx, id)
		if err != nil {
			yield(placedItem{}, c.public(ctx, err))
			return
		}
		if inRest := isDivided(&p) && from.position > 0 && len(from.children) == 0; !inRest {
			for i, err := range c.childItems(ctx, op, id, outcome, from) {
				if !yield(i, err) || err != nil {
					return
				}
			}
			from = itemPlace{}
		}
		if !isDivided(&p) {
			return
		}
		t, err := op.Task(ctx, id)
		var set *targetCursor
		if err == nil {
			set, _, err = newTargetCursor(op, &t, &p)
		}
		if err != nil {
			yield(placedItem{}, c.public(ctx, err))
			return
		}
		for i, err := range set.items(ctx, max(t.Progress.Position, from.position), set.total, outcome, nil) {
			if !yield(i, c.public(ctx, err)) || err != nil {
				return
			}
		}
	}
}

// childItems returns the items of the children of a task behind a place, child by child.
func (c *Client) childItems(ctx context.Context, op store.Client, id ID, outcome Outcome, from itemPlace) iter.Seq2[placedItem, error] {
	return func(yield func(placedItem, error) bool) {
		var after, first ID
		if len(from.children) > 0 {
			first = from.children[0]
			after = precedingID(first)
		}
		for {
			page, err := op.ChildrenHaving(ctx, id, after, itemsPage, store.Outcome(outcome))
			if err != nil {
				yield(placedItem{}, c.public(ctx, err))
				return
			}
			for n := range page {
				child, inside := &page[n], itemPlace{}
				if after = child.ID; child.ID == first {
					inside = from
					inside.children = from.children[1:]
				}
				for i, err := range c.itemsInside(ctx, op, child, outcome, inside) {
					if !yield(i, err) || err != nil {
						return
					}
				}
			}
			if len(page) < itemsPage {
				return
			}
		}
	}
}

// itemsInside returns the items of a child, and of its children.
func (c *Client) itemsInside(ctx context.Context, op store.Client, child *store.ChildTask, outcome Outcome, from itemPlace) iter.Seq2[placedItem, error] {
	return func(yield func(placedItem, error) bool) {
		lists := []iter.Seq2[placedItem, error]{c.ownItems(ctx, op, child.ID, outcome, from)}
		if child.HasChildren {
			lists = append(lists, c.childItems(ctx, op, child.ID, outcome, from))
		}
		for _, list := range lists {
			for i, err := range list {
				i.after.children = append([]ID{child.ID}, i.after.children...)
				if i.Task == (ID{}) {
					i.Task = child.ID
				}
				if i.ofRange = child.Range != nil; i.ofRange && i.Position > 0 {
					i.Position += child.Range.From
				}
				if child.Stage != "" {
					i.Stage = strings.TrimSuffix(child.Stage+"/"+i.Stage, "/")
				}
				if !yield(i, err) || err != nil {
					return
				}
			}
		}
	}
}

// precedingID returns the greatest id that is less than another.
func precedingID(id ID) ID {
	for n := len(id) - 1; n >= 0; n-- {
		if id[n]--; id[n] != 0xff {
			break
		}
	}
	return id
}

// unlessRemoved returns the error, or nil, with which the items of a task were read, and whether it has children. The items of
// a task that was removed meanwhile are gone, and what was read may be a part.
func (c *Client) unlessRemoved(ctx context.Context, op store.Client, id ID, read error) (hasChildren bool, err error) {
	found, _, err := op.Tasks(ctx, store.Filter{IDs: []ID{id}, Limit: 1})
	switch {
	case err == nil && len(found) == 0:
		return false, c.public(ctx, store.ErrNotFound)
	case read != nil:
		return false, read
	case err != nil:
		return false, c.public(ctx, err)
	}
	return found[0].HasChildren, nil
}

// itemsOf returns the items with an outcome behind a place.
func (c *Client) itemsOf(ctx context.Context, op store.Client, id ID, outcome Outcome, from itemPlace) (iter.Seq2[placedItem, error], error) {
	switch outcome {
	case OutcomeFailed, OutcomeSkipped, OutcomeDeferred:
		start := store.ItemCursor{Position: from.position, ID: from.row}
		return recordedItems(ctx, &rowCursor{read: op, id: id, outcome: store.Outcome(outcome), from: start}), nil
	case OutcomeSucceeded, OutcomeUnprocessed:
	default:
		return nil, &OptionError{"outcome", fmt.Sprintf("%q is none: use one of the constants, such as OutcomeFailed", shorten(string(outcome)))}
	}
	t, err := op.Task(ctx, id)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	p, err := op.Plan(ctx, id)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	set, _, err := newTargetCursor(op, &t, &p)
	if err != nil {
		return nil, c.public(ctx, tried("list the "+string(outcome)+" items", err))
	}
	switch {
	case t.HasChildren && outcome == OutcomeUnprocessed && p.Frozen.AreParts() && t.Progress.Position < p.Frozen.Total:
		return nil, &ItemsError{ID: id, Action: actUnprocessed, Problem: fmt.Sprintf("%d of its %d buckets have not begun, and nothing says which items these have: "+
			"read them from where the buckets find them", p.Frozen.Total-t.Progress.Position, p.Frozen.Total)}
	case t.HasChildren && (set == nil || isDivided(&p)):
		return func(func(placedItem, error) bool) {}, nil // its children have them
	case set == nil && outcome == OutcomeSucceeded:
		return c.ledgerItems(ctx, op, &t, from)
	case set == nil:
		return nil, &ItemsError{ID: id, Action: actUnprocessed, Problem: noTargets + unknownTargets}
	}
	taken := min(t.Progress.Position, set.total)
	if t.Progress.Round > 0 {
		taken = set.total // in the first round
	}
	if outcome == OutcomeUnprocessed {
		return set.items(ctx, max(taken, from.position), set.total, outcome, nil), nil
	}
	recorded := newRecordedPositions(op, id)
	unplaced, err := recorded.unplaced(ctx, shownItems)
	switch {
	case err != nil:
		return nil, c.public(ctx, err)
	case len(unplaced) > 0:
		return nil, &ItemsError{ID: id, Action: actSucceeded, Keys: unplaced, Problem: unplacedItems}
	}
	if from.position > 0 {
		recorded = newRecordedPositions(op, id)
		for _, rows := range recorded {
			rows.from.Position = from.position
		}
	}
	return set.items(ctx, from.position, taken, outcome, recorded), nil
}

// Actions of [ItemsError].
const (
	actSucceeded   = "list the succeeded items"
	actUnprocessed = "list the unprocessed items"
)

// Problems of [ItemsError].
const (
	noTargets = "it was submitted without a list and without a frozen set of targets (targets=FIELD in the directive)"
	// unknownTargets follows noTargets.
	unknownTargets = "; so nothing says which items it has not found yet: read those from where the task finds them"
	noLedger       = noTargets + ", and it has recorded no item that succeeded: write the word ledger into the directive of the kind and let the executor call b.Succeed; " +
		"of this task, take the items from where it found them, and leave out those that failed or were skipped"
	incompleteLedger = "%d of the %d items that succeeded are not recorded: they were counted before the kind had the word ledger in its directive, or by b.Advance alone, " +
		"and b.Succeed must be called for each; take the items from where the task found them, and leave out those that failed or were skipped"
	unplacedItems = "the executor recorded items that are no elements of the set: let it pass to b.Fail and b.Skip what Take returned"
)

// recordedItems returns items that have rows.
func recordedItems(ctx context.Context, rows *rowCursor) iter.Seq2[placedItem, error] {
	return func(yield func(placedItem, error) bool) {
		for {
			i, err := rows.peek(ctx)
			if err != nil {
				yield(placedItem{}, err)
				return
			}
			if i == nil || !yield(placedItem{Item: itemOf(i), after: itemPlace{position: i.Position, row: i.ID}}, nil) {
				return
			}
			rows.skip()
		}
	}
}

// items returns the targets from one position to before another, without those that
// are recorded, as items.
func (c *targetCursor) items(ctx context.Context, from, to int64, outcome Outcome, recorded recordedPositions) iter.Seq2[placedItem, error] {
	return func(yield func(placedItem, error) bool) {
		for n := from; n < to; n++ {
			has, err := recorded.has(ctx, n+1)
			if has {
				continue
			}
			var key []byte
			if err == nil {
				key, err = c.target(ctx, n)
			}
			if err != nil {
				yield(placedItem{}, err)
				return
			}
			i := Item{Key: json.RawMessage(itemkey.OfJSON(key)), Outcome: outcome, Position: n + 1}
			if !yield(placedItem{Item: i, after: itemPlace{position: n + 1}}, nil) {
				return
			}
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
