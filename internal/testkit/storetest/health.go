package storetest

import (
	"fmt"
	"time"

	"taskkit.dev/internal/store"
)

// health: a database at rest is well, on every store. What only one of them has is in its own tests.
func health(e *env) {
	r, err := e.s.ReadHealth(e.ctx(), store.HealthQuery{
		Tables: []string{"taskkit_queued_task"}, Vacuum: true, Replicas: true, Locks: true, WAL: true, LockWait: time.Minute,
	})
	e.ok(err)
	is(e, "what is not well", fmt.Sprint(r.Vacuums, r.Replicas, r.LockWaits, r.Missing, r.Unreadable), "[] [] [] [] map[]")
}
