package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// listPages: newest first, by keyset, none twice and none missed while more
// come.
func listPages(b *bed) {
	var want []uuid.UUID
	for range 25 {
		want = append(want, b.one())
	}
	slices.Reverse(want)
	var got []uuid.UUID
	f := store.Filter{Limit: 7}
	for {
		page, err := b.s.Tasks(b.ctx(), f)
		b.ok(err)
		for _, t := range page {
			got = append(got, t.ID)
			f.Before = t.ID
		}
		if len(page) < f.Limit {
			break
		}
		b.one()
	}
	is(b, "ids", fmt.Sprint(got), fmt.Sprint(want))
}

// listFilters: each filter alone and some together.
func listFilters(b *bed) {
	b.enrol()
	owner, parent := uuid.New(), uuid.New()
	special := b.bring(workflow.Failure, func(t *store.NewTask) {
		t.Owner, t.Parent, t.UniqueKey = owner, parent, "u'"
	})
	other := b.one(func(t *store.NewTask) { t.Kind, t.Queue, t.Reference = "other", "elsewhere", "r" })
	b.one()
	for name, c := range map[string]struct {
		f    store.Filter
		want []uuid.UUID
	}{
		"ids":       {store.Filter{IDs: []uuid.UUID{other, special, uuid.New()}}, []uuid.UUID{other, special}},
		"kind":      {store.Filter{Kinds: []string{"other", "x"}}, []uuid.UUID{other}},
		"status":    {store.Filter{Statuses: []workflow.Status{workflow.Failure, workflow.Error}}, []uuid.UUID{special}},
		"owner":     {store.Filter{Owner: owner}, []uuid.UUID{special}},
		"queue":     {store.Filter{Queue: "elsewhere"}, []uuid.UUID{other}},
		"reference": {store.Filter{Reference: "r"}, []uuid.UUID{other}},
		"key":       {store.Filter{UniqueKey: "u'"}, []uuid.UUID{special}},
		"parent":    {store.Filter{Parent: parent}, []uuid.UUID{special}},
		"before":    {store.Filter{Before: other}, []uuid.UUID{special}},
		"both":      {store.Filter{Owner: owner, Queue: "elsewhere"}, nil},
		"no limit":  {store.Filter{Kinds: []string{kind}, Owner: owner}, []uuid.UUID{special}},
	} {
		page, err := b.s.Tasks(b.ctx(), c.f)
		b.ok(err)
		var got []uuid.UUID
		for _, t := range page {
			got = append(got, t.ID)
		}
		is(b, name, fmt.Sprint(got), fmt.Sprint(c.want))
	}
}

// listOwned: an owner's tasks of every status, newest first, by keyset, and
// nobody else's.
func listOwned(b *bed) {
	b.enrol()
	owner := uuid.New()
	mine := func(t *store.NewTask) { t.Owner = owner }
	var want []uuid.UUID
	for range 3 {
		for _, status := range workflow.Statuses() {
			if status != workflow.Queued {
				want = append(want, b.bring(status, mine))
				b.bring(status)
			}
		}
	}
	// Last, or they would be claimed in place of the others.
	want = append(want, b.one(mine), b.one(mine), b.one(mine))
	b.one()
	slices.Reverse(want)
	for _, limit := range []int{1, 4, 5, 100} {
		var got []uuid.UUID
		f := store.Filter{Owner: owner, Limit: limit}
		for {
			page, err := b.s.Tasks(b.ctx(), f)
			b.ok(err)
			for _, t := range page {
				got = append(got, t.ID)
				f.Before = t.ID
			}
			if len(page) < limit {
				break
			}
		}
		is(b, fmt.Sprintf("by %d", limit), fmt.Sprint(got), fmt.Sprint(want))
	}
	for _, status := range workflow.Statuses() {
		page, err := b.s.Tasks(b.ctx(), store.Filter{Owner: owner, Statuses: []workflow.Status{status}, Limit: 2})
		b.ok(err)
		is(b, string(status), len(page), 2)
		for _, t := range page {
			is(b, "status", t.Status, status)
		}
	}
}

// matching: a task by the end of its id.
func matching(b *bed) {
	id := b.one()
	b.one()
	s := id.String()
	for _, suffix := range []string{s, s[len(s)-8:], s[len(s)-14:]} {
		got, err := b.s.Matching(b.ctx(), suffix, 5)
		b.ok(err)
		is(b, suffix, fmt.Sprint(got), fmt.Sprint([]uuid.UUID{id}))
	}
	for suffix, want := range map[string]int{"": 2, "%": 0, "_": 0, "zz": 0, "' OR 1=1 --": 0} {
		got, err := b.s.Matching(b.ctx(), suffix, 5)
		b.ok(err)
		is(b, fmt.Sprintf("%q", suffix), len(got), want)
	}
	got, err := b.s.Matching(b.ctx(), "", 1)
	b.ok(err)
	is(b, "limit", len(got), 1)
}

// counts: how many of each status.
func counts(b *bed) {
	b.enrol()
	b.bring(workflow.Failure)
	b.bring(workflow.Completed)
	b.bring(workflow.Completed)
	b.one(func(t *store.NewTask) { t.Kind = "other" })
	all, err := b.s.Counts(b.ctx(), "")
	b.ok(err)
	is(b, "all", fmt.Sprint(all), fmt.Sprint(map[workflow.Status]int64{workflow.Failure: 1, workflow.Completed: 2, workflow.Queued: 1}))
	some, err := b.s.Counts(b.ctx(), "other")
	b.ok(err)
	is(b, "some", fmt.Sprint(some), fmt.Sprint(map[workflow.Status]int64{workflow.Queued: 1}))
}

// readNothing: what belongs to a task that is not there.
func readNothing(b *bed) {
	id := uuid.New()
	b.gone(id)
	fs, err := b.s.Failures(b.ctx(), id, uuid.Nil, 5)
	b.ok(err)
	as, err := b.s.Attempts(b.ctx(), id, 5)
	b.ok(err)
	es, err := b.s.Events(b.ctx(), id, 5)
	b.ok(err)
	is(b, "rows", len(fs)+len(as)+len(es), 0)
	at, err := b.s.Positions(b.ctx(), nil)
	b.ok(err)
	is(b, "positions", len(at), 0)
	ended, cancel := context.WithCancel(b.ctx())
	cancel()
	if _, err := b.s.Task(ended, id); err == nil || errors.Is(err, store.ErrNotFound) {
		b.Fatalf("a read under a context that has ended: %v", err)
	}
}

// watch: a submission wakes whoever watches, where that is possible.
func watch(b *bed) {
	ctx, cancel := context.WithCancel(b.ctx())
	defer cancel()
	woken, ready, done := make(chan struct{}, 100), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- b.s.Watch(ctx, func() { close(ready) }, func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		})
	}()
	select {
	case <-ready:
	case err := <-done:
		if errors.Is(err, store.ErrNoWatch) && b.db.DSN != b.db.Direct {
			return // through a pooler
		}
		b.Fatalf("cannot watch: %v", err)
	case <-ctx.Done():
		b.Fatal("never ready")
	}
	<-woken // for what came before
	b.ok(b.submit([]store.NewTask{task()}, true))
	select {
	case <-woken:
	case <-ctx.Done():
		b.Fatal("not woken")
	}
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			b.Fatalf("ended with %v", err)
		}
	case <-time.After(within):
		b.Fatal("does not end with its context")
	}
}

// watchEnds: a watch under a context that has ended is over at once.
func watchEnds(b *bed) {
	ctx, cancel := context.WithCancel(b.ctx())
	cancel()
	if err := b.s.Watch(ctx, func() {}, func() {}); err == nil {
		b.Fatal("watched under a context that had ended")
	}
}
