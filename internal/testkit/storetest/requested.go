package storetest

import (
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// requestedFirst: a task that is to end goes before all new ones, however long
// they have been waiting.
func requestedFirst(e *env) {
	e.registerWorker()
	asked := e.waitingAgain()
	for range 5 {
		e.one(func(t *store.NewTask) { t.Priority = 1 })
	}
	_, err := e.request(asked, lifecycle.ActStop)
	e.ok(err)
	got := e.claim(1)
	is(e, "claimed", len(got), 1)
	is(e, "task", got[0].ID, asked)
	is(e, "control", got[0].Control, lifecycle.Stop)
	// One that fails with the request standing comes back at once.
	e.apply(store.Write{Lease: got[0].Lease, To: lifecycle.Queued, Attempts: 1, Delay: time.Hour})
	got = e.claim(1)
	is(e, "claimed again", len(got), 1)
	is(e, "task", got[0].ID, asked)
}

// claimRequested: a claim of those that are to end takes no others.
func claimRequested(e *env) {
	e.registerWorker()
	asked := []uuid.UUID{e.waitingAgain(), e.waitingAgain(), e.waitingAgain()}
	elsewhere, busy := e.waitingAgain(), e.bring(lifecycle.Executing)
	queue := "elsewhere"
	e.edit(elsewhere, TaskColumns{Queue: &queue})
	for id, a := range map[uuid.UUID]lifecycle.Action{
		asked[0]: lifecycle.ActStop, asked[1]: lifecycle.ActDelete, asked[2]: lifecycle.ActPause, busy: lifecycle.ActStop,
	} {
		_, err := e.request(id, a)
		e.ok(err)
	}
	// No live process serves that queue, and a stop would end it at once.
	e.setControl(elsewhere, lifecycle.Stop)
	e.one()
	only := func(c *store.Claim) { c.Requested = true }
	waiting, err := e.s.Waiting(e.ctx(), claimOf(1, only))
	e.ok(err)
	is(e, "waiting", waiting, true)
	is(e, "claimed by who knows no such kind", len(e.claim(9, only, func(c *store.Claim) { c.Kinds = map[string][]int{"other": {1}} })), 0)
	got := e.claim(1, only)
	is(e, "claimed with a limit", len(got), 1)
	got = append(got, e.claim(9, only)...)
	is(e, "claimed", len(got), 2)
	is(e, "tasks", [2]uuid.UUID{got[0].ID, got[1].ID}, [2]uuid.UUID{asked[1], asked[0]})
	is(e, "controls", [2]lifecycle.Control{got[0].Control, got[1].Control}, [2]lifecycle.Control{lifecycle.Delete, lifecycle.Stop})
	is(e, "fence", got[0].Fence, 2)
	waiting, err = e.s.Waiting(e.ctx(), claimOf(1, only))
	e.ok(err)
	is(e, "waiting afterwards", waiting, false)
	is(e, "claimed of the rest", len(e.claim(9)), 1)
}

// waitingAgain makes a task that was claimed once and waits for an hour.
func (e *env) waitingAgain() uuid.UUID {
	e.Helper()
	c := e.claimedTask()
	e.apply(store.Write{Lease: c.Lease, To: lifecycle.Queued, Delay: time.Hour})
	return c.ID
}

// unstarted: what a process has claimed and not begun can be read back, and goes
// back to its old place.
func unstarted(e *env) {
	e.registerWorker()
	e.registerWorker(func(p *store.Process) { p.ID = "test-1-b" })
	first, second := e.one(), e.one()
	before := e.read(first)
	got := e.claim(2)
	is(e, "claimed", len(got), 2)
	e.one()
	e.claim(1, func(c *store.Claim) { c.Process = "test-1-b" })
	at, err := e.s.Unstarted(e.ctx(), process)
	e.ok(err)
	is(e, "unstarted", len(at), 2)
	is(e, "position", at[first].Lease, store.Lease{ID: first, Fence: 1})
	is(e, "attempts", at[second].Attempts, 1)
	e.apply(store.Write{Lease: at[second].Lease, To: lifecycle.Executing, Attempts: 1})
	at, err = e.s.Unstarted(e.ctx(), process)
	e.ok(err)
	is(e, "unstarted beside one that executes", len(at), 1)
	e.apply(store.Write{Lease: at[first].Lease, To: lifecycle.Queued, Delay: -1, Reason: "given back"})
	after := e.read(first)
	is(e, "its place", after.NotBefore.Equal(before.NotBefore), true)
	is(e, "attempts", after.Attempts, 0)
}

// lostUnstarted: a lost claim is counted, since its task may have killed the worker.
// From the second claim on, one whose task had not begun is not counted.
func lostUnstarted(e *env) {
	e.registerWorker()
	id := e.one()
	lose := func(begun bool) int {
		e.Helper()
		c := e.claim(1)
		is(e, "claimed", len(c), 1)
		if begun {
			e.apply(store.Write{Lease: c[0].Lease, To: lifecycle.Executing, Attempts: c[0].Attempts})
		}
		e.removeProcess(process)
		_, err := e.s.Reap(e.ctx(), nil)
		e.ok(err)
		e.registerWorker()
		got := e.read(id)
		is(e, "status", got.Status, lifecycle.Queued)
		is(e, "stalled", got.Stalled, true)
		return got.Attempts
	}
	is(e, "the first time, not begun", lose(false), 1)
	is(e, "the second time, not begun", lose(false), 1)
	is(e, "begun", lose(true), 2)
	is(e, "not begun", lose(false), 2)
	is(e, "begun", lose(true), 3)
}
