package taskkit_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// hold returns a function that is called by a task of a worker, and waits until the test lets it go on.
func hold(g *gauge, worker string, proceed <-chan struct{}) func(ctx context.Context, id taskkit.ID, queue string) error {
	return func(ctx context.Context, id taskkit.ID, queue string) error {
		for _, key := range []string{worker + " " + queue, queue} {
			defer g.enter(key, id)()
		}
		select {
		case <-proceed:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// A worker executes no more tasks of a queue than it has slots for it, beside a limit of all workers, and its other slots are free for others.
func TestMID54SlotsOfAQueue(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		g, proceed := newGauge(), make(chan struct{})
		k := newKind[countSpec, countState]("queue_slots", 1)
		for worker, slots := range map[string]int{"a": 1, "b": 2} {
			held := hold(g, worker, proceed)
			c := quick(t, db)
			c.SystemID, c.Queues, c.QueueSlots = worker, []string{"default", "slow"}, map[string]int{"slow": slots}
			started(t, db, registered(k, &funcs[countSpec, countState]{execute: func(ctx context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
				if b.Spec.Items == 0 {
					return taskkit.Done, nil
				}
				return taskkit.Done, held(ctx, b.Task, "slow")
			}}), c)
		}
		var slow []taskkit.ID
		for range 12 {
			slow = append(slow, submitted(t, db, k, countSpec{Items: 1}, taskkit.WithQueue("slow"), taskkit.WithLimit("slow", 3)))
		}
		until(t, "three tasks of the queue execute", func() bool { return g.most("slow") == 3 })
		// The other slots of the workers are free.
		for range 20 {
			if task := ended(t, db, submitted(t, db, k, countSpec{})); task.Status != taskkit.StatusCompleted {
				t.Fatalf("a task of another queue ended in %s: %s", task.Status, task.StatusDetail)
			}
		}
		close(proceed)
		for _, id := range slow {
			if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
				t.Errorf("a task of the queue ended in %s: %s", task.Status, task.StatusDetail)
			}
		}
		if a, b, all := g.most("a slow"), g.most("b slow"), g.most("slow"); a != 1 || b != 2 || all != 3 {
			t.Errorf("the workers executed %d and %d tasks of the queue at once, and %d together, want 1, 2 and 3", a, b, all)
		}
	})
}

// The slots of its queue bound how many buckets of a task a worker executes at once: another number on each worker, and none on one that does
// not serve the queue.
func TestMID28BucketsOfAWorker(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "slots_rows", 60)
		g, proceed := newGauge(), make(chan struct{})
		k := rowsKind("slots_rows")
		for worker, slots := range map[string]int{"a": 1, "b": 3, "c": 0} {
			held := hold(g, worker, proceed)
			c := quick(t, db)
			c.SystemID = worker
			if slots > 0 {
				c.Queues, c.QueueSlots = []string{"default", "big"}, map[string]int{"big": slots}
			}
			started(t, db, registered(k, &rowsExecutor{table: "slots_rows", before: func(ctx context.Context, b *rowsBatch) error {
				return held(ctx, b.Task, "big")
			}}), c)
		}
		id := submitted(t, db, k, rowsSpec{Rows: 60, Buckets: 20}, taskkit.WithQueue("big"))
		until(t, "four buckets are executed", func() bool { return g.most("big") == 4 })
		close(proceed)
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Children.Completed != 20 {
			t.Errorf("the task ended in %s (%s) with %+v", task.Status, task.StatusDetail, task.Children)
		}
		if a, b, c, all := g.most("a big"), g.most("b big"), g.most("c big"), g.most("big"); a != 1 || b != 3 || c != 0 || all != 4 {
			t.Errorf("the workers executed %d, %d and %d buckets at once, and %d together, want 1, 3, 0 and 4", a, b, c, all)
		}
	})
}

// Slots of a queue that a worker does not serve, and less than one, are refused.
func TestQueueSlotsAreChecked(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, checkQueueSlots)
}

func checkQueueSlots(t *testing.T, db *testdb.DB) {
	t.Helper()
	for name, slots := range map[string]map[string]int{"is not a queue of this worker": {"other": 1}, "0 slots for queue default": {"default": 0}} {
		_, err := taskkit.NewWorker(t.Context(), db.DB, registered(countKind, counting("w")), taskkit.Config{Schema: schemaOf(db), QueueSlots: slots})
		var option *taskkit.OptionError
		if !errors.As(err, &option) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "Config.QueueSlots") {
			t.Errorf("%v: %v", slots, err)
		}
	}
}
