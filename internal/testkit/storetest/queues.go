package storetest

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// pauseQueue pauses a queue or resumes it.
func (e *env) pauseQueue(queue string, paused bool, actor uuid.UUID, reason string) {
	e.Helper()
	e.ok(e.s.PauseQueue(e.ctx(), store.QueueChange{Queue: queue, Paused: paused, Actor: actor, Reason: reason}))
}

// waiting reports whether something waits for these queues.
func (e *env) waiting(queues ...string) bool {
	e.Helper()
	w, err := e.s.Waiting(e.ctx(), claimOf(1, func(c *store.Claim) { c.Queues = queues }))
	e.ok(err)
	return w
}

// queuePaused: nothing is claimed from a paused queue, not even a stalled task, until it is
// resumed; other queues go on. Tasks that are to end are still claimed, and running ones
// are not touched.
func queuePaused(e *env) {
	both := []string{"default", "other"}
	e.registerWorker(func(p *store.Process) { p.Queues = both })
	ofBoth := func(c *store.Claim) { c.Queues = both }
	running := e.claimedTask()
	stalled := e.one()
	yes := true
	e.edit(stalled, TaskColumns{Stalled: &yes})
	fresh := e.one()
	other := e.one(func(t *store.NewTask) { t.Queue = "other" })
	e.one(func(t *store.NewTask) { t.Delay = time.Hour })
	e.pauseQueue("default", true, uuid.Max, "upgrade")
	is(e, "waiting in the paused queue", e.waiting("default"), false)
	is(e, "waiting in both", e.waiting(both...), true)
	found, err := e.s.Claim(e.ctx(), claimOf(10, ofBoth))
	e.ok(err)
	is(e, "claimed", len(found.Tasks), 1)
	is(e, "task", found.Tasks[0].ID, other)
	is(e, "paused", found.Paused, true)
	is(e, "next", found.Next, -1)
	is(e, "in flight", e.read(running.ID).Status, lifecycle.Scheduling)
	if a := e.apply(store.Write{Lease: running.Lease, To: lifecycle.Executing, Attempts: 1}); !a.OK {
		e.Fatal("a running task of a paused queue could not go on")
	}
	// One that is to end, and that a worker must see.
	e.apply(store.Write{Lease: running.Lease, To: lifecycle.Queued, Begun: true, Attempts: 0, Reason: "yields"})
	_, err = e.request(running.ID, lifecycle.ActStop)
	e.ok(err)
	is(e, "claimed", len(e.claim(10, ofBoth)), 0)
	requested := e.claim(10, func(c *store.Claim) { c.Requested = true })
	is(e, "claimed to end", len(requested), 1)
	is(e, "task to end", requested[0].ID, running.ID)

	e.pauseQueue("default", false, uuid.Max, "done")
	is(e, "waiting in the resumed queue", e.waiting("default"), true)
	found, err = e.s.Claim(e.ctx(), claimOf(10, ofBoth))
	e.ok(err)
	is(e, "claimed after resume", len(found.Tasks), 2)
	is(e, "the first", found.Tasks[0].ID, stalled)
	is(e, "the second", found.Tasks[1].ID, fresh)
	is(e, "paused", found.Paused, false)
	if found.Next < 59*time.Minute {
		e.Fatalf("next in %v, want an hour", found.Next)
	}
}

// queuePauses: the row names who paused and resumed a queue last. A queue that is as it is to be
// stays so.
func queuePauses(e *env) {
	ann, bob := uuid.New(), uuid.New()
	pauses := func() []store.QueuePause {
		e.Helper()
		ps, err := e.s.PausedQueues(e.ctx())
		e.ok(err)
		return ps
	}
	e.pauseQueue("default", false, ann, "never paused")
	is(e, "rows", len(pauses()), 0)
	e.pauseQueue("default", true, ann, "first")
	e.pauseQueue("default", true, bob, "second")
	e.pauseQueue("b", true, uuid.Nil, "")
	ps := pauses()
	is(e, "rows", len(ps), 2)
	b, d := ps[0], ps[1]
	is(e, "names", [2]string{b.Queue, d.Queue}, [2]string{"b", "default"})
	is(e, "by nobody", [2]any{b.PausedBy, b.PausedReason}, [2]any{uuid.Nil, ""})
	is(e, "paused", [3]any{d.Paused, d.PausedBy, d.PausedReason}, [3]any{true, ann, "first"})
	if d.PausedDate.IsZero() || d.SincePaused < 0 || d.SincePaused > time.Hour || d.ResumedDate != nil {
		e.Fatalf("paused at %v, %v ago, resumed at %v", d.PausedDate, d.SincePaused, d.ResumedDate)
	}
	e.pauseQueue("default", false, bob, "over")
	e.pauseQueue("default", false, ann, "again")
	d = pauses()[1]
	is(e, "resumed", [4]any{d.Paused, d.PausedBy, d.ResumedBy, d.ResumedReason}, [4]any{false, ann, bob, "over"})
	if d.ResumedDate == nil {
		e.Fatal("no date of the resume")
	}
}

// queueCounts: waiting, due and running tasks of each queue, and since when the oldest is due.
func queueCounts(e *env) {
	e.registerWorker()
	count := func() []store.QueueCounts {
		e.Helper()
		cs, err := e.ops().QueueCounts(e.ctx(), 10)
		e.ok(err)
		return cs
	}
	is(e, "of no task", len(count()), 0)
	e.claimedTask()
	ids := e.insert(task(), task(), task(func(t *store.NewTask) { t.Delay = time.Hour }), task(), task(func(t *store.NewTask) { t.Queue = "other" }))
	ago := -90 * time.Second
	e.edit(ids[1], TaskColumns{Due: &ago})
	_, err := e.request(ids[3], lifecycle.ActPause)
	e.ok(err)
	cs := count()
	is(e, "queues", len(cs), 2)
	is(e, "default", [4]any{cs[0].Queue, cs[0].Waiting, cs[0].Due, cs[0].Running}, [4]any{"default", int64(3), int64(2), int64(1)})
	is(e, "other", [4]any{cs[1].Queue, cs[1].Waiting, cs[1].Due, cs[1].Running}, [4]any{"other", int64(1), int64(1), int64(0)})
	if w := cs[0].Wait; w < 89*time.Second || w > time.Hour || !cs[0].Oldest.Equal(e.read(ids[1]).NotBefore) {
		e.Fatalf("the oldest has waited for %v, since %v", w, cs[0].Oldest)
	}
	is(e, "all are counted", [2]bool{cs[0].MoreWaiting, cs[0].MoreDue}, [2]bool{})
	// Two of each kind, revision and rank at most: of the first lane three wait, of which two are due.
	e.insert(task(func(t *store.NewTask) { t.Priority = 1 }), task(func(t *store.NewTask) { t.Priority, t.Delay = 1, time.Hour }),
		task(func(t *store.NewTask) { t.Kind, t.Priority = "other", 3 }), task(func(t *store.NewTask) { t.Revision = 2 }))
	for read, want := range map[int][4]any{
		1: {int64(4), true, int64(4), true},
		2: {int64(6), true, int64(5), false},
		3: {int64(7), false, int64(5), false},
		4: {int64(7), false, int64(5), false},
	} {
		cs, err := e.ops().QueueCounts(e.ctx(), read)
		e.ok(err)
		is(e, fmt.Sprintf("at most %d of a lane", read), [4]any{cs[0].Waiting, cs[0].MoreWaiting, cs[0].Due, cs[0].MoreDue}, want)
		is(e, "the oldest", cs[0].Oldest.Equal(e.read(ids[1]).NotBefore), true)
	}
}
