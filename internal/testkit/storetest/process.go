package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// deadNeverRevives: a process declared dead stays so.
func deadNeverRevives(e *env) {
	e.registerWorker(func(p *store.Process) { p.DeadAfter = 10 * time.Minute })
	e.ok(e.s.Heartbeat(e.ctx(), process, true))
	r, err := e.s.Reap(e.ctx(), nil)
	e.ok(err)
	is(e, "dead", len(r.Dead), 0)
	e.setHeartbeat(process, -5*time.Minute)
	r, err = e.s.Reap(e.ctx(), nil)
	e.ok(err)
	is(e, "dead when silent for less", len(r.Dead), 0)
	e.setHeartbeat(process, -11*time.Minute)
	r, err = e.s.Reap(e.ctx(), nil)
	e.ok(err)
	is(e, "dead", fmt.Sprint(r.Dead), fmt.Sprint([]string{process}))
	if err := e.s.Heartbeat(e.ctx(), process, false); !errors.Is(err, store.ErrDead) {
		e.Fatalf("a beat of the dead: %v", err)
	}
	e.registerWorker() // twice is no error and no revival
	if err := e.s.Heartbeat(e.ctx(), process, false); !errors.Is(err, store.ErrDead) {
		e.Fatalf("a beat of the dead: %v", err)
	}
	e.ok(e.s.Deregister(e.ctx(), process))
	ps, err := e.s.Processes(e.ctx(), time.Hour)
	e.ok(err)
	is(e, "alive", ps[0].Alive(), false)
	if err := e.s.Heartbeat(e.ctx(), "nobody", false); !errors.Is(err, store.ErrDead) {
		e.Fatalf("a beat of nobody: %v", err)
	}
}

// leaveReleases: what a process holds goes back, with no attempt spent.
func leaveReleases(e *env) {
	e.registerWorker()
	e.registerWorker(func(p *store.Process) { p.ID = "test-1-b" })
	scheduling, executing, ended := e.bring(lifecycle.Scheduling), e.bring(lifecycle.Executing), e.bring(lifecycle.Completed)
	other := e.one()
	is(e, "of the other", e.claim(1, func(c *store.Claim) { c.Process = "test-1-b" })[0].ID, other)
	e.ok(e.s.Deregister(e.ctx(), process))
	for _, id := range []uuid.UUID{scheduling, executing} {
		got := e.read(id)
		is(e, "status, attempts, stalled", fmt.Sprint(got.Status, got.Attempts, got.Stalled, got.Process), fmt.Sprint(lifecycle.Queued, 0, false, ""))
	}
	is(e, "ended", e.read(ended).Status, lifecycle.Completed)
	is(e, "of the other", e.read(other).Status, lifecycle.Scheduling)
	if err := e.s.Heartbeat(e.ctx(), process, false); !errors.Is(err, store.ErrDead) {
		e.Fatalf("a beat after leaving: %v", err)
	}
}

// reapIsTotal: no row is in flight without a live holder and stays so, whatever
// became of its process: silent, left, or no row at all.
func reapIsTotal(e *env) {
	e.registerWorker()
	mine := e.bring(lifecycle.Executing)
	lost := make(map[string]uuid.UUID)
	for _, p := range []string{"silent", "left", "unknown"} {
		e.registerWorker(func(q *store.Process) { q.ID, q.DeadAfter = p, 10*time.Minute })
		lost[p] = e.one()
		c := e.claim(1, func(c *store.Claim) { c.Process = p })
		is(e, "claimed", c[0].ID, lost[p])
		e.apply(store.Write{Lease: c[0].Lease, To: lifecycle.Executing, Attempts: 1})
	}
	e.setHeartbeat("silent", -11*time.Minute)
	e.setEnded("left", 0)
	e.removeProcess("unknown")
	r, err := e.s.Reap(e.ctx(), nil)
	e.ok(err)
	is(e, "dead", fmt.Sprint(r.Dead), "[silent]")
	is(e, "released", len(r.Released), 3)
	for p, id := range lost {
		got := e.read(id)
		is(e, p, fmt.Sprint(got.Status, got.Stalled, got.Attempts, got.Process, got.Wait <= 0), fmt.Sprint(lifecycle.Queued, true, 1, "", true))
		e.lostEvent(id, p)
	}
	is(e, "mine", e.read(mine).Status, lifecycle.Executing)
	got := e.claim(3)
	is(e, "stalled", got[0].Stalled && got[1].Stalled && got[2].Stalled, true)
	is(e, "attempts", got[0].Attempts, 2)
	is(e, "fence", got[0].Fence, 2)
	r, err = e.s.Reap(e.ctx(), nil)
	e.ok(err)
	is(e, "released again", len(r.Released)+len(r.Dead)+len(r.Ended), 0)
}

// lostEvent checks that the loss of its worker is the only event of a task.
func (e *env) lostEvent(id uuid.UUID, process string) {
	e.Helper()
	events, err := e.s.Events(e.ctx(), id, 10)
	e.ok(err)
	if len(events) != 1 {
		e.Fatalf("%s: %d events, want the loss of the worker alone", process, len(events))
	}
	is(e, process, fmt.Sprint(events[0].Action, events[0].Worker, events[0].FromStatus, events[0].Actor), fmt.Sprint(lifecycle.ActLost, process, lifecycle.Executing, uuid.Nil))
	reason, silence, known := strings.Cut(events[0].Reason, ", ")
	is(e, "reason", reason, "after 0 items")
	is(e, "silence known", known, process != "unknown")
	is(e, "silence", strings.HasSuffix(silence, " s after its last heartbeat"), known)
}

// reapGoesOn: however many tasks a dead process leaves, all are released at once.
func reapGoesOn(e *env) {
	const orphans = 1100
	e.registerWorker()
	tasks := make([]store.NewTask, orphans)
	for i := range tasks {
		tasks[i] = task()
	}
	e.insert(tasks...)
	is(e, "claimed", len(e.claim(orphans)), orphans)
	e.setEnded(process, 0)
	r, err := e.s.Reap(e.ctx(), nil)
	e.ok(err)
	is(e, "released", len(r.Released), orphans)
}

// reapEnds: the reaper applies requests that no worker will apply.
func reapEnds(e *env) {
	e.registerWorker(func(p *store.Process) {
		p.Kinds = map[string][]int{kind: {1}, "old": {1}}
		p.Queues = []string{"default", "gone"}
	})
	back := func(kind, queue string) uuid.UUID { // claimed once, waiting again
		id := e.one(func(t *store.NewTask) { t.Kind, t.Queue = kind, queue })
		c := e.claim(1, func(c *store.Claim) { c.Kinds, c.Queues = map[string][]int{kind: {1}}, []string{queue} })
		is(e, "claimed", c[0].ID, id)
		e.apply(store.Write{Lease: c[0].Lease, To: lifecycle.Queued, Delay: time.Hour})
		return id
	}
	stopped, deleted := back("old", "default"), back("old", "default")
	queueGone := back(kind, "gone")
	known, knownDeleted := back(kind, "default"), back(kind, "default")
	ended := e.bring(lifecycle.Failure)
	e.setControl(ended, lifecycle.Delete)
	for id, a := range map[uuid.UUID]lifecycle.Action{
		stopped: lifecycle.ActStop, deleted: lifecycle.ActDelete, queueGone: lifecycle.ActStop,
		known: lifecycle.ActStop, knownDeleted: lifecycle.ActDelete,
	} {
		_, err := e.request(id, a)
		e.ok(err)
		is(e, "waits for a worker", e.read(id).Status, lifecycle.Queued)
	}
	// The next release lacks the kind, and no worker serves the queue. A worker in safe mode
	// that knows it does not count, since it would not end them.
	e.ok(e.s.Deregister(e.ctx(), process))
	e.registerWorker(func(p *store.Process) { p.ID, p.SafeMode = "test-1-safe", true })
	e.registerWorker(func(p *store.Process) { p.ID = "test-2-a" })
	r, err := e.s.Reap(e.ctx(), nil)
	e.ok(err)
	is(e, "ended", len(r.Ended), 4)
	for _, id := range []uuid.UUID{stopped, queueGone} {
		got := e.read(id)
		is(e, "stopped", fmt.Sprint(got.Status, got.Control, got.Partial, got.StatusDetail != ""), fmt.Sprint(lifecycle.Completed, lifecycle.None, true, true))
	}
	e.gone(deleted)
	e.gone(ended)
	is(e, "known", e.read(known).Status, lifecycle.Queued)
	is(e, "known", e.read(knownDeleted).Status, lifecycle.Queued)
}

// processes: who works, the living first.
func processes(e *env) {
	e.registerWorker(func(p *store.Process) { p.ID = "left" })
	e.ok(e.s.Deregister(e.ctx(), "left"))
	e.registerWorker(func(p *store.Process) {
		p.Kinds, p.Queues, p.Slots, p.DeadAfter, p.SafeMode = map[string][]int{kind: {1, 2}, "x": {3}}, []string{"a", "b"}, 7, 1500*time.Millisecond, true
	})
	e.ok(e.s.Heartbeat(e.ctx(), process, true))
	for range 2 {
		e.one(func(t *store.NewTask) { t.Queue = "a" })
	}
	claimed, err := e.s.Claim(e.ctx(), store.Claim{Process: process, Kinds: map[string][]int{kind: {1}}, Queues: []string{"a"}, Limit: 2})
	e.ok(err)
	is(e, "claimed", len(claimed.Tasks), 2)
	ps, err := e.s.Processes(e.ctx(), time.Hour)
	e.ok(err)
	is(e, "processes", len(ps), 2)
	p := ps[0]
	is(e, "process", fmt.Sprint(p.ID, p.Version, p.Kinds, p.Queues, p.Slots, p.Busy, p.Draining, p.DeadAfter, p.Ended == nil),
		fmt.Sprint(process, "test", map[string][]int{kind: {1, 2}, "x": {3}}, []string{"a", "b"}, 7, 2, true, 1500*time.Millisecond, true))
	is(e, "safe mode", [2]bool{p.SafeMode, ps[1].SafeMode}, [2]bool{true, false})
	is(e, "left", ps[1].Ended != nil && ps[1].EndReason == "left" && !ps[1].Alive(), true)
	e.setEnded("left", -2*time.Hour)
	ps, err = e.s.Processes(e.ctx(), time.Hour)
	e.ok(err)
	is(e, "processes of the last hour", len(ps), 1)
	// One that ended weeks ago is forgotten when another starts.
	e.setEnded("left", -30*24*time.Hour)
	e.registerWorker(func(p *store.Process) { p.ID = "next" })
	ps, err = e.s.Processes(e.ctx(), 365*24*time.Hour)
	e.ok(err)
	is(e, "processes of the last year", len(ps), 2)
}
