package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
)

// listPages: newest first, by keyset, none twice and none missed while more
// come.
func listPages(e *env) {
	var want []uuid.UUID
	for range 25 {
		want = append(want, e.one())
	}
	slices.Reverse(want)
	var got []uuid.UUID
	f := store.Filter{Limit: 7}
	for {
		page, _, err := e.s.Tasks(e.ctx(), f)
		e.ok(err)
		for _, t := range page {
			got = append(got, t.ID)
			f.Before = t.ID
		}
		if len(page) < f.Limit {
			break
		}
		e.one()
	}
	is(e, "ids", fmt.Sprint(got), fmt.Sprint(want))
}

// listFilters: each filter alone and some together.
func listFilters(e *env) {
	e.registerWorker()
	owner, follows := uuid.New(), uuid.New()
	special := e.bring(lifecycle.Failure, func(t *store.NewTask) {
		t.Owner, t.Follows, t.UniqueKey = owner, follows, "u'"
	})
	other := e.one(func(t *store.NewTask) { t.Kind, t.Queue, t.Reference = "other", "elsewhere", "r" })
	e.one()
	preview := e.one(func(t *store.NewTask) { t.Options.Preview = true })
	e.one(func(t *store.NewTask) { // no preview, though its options have the words
		t.Options.ChangeLimits = []store.Change{{Table: `"preview":true`, Rows: 1}}
		t.Options.Previewed = 1
		t.Options.Child = &store.Child{Parent: other, Segment: json.RawMessage(`{"preview":true}`), Number: 1}
	})
	approval := e.one(func(t *store.NewTask) { t.Kind, t.Options.Approval = "approved", true })
	paused := e.one(func(t *store.NewTask) { t.Kind = "approved" })
	_, err := e.s.Request(e.ctx(), paused, store.Request{Action: lifecycle.ActPause, Reason: "who says whether " + lifecycle.ReasonApproval})
	e.ok(err)
	root := e.one(func(t *store.NewTask) { t.Kind = "family" })
	child := e.one(func(t *store.NewTask) { t.Kind, t.Parent = "family", root })
	busyOwner := uuid.New()
	busyRoot := e.one(func(t *store.NewTask) { t.Owner = busyOwner })
	busyChild := e.one(func(t *store.NewTask) { t.Owner, t.Parent = busyOwner, busyRoot })
	waiting := e.one(func(t *store.NewTask) { t.Owner, t.Parent = busyOwner, busyRoot })
	busy := e.bring(lifecycle.Executing, func(t *store.NewTask) { t.Owner, t.Parent, t.Priority = busyOwner, busyChild, 1 })
	idle := e.one(func(t *store.NewTask) { t.Owner = busyOwner })
	for name, c := range map[string]struct {
		f    store.Filter
		want []uuid.UUID
	}{
		"ids":       {store.Filter{IDs: []uuid.UUID{other, special, uuid.New()}}, []uuid.UUID{other, special}},
		"kind":      {store.Filter{Kinds: []string{"other", "x"}}, []uuid.UUID{other}},
		"status":    {store.Filter{Statuses: []lifecycle.Status{lifecycle.Failure, lifecycle.Error}}, []uuid.UUID{special}},
		"owner":     {store.Filter{Owner: owner}, []uuid.UUID{special}},
		"queue":     {store.Filter{Queue: "elsewhere"}, []uuid.UUID{other}},
		"reference": {store.Filter{Reference: "r"}, []uuid.UUID{other}},
		"key":       {store.Filter{UniqueKey: "u'"}, []uuid.UUID{special}},
		"page":      {store.Filter{Reference: "r", Before: other}, nil},
		"before it": {store.Filter{Reference: "r", Before: preview}, []uuid.UUID{other}},
		"key of":    {store.Filter{UniqueKey: "u'", Owner: owner, Kinds: []string{kind}, Statuses: []lifecycle.Status{lifecycle.Failure}}, []uuid.UUID{special}},
		"no key of": {store.Filter{UniqueKey: "u'", Owner: uuid.New()}, nil},
		"keys":      {store.Filter{UniqueKey: "u'", Reference: "r"}, nil},
		"key by id": {store.Filter{UniqueKey: "u'", IDs: []uuid.UUID{special, other}, Owner: owner}, []uuid.UUID{special}},
		"part":      {store.Filter{UniqueKey: "u"}, nil},
		"follows":   {store.Filter{Follows: follows}, []uuid.UUID{special}},
		"roots":     {store.Filter{Kinds: []string{"family"}, Roots: true}, []uuid.UUID{root}},
		"children":  {store.Filter{Kinds: []string{"family"}}, []uuid.UUID{child, root}},
		"roots of":  {store.Filter{Owner: busyOwner, Roots: true}, []uuid.UUID{idle, busyRoot}},
		"a page of": {store.Filter{Owner: busyOwner, Roots: true, Before: idle}, []uuid.UUID{busyRoot}},
		"all of":    {store.Filter{Owner: busyOwner}, []uuid.UUID{idle, busy, waiting, busyChild, busyRoot}},
		"held of":   {store.Filter{Owner: busyOwner, Statuses: []lifecycle.Status{lifecycle.Executing}}, []uuid.UUID{busy}},
		"held root": {store.Filter{Owner: busyOwner, Statuses: []lifecycle.Status{lifecycle.Executing}, Roots: true}, nil},
		"running":   {store.Filter{Running: true}, []uuid.UUID{busy, busyChild, busyRoot}},
		"run below": {store.Filter{Running: true, Roots: true, Owner: busyOwner, Statuses: []lifecycle.Status{lifecycle.Queued}}, []uuid.UUID{busyRoot}},
		"run by id": {store.Filter{Running: true, IDs: []uuid.UUID{busyChild, waiting, idle}}, []uuid.UUID{busyChild}},
		"run of":    {store.Filter{Running: true, Parent: busyRoot}, []uuid.UUID{busyChild}},
		"run page":  {store.Filter{Running: true, Before: busy}, []uuid.UUID{busyChild, busyRoot}},
		"previews":  {store.Filter{Previews: true}, []uuid.UUID{preview}},
		"approval":  {store.Filter{Approval: true}, []uuid.UUID{approval}},
		"paused":    {store.Filter{Paused: true}, []uuid.UUID{paused, approval}},
		"paused of": {store.Filter{Paused: true, Owner: owner}, nil},
		"a pause":   {store.Filter{Paused: true, Before: paused, Kinds: []string{"approved"}}, []uuid.UUID{approval}},
		"approve":   {store.Filter{Approval: true, Kinds: []string{"family", "other"}}, nil},
		"preview":   {store.Filter{Previews: true, IDs: []uuid.UUID{other, preview}}, []uuid.UUID{preview}},
		"before":    {store.Filter{Before: other}, []uuid.UUID{special}},
		"both":      {store.Filter{Owner: owner, Queue: "elsewhere"}, nil},
		"no limit":  {store.Filter{Kinds: []string{kind}, Owner: owner}, []uuid.UUID{special}},
	} {
		page, _, err := e.s.Tasks(e.ctx(), c.f)
		e.ok(err)
		var (
			got  []uuid.UUID
			refs []store.TaskRef
		)
		for _, t := range page {
			got = append(got, t.ID)
			refs = append(refs, store.TaskRef{ID: t.ID, Kind: t.Kind, Control: t.Control})
			is(e, name+": is a preview", t.Preview, c.f.Previews)
		}
		is(e, name, fmt.Sprint(got), fmt.Sprint(c.want))
		listed, _, err := e.s.TaskRefs(e.ctx(), c.f)
		e.ok(err)
		is(e, name+": refs", fmt.Sprint(listed), fmt.Sprint(refs))
	}
	for id, want := range map[uuid.UUID]bool{preview: true, other: false} {
		t, err := e.s.Task(e.ctx(), id)
		e.ok(err)
		is(e, "is a preview", t.Preview, want)
	}
}

// listOwned: an owner's tasks of every status, newest first, by keyset, and
// nobody else's.
func listOwned(e *env) {
	e.registerWorker()
	owner := uuid.New()
	mine := func(t *store.NewTask) { t.Owner = owner }
	var want []uuid.UUID
	for range 3 {
		for _, status := range lifecycle.Statuses() {
			if status != lifecycle.Queued {
				want = append(want, e.bring(status, mine))
				e.bring(status)
			}
		}
	}
	// Last, or they would be claimed in place of the others.
	want = append(want, e.one(mine), e.one(mine), e.one(mine))
	e.one()
	slices.Reverse(want)
	for _, limit := range []int{1, 4, 5, 100} {
		var got []uuid.UUID
		f := store.Filter{Owner: owner, Limit: limit}
		for {
			page, _, err := e.s.Tasks(e.ctx(), f)
			e.ok(err)
			for _, t := range page {
				got = append(got, t.ID)
				f.Before = t.ID
			}
			if len(page) < limit {
				break
			}
		}
		is(e, fmt.Sprintf("by %d", limit), fmt.Sprint(got), fmt.Sprint(want))
	}
	for _, status := range lifecycle.Statuses() {
		page, _, err := e.s.Tasks(e.ctx(), store.Filter{Owner: owner, Statuses: []lifecycle.Status{status}, Limit: 2})
		e.ok(err)
		is(e, string(status), len(page), 2)
		for _, t := range page {
			is(e, "status", t.Status, status)
		}
	}
}

// matching: a task by the end of its id.
func matching(e *env) {
	id := e.one()
	e.one()
	s := id.String()
	for _, suffix := range []string{s, s[len(s)-8:], s[len(s)-14:]} {
		got, err := e.s.Matching(e.ctx(), suffix, 5)
		e.ok(err)
		is(e, suffix, fmt.Sprint(got), fmt.Sprint([]uuid.UUID{id}))
	}
	for suffix, want := range map[string]int{"": 2, "%": 0, "_": 0, "zz": 0, "' OR 1=1 --": 0} {
		got, err := e.s.Matching(e.ctx(), suffix, 5)
		e.ok(err)
		is(e, fmt.Sprintf("%q", suffix), len(got), want)
	}
	got, err := e.s.Matching(e.ctx(), "", 1)
	e.ok(err)
	is(e, "limit", len(got), 1)
}

// counts: how many of each status, among the newest.
func counts(e *env) {
	e.registerWorker()
	e.bring(lifecycle.Failure)
	e.bring(lifecycle.Completed)
	e.bring(lifecycle.Completed)
	e.one(func(t *store.NewTask) { t.Kind = "other" })
	for _, c := range []struct {
		kind  string
		read  int
		want  map[lifecycle.Status]int64
		exact bool
	}{
		{"", 5, map[lifecycle.Status]int64{lifecycle.Failure: 1, lifecycle.Completed: 2, lifecycle.Queued: 1}, true},
		{"other", 5, map[lifecycle.Status]int64{lifecycle.Queued: 1}, true},
		{"none", 5, map[lifecycle.Status]int64{}, true},
		{"", 4, map[lifecycle.Status]int64{lifecycle.Failure: 1, lifecycle.Completed: 2, lifecycle.Queued: 1}, false},
		{"", 2, map[lifecycle.Status]int64{lifecycle.Completed: 1, lifecycle.Queued: 1}, false},
		{"other", 2, map[lifecycle.Status]int64{lifecycle.Queued: 1}, false},
		{"none", 2, map[lifecycle.Status]int64{}, false},
	} {
		got, exact, err := e.ops().Counts(e.ctx(), c.kind, c.read)
		e.ok(err)
		is(e, fmt.Sprintf("of %q among %d", c.kind, c.read), fmt.Sprint(got, exact), fmt.Sprint(c.want, c.exact))
	}
}

// readNothing: what belongs to a task that is not there.
func readNothing(e *env) {
	id := uuid.New()
	e.gone(id)
	items, err := e.s.Items(e.ctx(), id, store.ItemFailed, store.ItemCursor{}, 5)
	e.ok(err)
	as, err := e.s.Attempts(e.ctx(), id, 5)
	e.ok(err)
	es, err := e.s.Events(e.ctx(), id, 5)
	e.ok(err)
	is(e, "rows", len(items)+len(as)+len(es), 0)
	at, err := e.s.Positions(e.ctx(), nil)
	e.ok(err)
	is(e, "positions", len(at), 0)
	ended, cancel := context.WithCancel(e.ctx())
	cancel()
	if _, err := e.s.Task(ended, id); err == nil || errors.Is(err, store.ErrNotFound) {
		e.Fatalf("a read under a context that has ended: %v", err)
	}
}

// watch: a submission wakes whoever watches, where that is possible.
func watch(e *env) {
	ctx, cancel := context.WithCancel(e.ctx())
	defer cancel()
	e.registerWorker()
	woken, ready, done := make(chan struct{}, 100), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- e.s.Watch(ctx, process, Watcher(func(w *store.Watcher) {
			w.Ready = func() { close(ready) }
			w.Wake = func() {
				select {
				case woken <- struct{}{}:
				default:
				}
			}
		}))
	}()
	select {
	case <-ready:
	case err := <-done:
		if errors.Is(err, store.ErrNoWatch) && e.db != nil && e.db.DSN != e.db.Direct {
			return // through a pooler
		}
		e.Fatalf("cannot watch: %v", err)
	case <-ctx.Done():
		e.Fatal("never ready")
	}
	<-woken // for what came before
	e.ok(e.submit([]store.NewTask{task()}, true))
	select {
	case <-woken:
	case <-ctx.Done():
		e.Fatal("not woken")
	}
	e.endsWith(cancel, done)
}

// endsWith ends a context, and expects that Watch returns its error.
func (e *env) endsWith(cancel context.CancelFunc, done <-chan error) {
	e.Helper()
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			e.Fatalf("ended with %v", err)
		}
	case <-time.After(testdb.Patience(e.T)):
		e.Fatal("does not end with its context")
	}
}

// watchEnds: a watch under a context that has ended is over at once.
func watchEnds(e *env) {
	ctx, cancel := context.WithCancel(e.ctx())
	cancel()
	e.registerWorker()
	if err := e.s.Watch(ctx, process, Watcher()); err == nil {
		e.Fatal("watched under a context that had ended")
	}
}
