package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Watcher returns a [store.Watcher] that does nothing but what the changes make it do.
func Watcher(change ...func(*store.Watcher)) store.Watcher {
	w := store.Watcher{Ready: func() {}, Present: func(error) {}, Wake: func() {}, Joined: func() {}}
	for _, f := range change {
		f(&w)
	}
	return w
}

// freeLock is a presence lock that is free.
const freeLock = 1<<62 + 17

func (e *env) reading() store.PresenceReading {
	e.Helper()
	r, err := e.s.ReadPresence(e.ctx(), process)
	e.ok(err)
	return r
}

// presenceAbsent: a process whose lock was free in two readings that lie far enough apart is
// declared dead, and no other.
func presenceAbsent(e *env) {
	e.registerWorker()
	e.registerWorker(func(p *store.Process) { p.ID = "gone" })
	e.registerWorker(func(p *store.Process) { p.ID = "plain" }) // without presence
	r := e.reading()
	is(e, "without presence", fmt.Sprint(r.Others, r.Present), "[gone plain] false")
	id := e.one()
	is(e, "claimed", e.claim(1, func(c *store.Claim) { c.Process = "gone" })[0].ID, id)
	e.loseLock("gone", freeLock, 0)

	for range 2 { // the first reading, and one too soon after it
		r := e.reading()
		is(e, "reading", fmt.Sprint(r.Others, r.Present, r.Absent, r.Missing, r.At.IsZero()), "[gone plain] true [] true false")
		reaped, err := e.s.Reap(e.ctx(), []int64{freeLock})
		e.ok(err)
		is(e, "dead after one reading", len(reaped.Dead)+len(reaped.Released), 0)
	}
	e.loseLock("gone", freeLock, 2*time.Second)
	r = e.reading()
	is(e, "reading", fmt.Sprint(r.Others, r.Absent, r.Missing), fmt.Sprint("[gone plain] ", []int64{freeLock}, " false"))
	// A process whose own lock is free has moved with all others.
	e.loseLock(process, freeLock+2, 0)
	r = e.reading()
	is(e, "reading without a lock of its own", fmt.Sprint(r.Others, r.Absent, r.Missing), "[gone plain] [] false")
	for _, absent := range [][]int64{nil, {freeLock + 1}} {
		reaped, err := e.s.Reap(e.ctx(), absent)
		e.ok(err)
		is(e, "dead by another's lock", len(reaped.Dead)+len(reaped.Released), 0)
	}
	reaped, err := e.s.Reap(e.ctx(), []int64{freeLock, freeLock + 1})
	e.ok(err)
	is(e, "dead", fmt.Sprint(reaped.Dead, reaped.Released), fmt.Sprint([]string{"gone"}, []uuid.UUID{id}))
	got := e.read(id)
	is(e, "status, stalled", fmt.Sprint(got.Status, got.Stalled), fmt.Sprint(lifecycle.Queued, true))
	is(e, "reading of the dead", fmt.Sprint(e.reading().Others), "[plain]")

	// It was not gone. The lock of a process that has left is not reported.
	e.ok(e.s.Deregister(e.ctx(), "plain"))
	for _, p := range []struct {
		id   string
		news bool
	}{{"gone", true}, {"gone", false}, {"plain", false}, {process, false}, {"nobody", false}} {
		news, err := e.s.FoundAlive(e.ctx(), p.id)
		e.ok(err)
		is(e, p.id+" was declared dead", news, p.news)
	}
	ps, err := e.s.Processes(e.ctx(), time.Hour)
	e.ok(err)
	for _, p := range ps {
		is(e, p.ID, fmt.Sprint(p.Present, p.FoundAlive != nil, p.Ended != nil, p.EndReason != ""), fmt.Sprint(p.ID == process, p.ID == "gone", p.ID != process, p.ID != process))
	}
}

// presenceHeld: a process has presence while it watches, from when its lock is held, and loses
// nothing when it ends that.
func presenceHeld(e *env) {
	const other = "other"
	e.registerWorker()
	e.registerWorker(func(p *store.Process) { p.ID = other })
	e.loseLock(other, freeLock, 2*time.Second) // one that it had before
	ctx, cancel := context.WithCancel(e.ctx())
	defer cancel()
	present, done := make(chan error, 1), make(chan error, 1)
	go func() {
		done <- e.s.Watch(ctx, other, Watcher(func(w *store.Watcher) { w.Present = func(err error) { present <- err } }))
	}()
	select {
	case err := <-present:
		e.ok(err)
	case err := <-done:
		if errors.Is(err, store.ErrNoWatch) && e.db != nil && e.db.DSN != e.db.Direct {
			r := e.reading()
			is(e, "through a pooler", fmt.Sprint(r.Absent), fmt.Sprint([]int64{freeLock}))
			return
		}
		e.Fatalf("cannot watch: %v", err)
	case <-ctx.Done():
		e.Fatal("never present")
	}
	for range 2 {
		r := e.reading()
		is(e, "reading", fmt.Sprint(r.Others, r.Absent, r.Missing), "[other] [] false")
	}
	// Whoever saw the earlier lock to be free is too late.
	reaped, err := e.s.Reap(e.ctx(), []int64{freeLock})
	e.ok(err)
	is(e, "dead by its earlier lock", len(reaped.Dead), 0)
	ps, err := e.s.Processes(e.ctx(), time.Hour)
	e.ok(err)
	for _, p := range ps {
		is(e, p.ID+" present", p.Present, p.ID == other)
	}
	e.endsWith(cancel, done)
	// Its next heartbeat removes the lock from its row.
	e.ok(e.s.Heartbeat(e.ctx(), other, false))
	r := e.reading()
	is(e, "after its end", fmt.Sprint(r.Others, r.Present, r.Missing), "[other] false false")

	// The dead get no presence.
	e.ok(e.s.Deregister(e.ctx(), other))
	if err := e.s.Watch(e.ctx(), other, Watcher()); !errors.Is(err, store.ErrDead) {
		e.Fatalf("watched after leaving: %v", err)
	}
	is(e, "of the dead", fmt.Sprint(e.reading().Others), "[]")
}
