package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// failedItem returns an item that failed.
func failedItem(item any) store.Item {
	return store.Item{Key: itemkey.Encode(item), Outcome: store.ItemFailed, Code: "c"}
}

// items returns the items of a task with an outcome, as text.
func (e *env) items(id uuid.UUID, o store.Outcome) string {
	items, err := e.s.Items(e.ctx(), id, o, store.ItemCursor{}, 1000)
	e.ok(err)
	text := make([]string, len(items))
	for n, i := range items {
		if i.ID == uuid.Nil || i.Created.IsZero() {
			e.Fatalf("item %s has the id %v and the time %v", i.Key, i.ID, i.Created)
		}
		text[n] = fmt.Sprintf("%s %s %s %q at %d, attempt %d", i.Key, i.Outcome, i.Code, i.Detail, i.Position, i.Attempt)
	}
	return fmt.Sprint(text)
}

// recording returns a write of the next checkpoint of a task, with items.
func recording(l store.Lease, items ...store.Item) store.Write {
	w := checkpoint(l)
	w.Items = items
	return w
}

// itemsReplaced: an item has one row, with its last outcome, in which order and by
// which call the outcomes came. A write that does not take effect records none.
func itemsReplaced(e *env) {
	e.registerWorker()
	c := e.claimedTask()
	skipped := store.Item{Key: `"a"`, Outcome: store.ItemSkipped, Code: "same", Position: 2, Attempt: 2}
	// In one write.
	is(e, "applied", e.apply(recording(c.Lease, failedItem("a"), failedItem("b"), skipped)).OK, true)
	is(e, "failed", e.items(c.ID, store.ItemFailed), `["b" failed c "" at 0, attempt 0]`)
	is(e, "skipped", e.items(c.ID, store.ItemSkipped), `["a" skipped same "" at 2, attempt 2]`)
	before, err := e.s.Items(e.ctx(), c.ID, store.ItemSkipped, store.ItemCursor{}, 1)
	e.ok(err)

	// In a later write, of one and of several in one call.
	c.Seq++
	is(e, "applied", e.apply(recording(c.Lease, failedItem("a"))).OK, true)
	after, err := e.s.Items(e.ctx(), c.ID, store.ItemFailed, store.ItemCursor{Position: 1}, 1)
	e.ok(err)
	is(e, "id of the item, whose position stays known", after[0].ID, before[0].ID)
	c.Seq++
	second := c.Lease
	second.Seq++
	other := e.claimedTask()
	applied, err := e.s.Apply(e.ctx(), process, []*store.Write{
		new(recording(c.Lease, failedItem("a"), failedItem("c"))),
		new(recording(other.Lease, failedItem("a"))),
		new(recording(second, skipped, failedItem("c"))),
	})
	e.ok(err)
	is(e, "applied", slices.ContainsFunc(applied, func(a store.Applied) bool { return !a.OK }), false)
	is(e, "failed", e.items(c.ID, store.ItemFailed), `["b" failed c "" at 0, attempt 0 "c" failed c "" at 0, attempt 0]`)
	is(e, "skipped", e.items(c.ID, store.ItemSkipped), `["a" skipped same "" at 2, attempt 2]`)
	is(e, "failed of the other", e.items(other.ID, store.ItemFailed), `["a" failed c "" at 0, attempt 0]`)

	// Not with a write that is refused, nor with one that is no checkpoint.
	is(e, "applied", e.apply(recording(c.Lease, failedItem("d"))), store.Applied{})
	release := recording(second, failedItem("d"))
	release.Seq++
	release.To, release.Checkpoint = lifecycle.Queued, false
	is(e, "released", e.apply(release).OK, true)
	is(e, "rows", e.count(Items), 4)
}

// itemsInBatch: the outcomes that come with the commit of a batch are committed with
// it, and are gone when the task lease is.
func itemsInBatch(e *env) {
	e.registerWorker()
	c := e.claimedTask()
	tx := e.begin(c.Lease)
	a, err := tx.Commit(e.ctx(), recording(c.Lease, failedItem(1), failedItem(2), failedItem(1)))
	e.ok(err)
	is(e, "committed", a.OK, true)
	is(e, "rows", e.count(Items), 2)

	c.Seq++
	tx = e.begin(c.Lease)
	late := c.Lease
	late.Seq++
	a, err = tx.Commit(e.ctx(), recording(late, failedItem(3)))
	e.ok(err)
	is(e, "committed under another checkpoint", a.OK, false)
	is(e, "rows", e.count(Items), 2)
}

// itemsPages: a list of items is read page by page, each once.
func itemsPages(e *env) {
	e.registerWorker()
	c := e.claimedTask()
	const n = 25
	for range 2 {
		var items []store.Item
		for i := range n {
			item := failedItem(int(c.Seq)*n + i)
			if i%5 == 0 {
				item.Outcome = store.ItemSkipped
			}
			items = append(items, item)
		}
		is(e, "applied", e.apply(recording(c.Lease, items...)).OK, true)
		c.Seq++
	}
	var got []string
	var after store.ItemCursor
	for {
		page, err := e.s.Items(e.ctx(), c.ID, store.ItemFailed, after, 7)
		e.ok(err)
		for _, i := range page {
			got, after = append(got, i.Key), i.Cursor()
		}
		if len(page) < 7 {
			break
		}
	}
	var want []string
	for i := range 2 * n {
		if i%5 != 0 {
			want = append(want, fmt.Sprint(i))
		}
	}
	is(e, "items", fmt.Sprint(got), fmt.Sprint(want))
}

// failedItems: the items of all tasks that have failed are listed by time, the newest first, page by page.
func failedItems(e *env) {
	e.registerWorker()
	var all []store.FailedItem
	for range 3 {
		c := e.claimedTask()
		skipped := store.Item{Key: `"s"`, Outcome: store.ItemSkipped, Code: "c"}
		is(e, "applied", e.apply(recording(c.Lease, failedItem(1), skipped, failedItem(2))).OK, true)
		items, err := e.s.Items(e.ctx(), c.ID, store.ItemFailed, store.ItemCursor{}, 10)
		e.ok(err)
		for _, i := range items {
			all = append(all, store.FailedItem{Task: c.ID, Created: i.Created, ID: i.ID})
		}
	}
	slices.SortFunc(all, func(a, b store.FailedItem) int {
		if c := b.Created.Compare(a.Created); c != 0 {
			return c
		}
		return bytes.Compare(b.ID[:], a.ID[:])
	})
	for n, from := range []time.Time{all[5].Created, all[2].Created} {
		var got []store.FailedItem
		before := store.FailedItem{Created: all[0].Created.Add(time.Second)}
		for {
			page, err := e.s.FailedItems(e.ctx(), from, before, 2)
			e.ok(err)
			if got = append(got, page...); len(page) < 2 {
				break
			}
			before = page[1]
		}
		want := slices.DeleteFunc(slices.Clone(all), func(i store.FailedItem) bool { return i.Created.Before(from) })
		is(e, fmt.Sprint("items of query ", n), fmt.Sprint(got), fmt.Sprint(want))
	}
	none, err := e.s.FailedItems(e.ctx(), all[5].Created, store.FailedItem{Created: all[5].Created}, 2)
	e.ok(err)
	is(e, "items before the first", len(none), 0)
}

// itemRecords: what became of an item in all tasks is listed, the newest first, page by page and up to an age.
func itemRecords(e *env) {
	e.registerWorker()
	var all []store.ItemRecord
	for n := range 4 {
		c := e.claimedTask()
		one := store.Item{Key: "1", Outcome: store.ItemSkipped, Code: fmt.Sprint("c", n), Detail: "d", Position: 3, Attempt: n}
		is(e, "applied", e.apply(recording(c.Lease, one, failedItem(2))).OK, true)
		items, err := e.s.Items(e.ctx(), c.ID, store.ItemSkipped, store.ItemCursor{}, 10)
		e.ok(err)
		all = append(all, store.ItemRecord{Item: items[0], Task: c.ID})
	}
	slices.SortFunc(all, func(a, b store.ItemRecord) int {
		if c := b.Created.Compare(a.Created); c != 0 {
			return c
		}
		return bytes.Compare(b.ID[:], a.ID[:])
	})
	var got []store.ItemRecord
	for before := (store.ItemRecord{}); ; {
		page, err := e.s.ItemRecords(e.ctx(), "1", time.Hour, before, 3)
		e.ok(err)
		if got = append(got, page...); len(page) < 3 {
			break
		}
		before = page[2]
	}
	is(e, "records", fmt.Sprint(got), fmt.Sprint(all))
	for deadline := time.Now().Add(time.Minute); ; {
		recent, err := e.s.ItemRecords(e.ctx(), "1", time.Millisecond, store.ItemRecord{}, 3)
		e.ok(err)
		if len(recent) == 0 {
			break
		}
		is(e, "records of the last millisecond are still listed", time.Now().After(deadline), false)
	}
}
