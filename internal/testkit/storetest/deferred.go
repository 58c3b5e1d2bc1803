package storetest

import (
	"fmt"
	"slices"

	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// deferredItem returns an item that was deferred in a pass, at the position that is its
// key.
func deferredItem(position, pass int) store.Item {
	return store.Item{Key: itemkey.Encode(position), Outcome: store.ItemDeferred, Code: "busy", Position: int64(position), Attempt: pass}
}

// itemsDeferred: deferred items are read in the order of their positions. A write of a
// later pass removes those that it has passed and not deferred again, and no others.
func itemsDeferred(e *env) {
	e.registerWorker()
	c, other := e.claimedTask(), e.claimedTask()
	positions := func(after int64, limit int) string {
		got, all, err := e.s.Deferred(e.ctx(), c.ID, after, limit)
		e.ok(err)
		return fmt.Sprint(got, all)
	}
	is(e, "before any", positions(0, 5), "[] 0")
	is(e, "applied", e.apply(recording(c.Lease, deferredItem(30, 1), deferredItem(2, 1), failedItem(4), deferredItem(11, 1))).OK, true)
	is(e, "applied", e.apply(recording(other.Lease, deferredItem(2, 1))).OK, true)
	c.Seq++
	is(e, "applied", e.apply(recording(c.Lease, deferredItem(100, 1), deferredItem(12, 1))).OK, true)
	is(e, "all", positions(0, 10), "[2 11 12 30 100] 5")
	is(e, "some", positions(2, 2), "[11 12] 4")
	is(e, "none", positions(100, 2), "[] 0")

	pass := func(change func(*store.Write), items ...store.Item) {
		c.Seq++
		w := recording(c.Lease, items...)
		change(&w)
		is(e, "applied", e.apply(w).OK, true)
	}
	// 2 succeeds, 11 is deferred again, and 12 fails; 30 is not taken yet.
	failed := failedItem(12)
	failed.Position = 12
	pass(func(w *store.Write) { w.Retried = store.Retried{Round: 1, After: 0, Upto: 12} }, deferredItem(11, 2), failed)
	is(e, "after a pass", positions(0, 10), "[11 30 100] 3")
	is(e, "failed", e.items(c.ID, store.ItemFailed), `[4 failed c "" at 0, attempt 0 12 failed c "" at 12, attempt 0]`)
	pass(func(w *store.Write) { w.Retried = store.Retried{Round: 1, After: 12, Upto: 30} })
	is(e, "after another batch", positions(0, 10), "[11 100] 2")

	// In a batch, and not with a write that is refused or is no checkpoint.
	late := recording(c.Lease)
	late.Retried = store.Retried{Round: 2, Upto: 100, FailRest: true}
	is(e, "applied", e.apply(late).OK, false)
	c.Seq++
	release := recording(c.Lease)
	release.To, release.Checkpoint, release.Retried = lifecycle.Queued, false, late.Retried
	is(e, "released", e.apply(release).OK, true)
	is(e, "after writes without effect", positions(0, 10), "[11 100] 2")
	claimed := e.claim(2)
	i := slices.IndexFunc(claimed, func(t store.ClaimedTask) bool { return t.ID == c.ID })
	last := recording(claimed[i].Lease)
	last.Retried = store.Retried{Round: 2, Upto: 11, FailRest: true}
	a, err := e.begin(claimed[i].Lease).Commit(e.ctx(), last)
	e.ok(err)
	is(e, "committed", a.OK, true)
	is(e, "after the last pass", positions(0, 10), "[] 0")
	is(e, "failed", e.items(c.ID, store.ItemFailed),
		`[4 failed c "" at 0, attempt 0 12 failed c "" at 12, attempt 0 100 failed busy "" at 100, attempt 1]`)
	is(e, "of the other", e.items(other.ID, store.ItemDeferred), `[2 deferred busy "" at 2, attempt 1]`)
}
