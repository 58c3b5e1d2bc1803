package storetest

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// see records the unknown kinds, and returns those that are to be reported.
func (e *env) see() (report string) {
	e.Helper()
	kinds, _, err := e.s.SeeUnknownKinds(e.ctx())
	e.ok(err)
	for _, k := range kinds {
		report += fmt.Sprintf("%s %d %s %d, ", k.Kind, k.Revision, k.Queue, k.Tasks)
	}
	return report
}

// unknown returns how many kinds are recorded as unknown.
func (e *env) unknown() int {
	e.Helper()
	kinds, err := e.s.UnknownKinds(e.ctx())
	e.ok(err)
	return len(kinds)
}

// unknownKinds: a kind and a revision that no live process of a served queue knows are reported once,
// and forgotten when a process registers them, in safe mode or not.
func unknownKinds(e *env) {
	fax := func(t *store.NewTask) { t.Kind = "fax" }
	e.one(fax)
	is(e, "without a worker", e.see(), "")
	e.registerWorker()
	e.one(fax)
	e.one(func(t *store.NewTask) { t.Revision = 2 })
	e.one() // it is known
	e.one(fax, func(t *store.NewTask) { t.Queue = "elsewhere" })
	e.one(fax, func(t *store.NewTask) { t.Delay = time.Hour })
	paused := e.one(func(t *store.NewTask) { t.Kind = "paused" })
	_, err := e.request(paused, lifecycle.ActPause)
	e.ok(err)
	report := e.see()
	if report != "fax 1 default 2, demo 2 default 1, " && report != "demo 2 default 1, fax 1 default 2, " {
		e.Fatalf("reported %q", report)
	}
	is(e, "reported again", e.see(), "")
	is(e, "recorded", e.unknown(), 2)
	e.registerWorker(func(p *store.Process) { p.ID, p.SafeMode, p.Kinds = "test-2-a", true, map[string][]int{"fax": {1}} })
	is(e, "recorded when a worker knows one", e.unknown(), 1)
	e.registerWorker(func(p *store.Process) {
		p.ID, p.Kinds, p.Queues = "test-3-a", map[string][]int{kind: {2}}, []string{"elsewhere"}
	})
	is(e, "recorded when a worker of another queue knows the other", e.unknown(), 1)
	e.pauseQueue("default", true, uuid.Nil, "")
	is(e, "in a paused queue, and in one that is served by now", e.see(), "fax 1 elsewhere 1, ")
}

// unknownKindsEnd: only tasks whose kind is still unknown end, in ERROR and with a new fence.
func unknownKindsEnd(e *env) {
	e.registerWorker()
	lost := e.one(func(t *store.NewTask) { t.Kind = "fax" })
	known := e.one()
	late := e.one(func(t *store.NewTask) { t.Kind, t.Delay = "fax", time.Hour })
	end := func(after time.Duration) []uuid.UUID {
		e.Helper()
		ids, err := e.s.EndUnknownKinds(e.ctx(), process, after, 10)
		e.ok(err)
		return ids
	}
	is(e, "ended before it was seen", len(end(time.Millisecond)), 0)
	e.see()
	is(e, "ended too early", len(end(time.Hour)), 0)
	// A worker knows it for a while.
	e.registerWorker(func(p *store.Process) { p.ID, p.Kinds = "test-2-a", map[string][]int{"fax": {1}} })
	is(e, "recorded", e.unknown(), 0)
	e.ok(e.s.Deregister(e.ctx(), "test-2-a"))
	e.see()
	e.pauseQueue("default", true, uuid.Nil, "")
	is(e, "ended in a paused queue", len(end(time.Millisecond)), 0)
	e.pauseQueue("default", false, uuid.Nil, "")
	var ended []uuid.UUID
	for until := time.Now().Add(time.Minute); len(ended) == 0 && time.Now().Before(until); {
		ended = end(time.Millisecond)
	}
	is(e, "ended", len(ended), 1)
	is(e, "task", ended[0], lost)
	got := e.read(lost)
	is(e, "row", [6]any{got.Status, got.StatusDetail, got.Fence, got.Process, got.Stopped != nil, got.WaitingReason},
		[6]any{lifecycle.Error, store.UnknownKindDesc, int64(1), "", true, ""})
	is(e, "known", e.read(known).Status, lifecycle.Queued)
	is(e, "not yet due", e.read(late).Status, lifecycle.Queued)
	groups, err := e.ops().DeadGroups(e.ctx(), store.Filter{}, 0)
	e.ok(err)
	is(e, "code", groups.Groups[0].Code, "unknown_kind")
	_, err = e.request(lost, lifecycle.ActRetry)
	e.ok(err)
}

// unknownKindsKnown: a task ends only if its kind is unknown at that moment: here a worker knows it
// whose registration did not remove the sighting.
func unknownKindsKnown(e *env) {
	e.registerWorker()
	e.registerWorker(func(p *store.Process) { p.ID, p.Kinds = "test-2-a", map[string][]int{"fax": {1}} })
	e.setEnded("test-2-a", 0)
	e.one(func(t *store.NewTask) { t.Kind = "fax" })
	e.see()
	is(e, "recorded", e.unknown(), 1)
	e.ok(e.door.EditProcess(e.ctx(), "test-2-a", ProcessColumns{Alive: true}))
	for until := time.Now().Add(50 * time.Millisecond); time.Now().Before(until); {
		ids, err := e.s.EndUnknownKinds(e.ctx(), process, time.Millisecond, 10)
		e.ok(err)
		is(e, "ended", len(ids), 0)
	}
}
