package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// succeeding returns a write of the next checkpoint of a task, with items that succeeded.
func succeeding(l store.Lease, replaces bool, keys ...string) store.Write {
	w := checkpoint(l)
	w.Ledger = store.Ledger{Keys: keys, Replaces: replaces}
	return w
}

// succeeded returns the ledger of a task after a batch, as text.
func (e *env) succeeded(id uuid.UUID, after int64, limit int) string {
	e.Helper()
	pages, err := e.s.Ledger(e.ctx(), id, after, limit)
	e.ok(err)
	text := make([]string, len(pages))
	for i, p := range pages {
		array, err := store.DecodeLedger(p.Keys)
		e.ok(err)
		if p.Created.IsZero() {
			e.Fatalf("batch %d has no time", p.Batch)
		}
		text[i] = fmt.Sprintf("%d: %d in %s", p.Batch, p.Items, array)
	}
	return fmt.Sprint(text)
}

// ledgerPages: what succeeded in a batch is stored with its checkpoint alone, once. A
// batch in which nothing succeeded stores nothing.
func ledgerPages(e *env) {
	e.registerWorker()
	c, other := e.claimedTask(), e.claimedTask()
	first := c.Lease
	is(e, "before any", e.succeeded(c.ID, -1, 10), "[]")
	is(e, "applied", e.apply(succeeding(first, false, `"a"`, `{"n":1}`)).OK, true)
	is(e, "applied twice", e.apply(succeeding(first, false, `"a"`, `{"n":1}`)).OK, false)
	c.Seq++
	is(e, "applied", e.apply(checkpoint(c.Lease)).OK, true)
	c.Seq++
	applied, err := e.s.Apply(e.ctx(), process, []*store.Write{
		new(succeeding(c.Lease, false, `"b"`)), new(recording(other.Lease, failedItem("x"))), new(succeeding(first, false, `"late"`)),
	})
	e.ok(err)
	is(e, "applied", fmt.Sprint(applied[0].OK, applied[1].OK, applied[2].OK), "true true false")
	other.Seq++
	is(e, "applied", e.apply(succeeding(other.Lease, false, "7")).OK, true)
	c.Seq++

	// In a batch, and not in one that is given up or has lost its task.
	e.begin(c.Lease).Rollback()
	late := c.Lease
	late.Seq++
	a, err := e.begin(c.Lease).Commit(e.ctx(), succeeding(late, false, `"no"`))
	e.ok(err)
	is(e, "committed under another checkpoint", a.OK, false)
	keys := make([]string, 3000)
	for i := range keys {
		keys[i] = fmt.Sprintf("%q", uuid.NewString())
	}
	a, err = e.begin(c.Lease).Commit(e.ctx(), succeeding(c.Lease, false, keys...))
	e.ok(err)
	is(e, "committed", a.OK, true)
	c.Seq++

	// Not with a write that is no checkpoint.
	release := succeeding(c.Lease, false, `"no"`)
	release.To, release.Checkpoint = lifecycle.Queued, false
	is(e, "released", e.apply(release).OK, true)

	is(e, "two pages", e.succeeded(c.ID, -1, 2), `[0: 2 in ["a",{"n":1}] 2: 1 in ["b"]]`)
	is(e, "a page", e.succeeded(c.ID, 0, 1), `[2: 1 in ["b"]]`)
	is(e, "of the other", e.succeeded(other.ID, -1, 10), `[1: 1 in [7]]`)
	pages, err := e.s.Ledger(e.ctx(), c.ID, 2, 10)
	e.ok(err)
	array, err := store.DecodeLedger(pages[0].Keys)
	e.ok(err)
	var got []json.RawMessage
	e.ok(json.Unmarshal(array, &got))
	is(e, "a long page", slices.EqualFunc(got, keys, func(a json.RawMessage, b string) bool { return string(a) == b }), true)
	n, err := e.s.LedgerItems(e.ctx(), c.ID)
	e.ok(err)
	is(e, "items", n, 3003)
	n, err = e.s.LedgerItems(e.ctx(), uuid.New())
	e.ok(err)
	is(e, "items of no task", n, 0)
	is(e, "pages", e.count(Ledgers), 4)
}

// ledgerReplaces: an item that succeeds after another outcome has that no longer, if
// the write has Replaces set.
func ledgerReplaces(e *env) {
	e.registerWorker()
	c, other := e.claimedTask(), e.claimedTask()
	is(e, "applied", e.apply(recording(c.Lease, failedItem("a"), failedItem("b"), failedItem(`"<c`))).OK, true)
	is(e, "applied", e.apply(recording(other.Lease, failedItem("a"))).OK, true)
	c.Seq++
	recorded := func(keys ...string) string {
		found, err := e.s.Recorded(e.ctx(), c.ID, keys)
		e.ok(err)
		slices.Sort(found)
		return fmt.Sprint(found)
	}
	is(e, "recorded", recorded(`"b"`, `"no"`, `"\"<c"`, "1"), `["\"<c" "b"]`)
	is(e, "applied", e.apply(succeeding(c.Lease, false, `"a"`, "1")).OK, true)
	c.Seq++
	is(e, "rows that nobody asked to remove", e.count(Items), 4)
	w := succeeding(c.Lease, true, `"a"`, `"\"<c"`, `"no"`)
	w.Items = []store.Item{failedItem("d")}
	is(e, "applied", e.apply(w).OK, true)
	is(e, "recorded", recorded(`"a"`, `"b"`, `"\"<c"`, `"d"`), `["b" "d"]`)
	is(e, "of the other", e.items(other.ID, store.ItemFailed), `["a" failed c "" at 0, attempt 0]`)
}

// ledgerGoes: a ledger is removed with its task, and with the spec whose items it has.
func ledgerGoes(e *env) {
	e.registerWorker()
	of := referring()
	keeping := func(t *store.NewTask) { t.Ledger = true }
	id := e.insert(of(`{"n": 1}`, keeping))[0]
	l := e.claim(1)[0].Lease
	w := succeeding(l, false, "1")
	w.State, w.Progress = json.RawMessage("{}"), lifecycle.Progress{Total: -1, Done: 1}
	is(e, "applied", e.apply(w).OK, true)
	l.Seq++
	is(e, "released", e.apply(store.Write{Lease: l, To: lifecycle.Queued, Attempts: 1, Delay: time.Hour, Attempt: failedAttempt(l)}).OK, true)
	is(e, "pages", e.count(Ledgers), 1)
	is(e, "replaced", e.insert(of(`{"n": 2}`, keeping))[0], id)
	is(e, "pages after another spec", e.count(Ledgers), 0)
	e.claim(1)

	c := e.claimedTask()
	is(e, "applied", e.apply(succeeding(c.Lease, false, "1")).OK, true)
	_, err := e.request(c.ID, lifecycle.ActDelete)
	e.ok(err)
	c.Seq++
	is(e, "removed", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Completed}).Control, lifecycle.Delete)
	e.gone(c.ID)
	is(e, "pages", e.count(Ledgers), 0)
}
