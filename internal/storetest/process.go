package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// deadNeverRevives: a process declared dead stays so.
func deadNeverRevives(b *bed) {
	b.enrol(func(p *store.Process) { p.DeadAfter = 5 * time.Second })
	b.ok(b.s.Beat(b.ctx(), process, 3, true))
	r, err := b.s.Reap(b.ctx())
	b.ok(err)
	is(b, "dead", len(r.Dead), 0)
	b.exec("UPDATE taskkit_task_process SET last_heartbeat_date = " + b.at(-4))
	r, err = b.s.Reap(b.ctx())
	b.ok(err)
	is(b, "dead when silent for less", len(r.Dead), 0)
	b.exec("UPDATE taskkit_task_process SET last_heartbeat_date = " + b.at(-6))
	r, err = b.s.Reap(b.ctx())
	b.ok(err)
	is(b, "dead", fmt.Sprint(r.Dead), fmt.Sprint([]string{process}))
	if err := b.s.Beat(b.ctx(), process, 0, false); !errors.Is(err, store.ErrDead) {
		b.Fatalf("a beat of the dead: %v", err)
	}
	b.enrol() // twice is no error and no revival
	if err := b.s.Beat(b.ctx(), process, 0, false); !errors.Is(err, store.ErrDead) {
		b.Fatalf("a beat of the dead: %v", err)
	}
	b.ok(b.s.Leave(b.ctx(), process))
	ps, err := b.s.Processes(b.ctx(), time.Hour)
	b.ok(err)
	is(b, "alive", ps[0].Alive(), false)
	if err := b.s.Beat(b.ctx(), "nobody", 0, false); !errors.Is(err, store.ErrDead) {
		b.Fatalf("a beat of nobody: %v", err)
	}
}

// leaveReleases: what a process holds goes back, with no attempt spent.
func leaveReleases(b *bed) {
	b.enrol()
	b.enrol(func(p *store.Process) { p.ID = "test-1-b" })
	scheduling, executing, ended := b.bring(workflow.Scheduling), b.bring(workflow.Executing), b.bring(workflow.Completed)
	other := b.one()
	is(b, "of the other", b.claim(1, func(c *store.Claim) { c.Process = "test-1-b" })[0].ID, other)
	b.ok(b.s.Leave(b.ctx(), process))
	for _, id := range []uuid.UUID{scheduling, executing} {
		got := b.read(id)
		is(b, "status, attempts, stalled", fmt.Sprint(got.Status, got.Attempts, got.Stalled, got.Process), fmt.Sprint(workflow.Queued, 0, false, ""))
	}
	is(b, "ended", b.read(ended).Status, workflow.Completed)
	is(b, "of the other", b.read(other).Status, workflow.Scheduling)
	if err := b.s.Beat(b.ctx(), process, 0, false); !errors.Is(err, store.ErrDead) {
		b.Fatalf("a beat after leaving: %v", err)
	}
}

// reapIsTotal: no row is in flight without a live holder and stays so, whatever
// became of its process: silent, left, or no row at all.
func reapIsTotal(b *bed) {
	b.enrol()
	mine := b.bring(workflow.Executing)
	lost := make(map[string]uuid.UUID)
	for _, p := range []string{"silent", "left", "unknown"} {
		b.enrol(func(e *store.Process) { e.ID, e.DeadAfter = p, 5*time.Second })
		lost[p] = b.one()
		c := b.claim(1, func(c *store.Claim) { c.Process = p })
		is(b, "claimed", c[0].ID, lost[p])
		b.apply(store.Write{Hold: c[0].Hold, To: workflow.Executing, Attempts: 1})
	}
	b.exec("UPDATE taskkit_task_process SET last_heartbeat_date = " + b.at(-60) + " WHERE id = 'silent'")
	b.exec("UPDATE taskkit_task_process SET ended_date = " + b.at(0) + " WHERE id = 'left'")
	b.exec("DELETE FROM taskkit_task_process WHERE id = 'unknown'")
	r, err := b.s.Reap(b.ctx())
	b.ok(err)
	is(b, "dead", fmt.Sprint(r.Dead), "[silent]")
	is(b, "released", len(r.Released), 3)
	for p, id := range lost {
		got := b.read(id)
		is(b, p, fmt.Sprint(got.Status, got.Stalled, got.Attempts, got.Process, got.Wait <= 0), fmt.Sprint(workflow.Queued, true, 1, "", true))
	}
	is(b, "mine", b.read(mine).Status, workflow.Executing)
	got := b.claim(3)
	is(b, "stalled", got[0].Stalled && got[1].Stalled && got[2].Stalled, true)
	is(b, "attempts", got[0].Attempts, 2)
	is(b, "fence", got[0].Fence, 2)
	r, err = b.s.Reap(b.ctx())
	b.ok(err)
	is(b, "released again", len(r.Released)+len(r.Dead)+len(r.Settled), 0)
}

// reapGoesOn: however many tasks a dead process leaves, all are released at once.
func reapGoesOn(b *bed) {
	const orphans = 1100
	b.enrol()
	tasks := make([]store.NewTask, orphans)
	for i := range tasks {
		tasks[i] = task()
	}
	b.insert(tasks...)
	is(b, "claimed", len(b.claim(orphans)), orphans)
	b.exec("UPDATE taskkit_task_process SET ended_date = " + b.at(0))
	r, err := b.s.Reap(b.ctx())
	b.ok(err)
	is(b, "released", len(r.Released), orphans)
}

// reapSettles: requests that nobody else will see to.
func reapSettles(b *bed) {
	b.enrol(func(p *store.Process) {
		p.Kinds = map[string][]int{kind: {1}, "old": {1}}
		p.Queues = []string{"default", "gone"}
	})
	back := func(kind, queue string) uuid.UUID { // claimed once, waiting again
		id := b.one(func(t *store.NewTask) { t.Kind, t.Queue = kind, queue })
		c := b.claim(1, func(c *store.Claim) { c.Kinds, c.Queues = map[string][]int{kind: {1}}, []string{queue} })
		is(b, "claimed", c[0].ID, id)
		b.apply(store.Write{Hold: c[0].Hold, To: workflow.Queued, Delay: time.Hour})
		return id
	}
	stopped, deleted := back("old", "default"), back("old", "default")
	queueGone := back(kind, "gone")
	known, knownDeleted := back(kind, "default"), back(kind, "default")
	ended := b.bring(workflow.Failure)
	b.exec("UPDATE taskkit_queued_task SET control = 'DELETE' WHERE id = $1", ended.String())
	for id, a := range map[uuid.UUID]store.Action{
		stopped: store.ActStop, deleted: store.ActDelete, queueGone: store.ActStop,
		known: store.ActStop, knownDeleted: store.ActDelete,
	} {
		_, err := b.request(id, a)
		b.ok(err)
		is(b, "waits for a worker", b.read(id).Status, workflow.Queued)
	}
	// The next release knows the kind no more, and nobody serves the queue.
	b.ok(b.s.Leave(b.ctx(), process))
	b.enrol(func(p *store.Process) { p.ID = "test-2-a" })
	r, err := b.s.Reap(b.ctx())
	b.ok(err)
	is(b, "settled", len(r.Settled), 4)
	for _, id := range []uuid.UUID{stopped, queueGone} {
		got := b.read(id)
		is(b, "stopped", fmt.Sprint(got.Status, got.Control, got.Desc != ""), fmt.Sprint(workflow.Completed, workflow.Stop, true))
	}
	b.gone(deleted)
	b.gone(ended)
	is(b, "known", b.read(known).Status, workflow.Queued)
	is(b, "known", b.read(knownDeleted).Status, workflow.Queued)
}

// processes: who works, the living first.
func processes(b *bed) {
	b.enrol(func(p *store.Process) { p.ID = "left" })
	b.ok(b.s.Leave(b.ctx(), "left"))
	b.enrol(func(p *store.Process) {
		p.Kinds, p.Queues, p.Slots, p.DeadAfter = map[string][]int{kind: {1, 2}, "x": {3}}, []string{"a", "b"}, 7, 1500*time.Millisecond
	})
	b.ok(b.s.Beat(b.ctx(), process, 4, true))
	ps, err := b.s.Processes(b.ctx(), time.Hour)
	b.ok(err)
	is(b, "processes", len(ps), 2)
	p := ps[0]
	is(b, "process", fmt.Sprint(p.ID, p.Version, p.Kinds, p.Queues, p.Slots, p.Busy, p.Draining, p.DeadAfter, p.Ended == nil),
		fmt.Sprint(process, "test", map[string][]int{kind: {1, 2}, "x": {3}}, []string{"a", "b"}, 7, 4, true, 1500*time.Millisecond, true))
	is(b, "left", ps[1].Ended != nil && ps[1].Why == "left" && !ps[1].Alive(), true)
	b.exec("UPDATE taskkit_task_process SET ended_date = " + b.at(-7200) + " WHERE id = 'left'")
	ps, err = b.s.Processes(b.ctx(), time.Hour)
	b.ok(err)
	is(b, "processes of the last hour", len(ps), 1)
	// One that ended weeks ago is forgotten when another starts.
	b.exec("UPDATE taskkit_task_process SET ended_date = " + b.at(-30*24*3600) + " WHERE id = 'left'")
	b.enrol(func(p *store.Process) { p.ID = "next" })
	ps, err = b.s.Processes(b.ctx(), 365*24*time.Hour)
	b.ok(err)
	is(b, "processes of the last year", len(ps), 2)
}
