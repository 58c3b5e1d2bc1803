package storetest

import (
	"encoding/json"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// revisions: a checkpoint's revision is stored apart from the spec's,
// which stays what it was, also over several; whoever knows only the older one
// gets the task no more.
func revisions(e *env) {
	knows := func(revisions ...int) func(*store.Claim) {
		return func(c *store.Claim) { c.Kinds = map[string][]int{kind: revisions} }
	}
	e.registerWorker()
	id := e.one(func(t *store.NewTask) { t.Revision = 2 })
	both := func(want [2]int) {
		e.Helper()
		t := e.read(id)
		is(e, "revision of state and spec", [2]int{t.Revision, t.SpecRevision}, want)
	}
	both([2]int{2, 2})

	step := func(h store.Lease, revision int, to lifecycle.Status) bool {
		return e.apply(store.Write{Lease: h, To: to, Checkpoint: true, Revision: revision, State: json.RawMessage(`{"at":1}`)}).OK
	}
	c := e.claim(1, knows(1, 2))
	is(e, "claimed", len(c), 1)
	is(e, "claimed revisions", [2]int{c[0].Revision, c[0].SpecRevision}, [2]int{2, 2})
	is(e, "checkpoint of the same", step(c[0].Lease, 2, lifecycle.Queued), true)
	both([2]int{2, 2})

	c = e.claim(1, knows(1, 2, 3))
	is(e, "checkpoint of the next", step(c[0].Lease, 3, lifecycle.Queued), true)
	both([2]int{3, 2})
	is(e, "claimed by the older", len(e.claim(1, knows(1, 2))), 0)

	c = e.claim(1, knows(2, 3, 4))
	is(e, "claimed", len(c), 1)
	is(e, "claimed revisions", [2]int{c[0].Revision, c[0].SpecRevision}, [2]int{3, 2})
	is(e, "spec of the claim: its session reads the plan", len(c[0].Spec), 0)
	is(e, "checkpoint of the one after", step(c[0].Lease, 4, lifecycle.Queued), true)
	both([2]int{4, 2})

	// What is no checkpoint changes neither, whatever revision comes along.
	c = e.claim(1, knows(4))
	is(e, "release", e.apply(store.Write{Lease: c[0].Lease, To: lifecycle.Failure, Revision: 9}).OK, true)
	both([2]int{4, 2})
}
