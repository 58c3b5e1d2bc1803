package storetest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// derive: a task that is made from another has what it is given and what the other
// says, and a claim returns where it starts.
func derive(e *env) {
	const n = 2500
	limits := []store.Change{{Table: "seat", Verb: "update", Rows: 3}, {}}
	from := e.one(frozen(n), func(t *store.NewTask) {
		t.Revision, t.Secrets, t.Queue, t.Priority, t.UniqueKey, t.TargetsField = 3, "/spec/a", "other", 4, "", "ids"
		t.Options = &store.Options{Conditions: lifecycle.Conditions{StopAfter: lifecycle.StopPolicy{Failed: 7}}}
	})
	first := e.read(from)
	is(e, "field", first.TargetsField, "ids")
	id, err := e.s.Derive(e.ctx(), from, false, func(o store.Origin) (store.NewTask, error) {
		pages, err := o.Targets(e.ctx(), from, 1, 1)
		e.ok(err)
		t := o.Follow()
		t.IdempotencyKey = "derived"
		t.Revision = 5
		t.Options.Previewed, t.Options.ChangeLimits = 5, limits
		t.Start = store.Start{State: json.RawMessage(`{"s":1}`), SpecRevision: o.Task.SpecRevision, Position: 2}
		t.Targets = &store.NewTargets{Field: o.Plan.Frozen.Field, Distinct: true, Keys: func(yield func([]byte, error) bool) {
			for _, key := range []string{"7", "3", "7", string(pages[0].Keys[1:5])} {
				if !yield([]byte(key), nil) {
					return
				}
			}
		}}
		return t, nil
	})
	e.ok(err)
	got := e.read(id)
	is(e, "follows", got.Follows, from)
	is(e, "whose", fmt.Sprint(got.Owner, got.RunAs, got.CreatedBy, got.Queue, got.Priority, got.Kind, got.Secrets, got.TargetsField),
		fmt.Sprint(first.Owner, first.RunAs, first.Owner, "other", 4, first.Kind, "/spec/a", "ids"))
	is(e, "revisions", fmt.Sprint(got.Revision, got.SpecRevision), "5 3")
	is(e, "state", string(got.State), `{"s":1}`)
	is(e, "progress", got.Progress, lifecycle.Progress{Total: 4, Position: 2})
	is(e, "spec", string(got.Spec), `{"n": 1}`)
	plan, err := e.s.Plan(e.ctx(), id)
	e.ok(err)
	is(e, "frozen", *plan.Frozen, store.FrozenTargets{Field: "ids", Total: 4})
	is(e, "options", plan.Options, store.Options{Conditions: lifecycle.Conditions{StopAfter: lifecycle.StopPolicy{Failed: 7}}, Previewed: 5, ChangeLimits: limits})
	pages, err := e.s.Targets(e.ctx(), id, 0, 9)
	e.ok(err)
	is(e, "pages", fmt.Sprint(len(pages), " ", string(pages[0].Keys)), "1 [7,3,7,1000]")
}

var errMakes = errors.New("none is made")

// deriveRefused: nothing is stored after an error, and without the other task.
func deriveRefused(e *env) {
	from := e.one()
	count := func(o store.Origin) (store.NewTask, error) { return o.Follow(), nil }
	if _, err := e.s.Derive(e.ctx(), uuid.New(), false, count); !errors.Is(err, store.ErrNotFound) {
		e.Fatalf("from no task: %v", err)
	}
	if _, err := e.s.Derive(e.ctx(), from, false, func(store.Origin) (store.NewTask, error) { return store.NewTask{}, errMakes }); !errors.Is(err, errMakes) {
		e.Fatalf("an error: %v", err)
	}
	_, err := e.s.Derive(e.ctx(), from, false, func(o store.Origin) (store.NewTask, error) {
		t := o.Follow()
		t.Targets = &store.NewTargets{Field: "ids", Distinct: true, Keys: func(yield func([]byte, error) bool) {
			for n := range 20_000 {
				if !yield(fmt.Append(nil, n), nil) {
					return
				}
			}
			yield(nil, errMakes)
		}}
		return t, nil
	})
	if !errors.Is(err, errMakes) {
		e.Fatalf("an error in the set: %v", err)
	}
	n, err := e.door.Count(e.ctx(), Tasks)
	e.ok(err)
	is(e, "tasks", n, 1)
}

// deriveContinued: a task that another continues is not retried, until that one is
// removed.
func deriveContinued(e *env) {
	e.registerWorker()
	c := e.claimedTask()
	is(e, "failed", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Failure, StatusDetail: "x"}).OK, true)
	next, err := e.s.Derive(e.ctx(), c.ID, false, func(o store.Origin) (store.NewTask, error) {
		t := o.Follow()
		t.IdempotencyKey = store.ContinuationKey(c.ID)
		return t, nil
	})
	e.ok(err)
	retry := store.Request{Action: lifecycle.ActRetry}
	_, err = e.s.Request(e.ctx(), c.ID, retry)
	if dup, ok := errors.AsType[*store.DuplicateError](err); !ok || dup.ID != next {
		e.Fatalf("retry: %v, want that task %s continues it", err, next)
	}
	_, err = e.s.Request(e.ctx(), next, store.Request{Action: lifecycle.ActDelete})
	e.ok(err)
	got, err := e.s.Request(e.ctx(), c.ID, retry)
	e.ok(err)
	is(e, "status", got.Status, lifecycle.Queued)
}

// itemsByPosition: items come by position, items of unknown position first, and an
// outcome of unknown position does not hide the one that was known.
func itemsByPosition(e *env) {
	e.registerWorker()
	c := e.claimedTask()
	at := func(key int, position int64) store.Item {
		i := failedItem(key)
		i.Position = position
		return i
	}
	is(e, "applied", e.apply(recording(c.Lease, at(1, 30), at(2, 10), at(3, 0))).OK, true)
	c.Seq++
	second := c.Lease
	second.Seq++
	_, err := e.s.Apply(e.ctx(), process, []*store.Write{new(recording(c.Lease, at(1, 0), at(4, 20), at(5, 0))), new(recording(second, at(4, 0), at(5, 2)))})
	e.ok(err)
	var got []string
	var after store.ItemCursor
	for {
		page, err := e.s.Items(e.ctx(), c.ID, store.ItemFailed, after, 2)
		e.ok(err)
		if len(page) == 0 {
			break
		}
		for _, i := range page {
			got, after = append(got, fmt.Sprint(i.Key, "@", i.Position)), i.Cursor()
		}
	}
	is(e, "items", fmt.Sprint(got), "[3@0 5@2 2@10 4@20 1@30]")
}

// deriveOfSeveral: a task that is made from another reads more of them while it is stored.
func deriveOfSeveral(e *env) {
	from, other := e.one(frozen(3)), e.one(frozen(2))
	id, err := e.s.Derive(e.ctx(), from, false, func(o store.Origin) (store.NewTask, error) {
		t := o.Follow()
		t.Targets = &store.NewTargets{Field: o.Plan.Frozen.Field, Distinct: true, Keys: func(yield func([]byte, error) bool) {
			also, err := o.Also(e.ctx(), other)
			if err == nil && also.Task.ID != other {
				err = fmt.Errorf("task %s was read, want %s", also.Task.ID, other)
			}
			t.Options.Sources = append(t.Options.Sources, store.Source{Task: from}, store.Source{Task: other, From: also.Plan.Frozen.Total})
			t.Targets.Selected = []uuid.UUID{from, other}
			_ = yield([]byte("1"), err) && yield([]byte("2"), nil) && yield([]byte("3"), nil)
		}}
		return t, nil
	})
	e.ok(err)
	options, err := e.s.TaskOptions(e.ctx(), id)
	e.ok(err)
	is(e, "sources", fmt.Sprint(options.Sources), fmt.Sprint([]store.Source{{Task: from}, {Task: other, From: 2}}))
	for _, source := range []uuid.UUID{from, other} {
		options, err := e.s.TaskOptions(e.ctx(), source)
		e.ok(err)
		is(e, "selected by", options.SelectedBy, id)
	}
	if _, err := e.s.Derive(e.ctx(), from, false, func(o store.Origin) (store.NewTask, error) {
		_, err := o.Also(e.ctx(), uuid.New())
		return o.Follow(), err
	}); !errors.Is(err, store.ErrNotFound) {
		e.Fatalf("also of no task: %v", err)
	}
}
