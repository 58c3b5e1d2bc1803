package storetest

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// expireTasks: what waits beyond its time fails, with a new fence, unless a request stands on it or a worker has it; what has
// been kept for its own time is removed, and only then.
func expireTasks(e *env) {
	e.registerWorker()
	past := time.Now().Add(-time.Minute)
	timed := func(set func(o *store.Options)) uuid.UUID {
		e.Helper()
		return e.one(func(t *store.NewTask) { t.Options, t.Delay = new(store.Options), time.Hour; set(t.Options) })
	}
	late := timed(func(o *store.Options) { o.LatestStart = past })
	over := timed(func(o *store.Options) { o.Deadline = past })
	paused := timed(func(o *store.Options) { o.Deadline = past })
	in := timed(func(o *store.Options) { o.LatestStart = time.Now().Add(time.Hour) })
	gone := timed(func(o *store.Options) { o.Keep = time.Nanosecond })
	kept := timed(func(o *store.Options) { o.Keep = day })
	forever := timed(func(o *store.Options) { o.Keep = store.KeepForever })
	_, err := e.request(paused, lifecycle.ActPause)
	e.ok(err)
	expire := func() store.Expired {
		e.Helper()
		x, err := e.s.ExpireTasks(e.ctx(), process, 10, 10)
		e.ok(err)
		return x
	}
	x := expire()
	is(e, "failed", len(x.Failed), 2)
	is(e, "failed both", slices.Contains(x.Failed, late) && slices.Contains(x.Failed, over), true)
	is(e, "removed before the end", len(x.Removed), 0)
	got := e.read(late)
	is(e, "row", [4]any{got.Status, got.Fence, got.Process, got.Stopped != nil}, [4]any{lifecycle.Failure, int64(1), "", true})
	is(e, "detail", got.StatusDetail[:len("started_too_late: ")], "started_too_late: ")
	for _, id := range []uuid.UUID{gone, kept, forever} {
		_, err := e.request(id, lifecycle.ActStop)
		e.ok(err)
	}
	is(e, "kinds", len(e.endedKinds()), 1) // of the failed ones, which have no time of their own
	is(e, "removed with its kind", len(e.removeEnded(ended(time.Nanosecond)).IDs), 2)
	var removed []uuid.UUID
	for until := time.Now().Add(time.Minute); len(removed) == 0 && time.Now().Before(until); {
		removed = expire().Removed
	}
	is(e, "removed", len(removed), 1)
	is(e, "the removed one", removed[0], gone)
	is(e, "requested", e.read(paused).Status, lifecycle.Queued)
	is(e, "in time", e.read(in).Status, lifecycle.Queued)
	for _, id := range []uuid.UUID{kept, forever} {
		is(e, "kept", e.read(id).Status, lifecycle.Completed)
	}
}
