package dbstore_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/storetest"
	"taskkit.dev/internal/testkit/testdb"
)

// presence records the calls of a listener, and of a worker that finds another one gone.
func (c *calls) presence(db *testdb.DB) {
	for _, id := range []string{"watcher", "gone"} {
		register(c.T, c.s, id)
	}
	if err := storetest.LoseLock(c.Context(), db, "gone", 1<<62); err != nil {
		c.Fatal(err)
	}
	c.record("watch", func() error {
		ctx, cancel := context.WithCancel(c.Context())
		defer cancel()
		w := storetest.Watcher(func(w *store.Watcher) { w.Present = func(error) { cancel() } })
		return want(c.s.Watch(ctx, "watcher", w), context.Canceled)
	})
	c.record("found_alive", func() error { _, err := c.s.FoundAlive(c.Context(), "watcher"); return err })
	c.record("read_health", func() error {
		_, err := c.s.ReadHealth(c.Context(), store.HealthQuery{Tables: []string{"people"}, Vacuum: true, Replicas: true, Locks: true, WAL: true, LockWait: time.Second})
		return err
	})
	c.record("probe", func() error { return c.s.Probe(c.Context(), true) })
	c.record("read_presence", func() error { _, err := c.s.ReadPresence(c.Context(), "another"); return err })
	c.reapedTask(db)
}

// reapedTask records a reaper that finds a task of a worker that has ended.
func (c *calls) reapedTask(db *testdb.DB) {
	c.ok(c.insertInto([]store.NewTask{newTask(func(t *store.NewTask) { t.Kind, t.Queue = "part", "lost" })}, false))
	r, err := c.s.Claim(c.Context(), store.Claim{Process: "gone", Queues: []string{"lost"}, Kinds: map[string][]int{"part": {1}}, Limit: 1})
	c.ok(err)
	if len(r.Tasks) != 1 {
		c.Fatalf("claimed %d tasks", len(r.Tasks))
	}
	_, err = db.ExecContext(c.Context(), "UPDATE taskkit_task_process SET ended_date = started_date WHERE id = 'gone'")
	c.ok(err)
	c.record("reap_lost", func() error { _, err := c.s.Reap(c.Context(), nil); return err })
}

// want returns an error unless the first is the second.
func want(got, want error) error {
	if errors.Is(got, want) {
		return nil
	}
	return fmt.Errorf("got %w, want %w", got, want)
}
