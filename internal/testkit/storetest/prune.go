package storetest

import (
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
)

// day is 24 hours.
const day = 24 * time.Hour

// pruneEvents: the oldest go first, in pages, and none goes that is too young.
func pruneEvents(e *env) {
	id, other := e.one(), uuid.New()
	for age := 10; age > 5; age-- {
		task := id
		if age > 8 {
			task = other // two tasks, of which one is gone
		}
		e.ok(e.door.AddEvent(e.ctx(), task, time.Duration(age)*day))
	}
	_, err := e.request(id, lifecycle.ActPause)
	e.ok(err)
	prune := func(olderThan time.Duration, limit, want int) {
		e.Helper()
		n, err := e.s.PruneEvents(e.ctx(), olderThan, limit)
		e.ok(err)
		is(e, "deleted", n, want)
	}
	left := func(task uuid.UUID, want int) {
		e.Helper()
		es, err := e.s.Events(e.ctx(), task, 10)
		e.ok(err)
		is(e, "events left", len(es), want)
	}
	prune(11*day, 10, 0)
	prune(time.Duration(1<<63-1), 10, 0)
	prune(day, 2, 2)
	left(other, 0)
	left(id, 4)
	prune(6*day+12*time.Hour, 10, 2)
	left(id, 2)
	prune(day, 1, 1)
	prune(day, 1, 0)
	es, err := e.s.Events(e.ctx(), id, 10)
	e.ok(err)
	is(e, "events left", len(es), 1)
	is(e, "reason of the event left", es[0].Reason, "because")
}

// attackEventPrune: no event can be deleted without a marker, nor after it was
// used, nor one that is younger than the marker.
func attackEventPrune(e *env) {
	id := e.one()
	for range 3 {
		e.ok(e.door.AddEvent(e.ctx(), id, 10*day))
	}
	e.ok(e.door.AddEvent(e.ctx(), id, time.Hour))
	refused := func() {
		e.Helper()
		if _, err := e.db.ExecContext(e.ctx(), "DELETE FROM taskkit_task_event"); err == nil {
			e.Fatal("a plain DELETE of events passed")
		}
	}
	refused()
	n, err := e.s.PruneEvents(e.ctx(), day, 2)
	e.ok(err)
	is(e, "deleted", n, 2)
	refused()
	is(e, "events", e.count(Events), 2)
	var markers int
	e.ok(e.db.QueryRowContext(e.ctx(), "SELECT count(*) FROM taskkit_event_prune").Scan(&markers))
	is(e, "markers", markers, 0)
	// A marker covers older events only.
	e.exec("INSERT INTO taskkit_event_prune (id, before_date) VALUES ($1, "+sqlBackdoor{e.db}.at(-day)+")", uuid.NewString())
	refused()
	is(e, "events", e.count(Events), 2)
}
