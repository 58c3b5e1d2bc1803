package targets

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/person"
	"taskkit.dev/internal/demo/caseload/ent/predicate"
	"taskkit.dev/taskkit"
)

// Cursor is the position of a task in the people of its query. It is a field of the
// executor's State; the zero Cursor is the beginning. In a list or a frozen set the
// runtime keeps the position.
//
// A query is walked by keyset: the next page has the ids greater than the last one of
// the previous page. An action may thus change the column by which its query filters,
// and no person is skipped or processed twice, as they would be with OFFSET. The walk
// is bounded when it begins: Last is the greatest id that the query chose then, and
// ids grow with time, so later people are not processed. People who enter or leave the
// query ahead of the cursor are examined when the walk reaches them.
type Cursor struct {
	// After is the last person taken by a query.
	After uuid.UUID `json:"after,omitzero"`
	// Last is the last person that a query will take.
	Last uuid.UUID `json:"last,omitzero"`
	// Total is how many people a query chose when its walk began.
	Total int `json:"total,omitempty"`
	// Bounded: Last and Total are set.
	Bounded bool `json:"bounded,omitempty"`
}

// Page is the next people of a query.
type Page struct {
	People []uuid.UUID
	Here   Cursor       // where the page begins, now bounded
	After  Cursor       // the State once they are processed
	Next   taskkit.Next // [taskkit.More], or [taskkit.Done] with the last of them
	Total  int          // of the whole task
}

// Take returns the next people, at most b.Limit: by [taskkit.Take] from the list or from a
// frozen set, and otherwise from the query. It moves the cursor behind them, sets the task's
// total, and counts them as processed or, from a query, as succeeded.
func Take[Spec, State any](ctx context.Context, c *ent.Client, b *taskkit.Batch[Spec, State], t Targets, cursor *Cursor) ([]uuid.UUID, taskkit.Next, error) {
	if t.Query == nil {
		people, next := taskkit.Take(b, t.People)
		return people, next, nil
	}
	p, err := t.Query.Page(ctx, c, *cursor, b.Limit)
	if err != nil {
		return nil, taskkit.More, err
	}
	b.Total(p.Total)
	for _, person := range p.People {
		b.Succeed(person) // unless the executor calls Fail or Skip for some of them
	}
	*cursor = p.After
	return p.People, p.Next, nil
}

// Find returns the next people of a query, at most b.Limit, and moves the cursor behind them. In a bucket, see [Targets.Segments], it returns
// the people of the segment. An executor returns them from its method Targets.
func Find[Spec, State any](ctx context.Context, c *ent.Client, b *taskkit.Batch[Spec, State], t Targets, cursor *Cursor) ([]uuid.UUID, taskkit.Next, error) {
	if t.Query == nil {
		return nil, taskkit.Done, nil
	}
	p, err := t.Query.Page(ctx, c, *cursor, b.Limit, b.Segment.Where(person.FieldID))
	if err != nil {
		return nil, taskkit.More, err
	}
	*cursor = p.After
	return p.People, p.Next, nil
}

// WorkOf returns the task that has divided its people into buckets, or the task of the batch if it is no bucket.
func WorkOf[Spec, State any](b *taskkit.Batch[Spec, State]) uuid.UUID {
	if b.Bucket {
		return b.Parent
	}
	return b.Task
}

// Page reads the people after a cursor, at most limit, that also match within. It counts
// and changes nothing.
func (q Query) Page(ctx context.Context, c *ent.Client, at Cursor, limit int, within ...predicate.Person) (Page, error) {
	if !at.Bounded {
		var err error
		if at.Total, at.Last, err = q.count(ctx, c, within...); err != nil {
			return Page{}, err
		}
		at.Bounded = true
	}
	p := Page{Here: at, After: at, Next: taskkit.Done, Total: at.Total}
	if at.Total == 0 {
		return p, nil
	}
	// One more person shows whether this page is the last.
	people, err := caseload.People(ctx, c, q.filter(), at.After, at.Last, limit+1, within...)
	if err != nil || len(people) == 0 {
		return p, err
	}
	if len(people) > limit {
		p.Next, people = taskkit.More, people[:limit]
	}
	p.People, p.After.After = people, people[len(people)-1]
	return p, nil
}

// count counts the people and returns the last one. It refuses more than Max.
func (q Query) count(ctx context.Context, c *ent.Client, within ...predicate.Person) (n int, last uuid.UUID, err error) {
	if n, last, err = caseload.Count(ctx, c, q.filter(), within...); err == nil && n > q.most() {
		err = taskkit.Permanent("too_many_people",
			fmt.Errorf("the query chooses %d people and its max is %d: narrow it or raise max", n, q.most()))
	}
	return n, last, err
}
