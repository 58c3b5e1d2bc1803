package taskkit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// Buckets are submitted in windows of 64, each when half of the one before has ended, and nothing waits for a poll.
func TestMID35Allocation(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "allocated_rows", 150)
		k, proceed := rowsKind("allocated_rows"), make(chan struct{})
		var allowed sync.Map // buckets
		c := quick(t, db)
		c.PollListening = time.Hour // SQLite has no notifications of submissions
		c.Slots = 80                // for all buckets of a window, and for the task
		id := submitted(t, db, k, rowsSpec{Rows: 150, Buckets: 150})
		started(t, db, registered(k, &rowsExecutor{table: "allocated_rows", before: func(ctx context.Context, b *rowsBatch) error {
			if _, more := allowed.Load(b.Task); more {
				return nil // another batch of the bucket, or another try
			}
			select {
			case <-proceed:
				allowed.Store(b.Task, true)
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}}), c)
		counted := func() *taskkit.ChildCounts {
			counts, err := clientOf(db).CountChildren(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return counts
		}
		// end lets n buckets end.
		end := func(n int) {
			before := counted().Completed
			for range n {
				select {
				case proceed <- struct{}{}:
				case <-time.After(testdb.Patience(t)):
					t.Fatal("no bucket is executed")
				}
			}
			until(t, fmt.Sprintf("%d more buckets have ended", n), func() bool { return counted().Completed == before+int64(n) })
		}
		window := func(open, all int64) {
			until(t, fmt.Sprintf("%d buckets are submitted", all), func() bool {
				n := counted()
				if n.Open > 64 {
					t.Fatalf("%d buckets are open", n.Open)
				}
				return n.Open == open && n.Open+n.Completed == all
			})
		}
		window(64, 64)
		end(31)
		window(33, 64)
		end(1)
		window(64, 96)
		end(32)
		window(64, 128)
		end(32)
		window(54, 150) // the rest
		end(54)
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Children.Completed != 150 {
			t.Errorf("the task ended in %s (%s) with %+v", task.Status, task.StatusDetail, task.Children)
		}
	})
}
