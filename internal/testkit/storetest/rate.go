package storetest

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workrate"
)

// worked adds a number of items that took a second each.
func worked(w store.Write, of string, items int64) store.Write {
	w.Worked = &store.Worked{Kind: of, Sample: workrate.Sample{Items: items, Took: time.Duration(items) * time.Second}}
	return w
}

// rate is a rate as text.
func (e *env) rate(id uuid.UUID) string {
	e.Helper()
	r, err := e.s.Rate(e.ctx(), id)
	e.ok(err)
	return fmt.Sprint(r.All.Items, r.Samples)
}

// rates: what a task has worked is added up, with a checkpoint that takes effect and
// with no other.
func rates(e *env) {
	e.registerWorker()
	is(e, "rate of no task", e.rate(uuid.New()), "0 []")
	c, other := e.claimedTask(), e.claimedTask()
	is(e, "rate of a new task", e.rate(c.ID), "0 []")
	is(e, "a checkpoint without", e.apply(checkpoint(c.Lease)).OK, true)
	is(e, "rate after a checkpoint without", e.rate(c.ID), "0 []")
	c.Seq++
	is(e, "added", e.apply(worked(checkpoint(c.Lease), kind, 5)).OK, true)
	is(e, "a late write", e.apply(worked(checkpoint(c.Lease), kind, 7)).OK, false)
	is(e, "rate after a late write", e.rate(c.ID), "5 [{5 5s}]")
	first, err := e.s.Rate(e.ctx(), c.ID)
	e.ok(err)
	started := e.read(c.ID).Modified
	if d := first.Measured.Sub(started).Abs(); d > time.Second {
		e.Errorf("measured at %v, and the checkpoint was at %v", first.Measured, started)
	}
	c.Seq++
	applied, err := e.s.Apply(e.ctx(), process, []*store.Write{new(worked(checkpoint(c.Lease), kind, 6)), new(worked(checkpoint(other.Lease), kind, 9))})
	e.ok(err)
	is(e, "two in one call", applied[0].OK && applied[1].OK, true)
	is(e, "rate", e.rate(c.ID), "11 [{5 5s} {6 6s}]")
	is(e, "rate of the other", e.rate(other.ID), "9 [{9 9s}]")
	c.Seq++
	is(e, "without items", e.apply(worked(checkpoint(c.Lease), kind, 0)).OK, true)
	is(e, "rate after one without items", e.rate(c.ID), "11 [{5 5s} {6 6s}]")
	c.Seq++
	tx, err := e.s.Begin(e.ctx(), c.Lease, limits)
	e.ok(err)
	a, err := tx.Commit(e.ctx(), worked(checkpoint(c.Lease), kind, 3))
	e.ok(err)
	is(e, "committed", a.OK, true)
	is(e, "rate after a batch", e.rate(c.ID), "14 [{5 5s} {6 6s} {3 3s}]")
	c.Seq++
	end := worked(checkpoint(c.Lease), kind, 4)
	end.To = lifecycle.Completed
	is(e, "ended", e.apply(end).OK, true)
	is(e, "rate at the end", e.rate(c.ID), "18 [{5 5s} {6 6s} {3 3s} {4 4s}]")
}

// kindRates: the rates of a kind come newest task first, without previews,
// of other kinds and of tasks that were removed.
func kindRates(e *env) {
	e.registerWorker()
	all := func(limit int) (s string) {
		found, err := e.s.KindRates(e.ctx(), kind, limit)
		e.ok(err)
		for _, h := range found {
			s += fmt.Sprint(h.All.Items, " ")
		}
		return s
	}
	is(e, "of no task", all(10), "")
	for n, of := range []string{kind, "", "other", kind, kind} {
		c := e.claimedTask()
		is(e, "added", e.apply(worked(checkpoint(c.Lease), of, int64(n)+1)).OK, true)
		c.Seq++
		is(e, "ended", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Completed, Begun: true}).OK, true)
		if n == 3 {
			is(e, "before it is removed", all(10), "4 1 ")
			_, err := e.request(c.ID, lifecycle.ActDelete)
			e.ok(err)
			is(e, "rate of a removed task", e.rate(c.ID), "0 []")
		}
	}
	is(e, "of the kind", all(10), "5 1 ")
	is(e, "of its newest task", all(1), "5 ")
}
