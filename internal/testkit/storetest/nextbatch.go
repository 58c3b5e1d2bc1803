package storetest

import (
	"encoding/json"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// next commits a checkpoint together with which the next transaction may begin, and returns that transaction, or nil. It
// is rolled back at the end of the case.
func (e *env) next(tx store.Tx, w store.Write) store.Tx {
	e.Helper()
	w.Next = &limits
	a, err := tx.Commit(e.ctx(), w)
	e.ok(err)
	next := a.Next
	if next != nil {
		e.Cleanup(next.Rollback)
	}
	a.Next = nil
	is(e, "applied", a, store.Applied{OK: true})
	return next
}

// nextBatchCommits: a transaction that has begun with the commit before it is one as any other.
func nextBatchCommits(e *env) {
	e.registerWorker()
	e.ledger()
	c := e.claimedTask()
	tx := e.begin(c.Lease)
	for i := range 3 {
		write(e, tx)
		w := checkpoint(c.Lease)
		if i == 1 {
			w.Progress.Taken, w.Progress.Failed = 1, 1
			w.Items = []store.Item{{Key: "1", Outcome: store.ItemFailed, Code: "c", Position: 1, Attempt: 1}}
		}
		next := e.next(tx, w)
		is(e, "touched", e.touched(), i+1)
		c.Seq++
		if tx = next; tx == nil {
			tx = e.begin(c.Lease) // the store begins none
		}
	}
	items, err := e.s.Items(e.ctx(), c.ID, store.ItemFailed, store.ItemCursor{}, 10)
	e.ok(err)
	is(e, "items", len(items), 1)
	w := checkpoint(c.Lease)
	w.To, w.Result = lifecycle.Completed, json.RawMessage(`1`)
	a, err := tx.Commit(e.ctx(), w)
	e.ok(err)
	is(e, "applied", a, store.Applied{OK: true})
	is(e, "status", e.read(c.ID).Status, lifecycle.Completed)
	is(e, "checkpoint", e.read(c.ID).Seq, 4)
}

// nextBatchRollsBack: rolling such a transaction back undoes nothing of the commit, and blocks nobody.
func nextBatchRollsBack(e *env) {
	e.registerWorker()
	e.ledger()
	c := e.claimedTask()
	tx := e.begin(c.Lease)
	write(e, tx)
	if next := e.next(tx, checkpoint(c.Lease)); next != nil {
		write(e, next)
		next.Rollback()
		if _, err := next.Commit(e.ctx(), checkpoint(c.Lease)); err == nil {
			e.Fatal("a commit after a rollback")
		}
	}
	is(e, "touched", e.touched(), 1)
	c.Seq++
	_, err := e.request(c.ID, lifecycle.ActDelete)
	e.ok(err)
	tx = e.begin(c.Lease)
	write(e, tx)
	w := checkpoint(c.Lease)
	w.To, w.Result = lifecycle.Completed, json.RawMessage(`1`)
	a, err := tx.Commit(e.ctx(), w)
	e.ok(err)
	is(e, "applied", a, store.Applied{OK: true, Control: lifecycle.Delete})
	is(e, "touched", e.touched(), 2)
}

// nextBatchLost: after a commit under a task lease that is lost nothing begins.
func nextBatchLost(e *env) {
	e.registerWorker()
	e.ledger()
	c := e.claimedTask()
	tx := e.begin(c.Lease)
	write(e, tx)
	w := checkpoint(c.Lease)
	w.Fence++
	w.Next = &limits
	a, err := tx.Commit(e.ctx(), w)
	e.ok(err)
	is(e, "applied", a, store.Applied{})
	is(e, "touched", e.touched(), 0)
	// Nobody is blocked.
	e.apply(store.Write{Lease: c.Lease, To: lifecycle.Queued})
	is(e, "claimed", len(e.claim(1)), 1)
}
