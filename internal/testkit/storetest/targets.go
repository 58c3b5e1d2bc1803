package storetest

import (
	"errors"
	"fmt"
	"strings"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// frozen gives a task n targets, the numbers below n.
func frozen(n int) func(*store.NewTask) {
	return func(t *store.NewTask) {
		t.Targets = &store.NewTargets{Field: "ids", Keys: func(yield func([]byte, error) bool) {
			for i := range n {
				if !yield(fmt.Append(nil, i), nil) {
					return
				}
			}
		}}
	}
}

// frozenTargets: the spec of a task with frozen targets is in its plan, and the
// targets come back by pages.
func frozenTargets(e *env) {
	const n = 17_500 // more than one statement
	id := e.one(frozen(n))
	got := e.read(id)
	is(e, "spec", string(got.Spec), `{"n": 1}`)
	is(e, "total", got.Progress.Total, n)
	e.registerWorker()
	claimed := e.claim(1)
	is(e, "spec in the claim", claimed[0].Spec == nil, true)
	is(e, "total in the claim", claimed[0].Progress.Total, n)
	plan, err := e.s.Plan(e.ctx(), id)
	e.ok(err)
	is(e, "spec in the plan", string(plan.Spec), `{"n": 1}`)
	is(e, "frozen", *plan.Frozen, store.FrozenTargets{Field: "ids", Total: n})
	pages, err := e.s.Targets(e.ctx(), id, 16, 20)
	e.ok(err)
	is(e, "number of pages", len(pages), 2)
	is(e, "page 16", pages[0].Number, 16)
	is(e, "page 17", pages[1].Number, 17)
	is(e, "keys of page 16", strings.HasPrefix(string(pages[0].Keys), "[16000,16001,") && strings.HasSuffix(string(pages[0].Keys), ",16999]"), true)
	is(e, "keys of page 17", strings.HasPrefix(string(pages[1].Keys), "[17000,") && strings.HasSuffix(string(pages[1].Keys), ",17499]"), true)

	other := e.one()
	if plan, err := e.s.Plan(e.ctx(), other); err != nil || plan.Frozen != nil || string(plan.Spec) != `{"n": 1}` {
		e.Fatalf("plan of a task without: %+v, %v", plan, err)
	}
	if pages, err := e.s.Targets(e.ctx(), other, 0, 1); err != nil || len(pages) != 0 {
		e.Fatalf("pages of a task without: %v, %v", pages, err)
	}
}

// options: what a task is given besides its spec is in its plan, with the spec.
func options(e *env) {
	want := store.Options{Conditions: lifecycle.Conditions{StopAfter: lifecycle.StopPolicy{Failed: 100, Percent: 2.5}}}
	id := e.one(func(t *store.NewTask) { t.Options, t.Total = &want, 7 })
	e.registerWorker()
	claimed := e.claim(1)
	is(e, "spec in the claim", claimed[0].Spec == nil, true)
	is(e, "total in the claim", claimed[0].Progress.Total, 7)
	plan, err := e.s.Plan(e.ctx(), id)
	e.ok(err)
	is(e, "spec in the plan", string(plan.Spec), `{"n": 1}`)
	is(e, "frozen", plan.Frozen == nil, true)
	is(e, "options", plan.Options, want)
	with := e.one(frozen(3), func(t *store.NewTask) { t.Options = &want })
	plan, err = e.s.Plan(e.ctx(), with)
	e.ok(err)
	is(e, "options beside targets", plan.Options, want)
	is(e, "targets beside options", plan.Frozen.Total, 3)
}

// frozenTargetsRefused: a set that is not valid is a typed error.
func frozenTargetsRefused(e *env) {
	for name, change := range map[string]func(*store.NewTask){
		"none": frozen(0),
		"large": func(t *store.NewTask) {
			t.Targets = &store.NewTargets{Field: "ids", Keys: func(yield func([]byte, error) bool) {
				yield([]byte(`"`+strings.Repeat("x", store.MaxTargetSize)+`"`), nil)
			}}
		},
	} {
		err := e.door.Insert(e.ctx(), []store.NewTask{task(change)}, false)
		if _, ok := errors.AsType[*store.TargetsError](err); !ok {
			e.Fatalf("%s: %v, want a *store.TargetsError", name, err)
		}
	}
	n, err := e.door.Count(e.ctx(), Tasks)
	e.ok(err)
	is(e, "tasks", n, 0)
}
