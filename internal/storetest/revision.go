package storetest

import (
	"encoding/json"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// revisions: a checkpoint of another revision is told apart from the spec's,
// which stays what it was, also over several; whoever knows only the older one
// gets the task no more.
func revisions(b *bed) {
	knows := func(revisions ...int) func(*store.Claim) {
		return func(c *store.Claim) { c.Kinds = map[string][]int{kind: revisions} }
	}
	b.enrol()
	id := b.one(func(t *store.NewTask) { t.Revision = 2 })
	both := func(want [2]int) {
		b.Helper()
		t := b.read(id)
		is(b, "revision of state and spec", [2]int{t.Revision, t.SpecRevision}, want)
	}
	both([2]int{2, 2})

	step := func(h store.Hold, revision int, to workflow.Status) bool {
		return b.apply(store.Write{Hold: h, To: to, Checkpoint: true, Revision: revision, State: json.RawMessage(`{"at":1}`)}).OK
	}
	c := b.claim(1, knows(1, 2))
	is(b, "claimed", len(c), 1)
	is(b, "claimed revisions", [2]int{c[0].Revision, c[0].SpecRevision}, [2]int{2, 2})
	is(b, "checkpoint of the same", step(c[0].Hold, 2, workflow.Queued), true)
	both([2]int{2, 2})

	c = b.claim(1, knows(1, 2, 3))
	is(b, "checkpoint of the next", step(c[0].Hold, 3, workflow.Queued), true)
	both([2]int{3, 2})
	is(b, "claimed by the older", len(b.claim(1, knows(1, 2))), 0)

	c = b.claim(1, knows(2, 3, 4))
	is(b, "claimed", len(c), 1)
	is(b, "claimed revisions", [2]int{c[0].Revision, c[0].SpecRevision}, [2]int{3, 2})
	is(b, "checkpoint of the one after", step(c[0].Hold, 4, workflow.Queued), true)
	both([2]int{4, 2})

	// What is no checkpoint changes neither, whatever revision comes along.
	c = b.claim(1, knows(4))
	is(b, "release", b.apply(store.Write{Hold: c[0].Hold, To: workflow.Failure, Revision: 9}).OK, true)
	both([2]int{4, 2})
}
