package storetest

import (
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// requestedFirst: a task that is to end goes before all new ones, however long
// they have been waiting.
func requestedFirst(b *bed) {
	b.enrol()
	asked := b.waitingAgain()
	for range 5 {
		b.one(func(t *store.NewTask) { t.Priority = 1 })
	}
	_, err := b.request(asked, store.ActStop)
	b.ok(err)
	got := b.claim(1)
	is(b, "claimed", len(got), 1)
	is(b, "task", got[0].ID, asked)
	is(b, "control", got[0].Control, workflow.Stop)
	// One that fails with the request standing comes back at once.
	b.apply(store.Write{Hold: got[0].Hold, To: workflow.Queued, Attempts: 1, Delay: time.Hour})
	got = b.claim(1)
	is(b, "claimed again", len(got), 1)
	is(b, "task", got[0].ID, asked)
}

// claimRequested: a claim of those that are to end takes no others.
func claimRequested(b *bed) {
	b.enrol()
	asked := []uuid.UUID{b.waitingAgain(), b.waitingAgain(), b.waitingAgain()}
	elsewhere, busy := b.waitingAgain(), b.bring(workflow.Executing)
	b.exec("UPDATE taskkit_queued_task SET queue = 'elsewhere' WHERE id = $1", elsewhere.String())
	for id, a := range map[uuid.UUID]store.Action{
		asked[0]: store.ActStop, asked[1]: store.ActDelete, asked[2]: store.ActPause, busy: store.ActStop,
	} {
		_, err := b.request(id, a)
		b.ok(err)
	}
	// No live process serves that queue, and a stop would end it at once.
	b.exec("UPDATE taskkit_queued_task SET control = 'STOP' WHERE id = $1", elsewhere.String())
	b.one()
	only := func(c *store.Claim) { c.Requested = true }
	waiting, err := b.s.Waiting(b.ctx(), asks(1, only))
	b.ok(err)
	is(b, "waiting", waiting, true)
	is(b, "claimed by who knows no such kind", len(b.claim(9, only, func(c *store.Claim) { c.Kinds = map[string][]int{"other": {1}} })), 0)
	got := b.claim(1, only)
	is(b, "claimed with a limit", len(got), 1)
	got = append(got, b.claim(9, only)...)
	is(b, "claimed", len(got), 2)
	is(b, "tasks", [2]uuid.UUID{got[0].ID, got[1].ID}, [2]uuid.UUID{asked[1], asked[0]})
	is(b, "controls", [2]workflow.Control{got[0].Control, got[1].Control}, [2]workflow.Control{workflow.Delete, workflow.Stop})
	is(b, "fence", got[0].Fence, 2)
	waiting, err = b.s.Waiting(b.ctx(), asks(1, only))
	b.ok(err)
	is(b, "waiting afterwards", waiting, false)
	is(b, "claimed of the rest", len(b.claim(9)), 1)
}

// waitingAgain makes a task that was claimed once and waits for an hour.
func (b *bed) waitingAgain() uuid.UUID {
	b.Helper()
	c := b.held()
	b.apply(store.Write{Hold: c.Hold, To: workflow.Queued, Delay: time.Hour})
	return c.ID
}

// unstarted: what a process has claimed and not begun can be read back, and goes
// back to its old place.
func unstarted(b *bed) {
	b.enrol()
	b.enrol(func(p *store.Process) { p.ID = "test-1-b" })
	first, second := b.one(), b.one()
	before := b.read(first)
	got := b.claim(2)
	is(b, "claimed", len(got), 2)
	b.one()
	b.claim(1, func(c *store.Claim) { c.Process = "test-1-b" })
	at, err := b.s.Unstarted(b.ctx(), process)
	b.ok(err)
	is(b, "unstarted", len(at), 2)
	is(b, "position", at[first].Hold, store.Hold{ID: first, Fence: 1})
	is(b, "attempts", at[second].Attempts, 1)
	b.apply(store.Write{Hold: at[second].Hold, To: workflow.Executing, Attempts: 1})
	at, err = b.s.Unstarted(b.ctx(), process)
	b.ok(err)
	is(b, "unstarted beside one that executes", len(at), 1)
	b.apply(store.Write{Hold: at[first].Hold, To: workflow.Queued, Delay: -1, Reason: "given back"})
	after := b.read(first)
	is(b, "its place", after.NotBefore.Equal(before.NotBefore), true)
	is(b, "attempts", after.Attempts, 0)
}

// lostUnstarted: a claim is counted, as its task may have killed its worker; but
// from the second on one that was not begun is innocent.
func lostUnstarted(b *bed) {
	b.enrol()
	id := b.one()
	lose := func(begun bool) int {
		b.Helper()
		c := b.claim(1)
		is(b, "claimed", len(c), 1)
		if begun {
			b.apply(store.Write{Hold: c[0].Hold, To: workflow.Executing, Attempts: c[0].Attempts})
		}
		b.exec("DELETE FROM taskkit_task_process WHERE id = '" + process + "'")
		_, err := b.s.Reap(b.ctx())
		b.ok(err)
		b.enrol()
		got := b.read(id)
		is(b, "status", got.Status, workflow.Queued)
		is(b, "stalled", got.Stalled, true)
		return got.Attempts
	}
	is(b, "the first time, not begun", lose(false), 1)
	is(b, "the second time, not begun", lose(false), 1)
	is(b, "begun", lose(true), 2)
	is(b, "not begun", lose(false), 2)
	is(b, "begun", lose(true), 3)
}
