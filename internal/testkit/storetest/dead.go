package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// fail ends a new task with a description.
func (e *env) fail(status lifecycle.Status, desc string, change ...func(*store.NewTask)) store.ClaimedTask {
	e.Helper()
	c := e.claimedTask(change...)
	if a := e.apply(store.Write{Lease: c.Lease, To: status, Attempts: 1, StatusDetail: desc}); !a.OK {
		e.Fatalf("task %s did not end", c.ID)
	}
	return c
}

// deadGroups: tasks in ERROR and FAILURE, by kind and code; each field of the filter.
func deadGroups(e *env) {
	e.registerWorker()
	first := e.fail(lifecycle.Failure, "gone: no such person: 7")
	e.fail(lifecycle.Error, "undecodable: x")
	last := e.fail(lifecycle.Failure, "gone")
	e.bring(lifecycle.Completed)
	e.bring(lifecycle.Executing)
	e.one()
	groups := func(f store.Filter) (text string) {
		e.Helper()
		gs, err := e.ops().DeadGroups(e.ctx(), f, 0)
		e.ok(err)
		is(e, "truncated", len(gs.Truncated), 0)
		for _, g := range gs.Groups {
			text += fmt.Sprintf("%s %s %d, ", g.Kind, g.Code, g.Tasks)
		}
		return text
	}
	all, err := e.ops().DeadGroups(e.ctx(), store.Filter{}, 0)
	e.ok(err)
	bounded, err := e.ops().DeadGroups(e.ctx(), store.Filter{}, 10)
	e.ok(err)
	is(e, "groups of a total", fmt.Sprint(bounded), fmt.Sprint(all))
	is(e, "groups", groups(store.Filter{}), "demo gone 2, demo undecodable 1, ")
	is(e, "of a code", groups(store.Filter{Code: "gone"}), "demo gone 2, ")
	is(e, "of a part of a code", groups(store.Filter{Code: "go"}), "")
	is(e, "of kinds", groups(store.Filter{Kinds: []string{"other", kind}, Code: "undecodable"}), "demo undecodable 1, ")
	is(e, "of another kind", groups(store.Filter{Kinds: []string{"other"}}), "")
	is(e, "of a queue", groups(store.Filter{Queue: "other"}), "")
	is(e, "old ones", groups(store.Filter{EndedFor: time.Hour}), "")
	gs, err := e.ops().DeadGroups(e.ctx(), store.Filter{Code: "gone"}, 0)
	e.ok(err)
	is(e, "example", gs.Groups[0].Example, last.ID)
	is(e, "times", [2]bool{gs.Groups[0].Oldest.Equal(*e.read(first.ID).Stopped), gs.Groups[0].Newest.Equal(*e.read(last.ID).Stopped)}, [2]bool{true, true})
	for _, status := range []lifecycle.Status{lifecycle.Error, lifecycle.Failure} {
		for kinds, want := range map[string]int{"": 1, kind: 1, "other": 0} {
			f := store.Filter{Statuses: []lifecycle.Status{status, status}}
			if kinds != "" {
				f.Kinds = []string{kinds, "none"}
			}
			if status == lifecycle.Failure {
				want *= 2
			}
			ts, _, err := e.s.Tasks(e.ctx(), f)
			e.ok(err)
			is(e, fmt.Sprintf("in %s of kind %q", status, kinds), len(ts), want)
		}
	}
	page := func(f store.Filter) (ids []uuid.UUID) {
		e.Helper()
		f.Statuses = []lifecycle.Status{lifecycle.Error, lifecycle.Failure}
		ts, _, err := e.s.Tasks(e.ctx(), f)
		e.ok(err)
		for _, t := range ts {
			ids = append(ids, t.ID)
		}
		return ids
	}
	is(e, "a page", page(store.Filter{Code: "gone"}), []uuid.UUID{last.ID, first.ID})
	is(e, "the next page", page(store.Filter{Code: "gone", Before: last.ID}), []uuid.UUID{first.ID})
	is(e, "a page of one", page(store.Filter{Limit: 1, Kinds: []string{kind}, Queue: "default"}), []uuid.UUID{last.ID})
	is(e, "roots", len(page(store.Filter{Roots: true})), 3)
	child := e.fail(lifecycle.Failure, "boom", func(t *store.NewTask) { t.Parent, t.Priority = last.ID, 1 })
	for name, f := range map[string]store.Filter{"of any kind": {}, "of a kind": {Kinds: []string{kind}}} {
		is(e, "children "+name, page(f)[0], child.ID)
		is(e, "children in groups "+name, strings.Contains(groups(f), "demo boom 1"), true)
		f.Roots = true
		is(e, "roots "+name, len(page(f)), 3)
		is(e, "roots in groups "+name, groups(f), "demo gone 2, demo undecodable 1, ")
	}
	is(e, "previews", len(page(store.Filter{Previews: true})), 0)
	is(e, "of an owner", page(store.Filter{Code: "gone", Owner: first.Owner}), []uuid.UUID{first.ID})
	is(e, "a page of old ones", len(page(store.Filter{EndedFor: time.Hour})), 0)
	is(e, "a page of new ones", len(page(store.Filter{Code: "gone", EndedFor: time.Nanosecond})) <= 2, true)
}

// effective: a request that is to change its task is refused where it would not, and is not recorded.
func effective(e *env) {
	e.registerWorker()
	request := func(id uuid.UUID, action lifecycle.Action) error {
		_, err := e.s.Request(e.ctx(), id, store.Request{Action: action, Effective: true})
		return err
	}
	for action, status := range map[lifecycle.Action]lifecycle.Status{lifecycle.ActPause: lifecycle.Queued, lifecycle.ActStop: lifecycle.Queued, lifecycle.ActDelete: lifecycle.Executing} {
		id := e.bring(status)
		e.ok(request(id, action))
		var state *store.StateError
		if err := request(id, action); !errors.As(err, &state) || state.Why != "" {
			e.Fatalf("%s again: %v, want a refusal", action, err)
		}
		events, err := e.s.Events(e.ctx(), id, 10)
		e.ok(err)
		is(e, "events", len(events), 1)
		_, err = e.request(id, action)
		if action != lifecycle.ActDelete {
			e.ok(err)
		}
	}
}

// deadAsListed: a request on a dead letter meets it only as it was listed.
func deadAsListed(e *env) {
	e.registerWorker()
	for _, action := range []lifecycle.Action{lifecycle.ActRetry, lifecycle.ActDelete} {
		c := e.fail(lifecycle.Failure, "gone")
		request := func(fence int64) error {
			_, err := e.s.Request(e.ctx(), c.ID, store.Request{Action: action, Dead: &fence})
			return err
		}
		refused := func(what string, err error) {
			e.Helper()
			var state *store.StateError
			if !errors.As(err, &state) || state.Why == "" {
				e.Fatalf("%s of %s: %v, want a refusal", action, what, err)
			}
		}
		refused("one that has ended again", request(c.Fence-1))
		_, err := e.request(c.ID, lifecycle.ActRetry)
		e.ok(err)
		refused("one that was retried", request(c.Fence))
		events, err := e.s.Events(e.ctx(), c.ID, 10)
		e.ok(err)
		is(e, "events", len(events), 1)
		again := e.claim(1)[0]
		e.apply(store.Write{Lease: again.Lease, To: lifecycle.Failure, Begun: true, Attempts: 1, StatusDetail: "gone"})
		_, err = e.s.Request(e.ctx(), c.ID, store.Request{Action: action, Dead: &again.Fence})
		e.ok(err)
		e.removeTasks()
	}
}
