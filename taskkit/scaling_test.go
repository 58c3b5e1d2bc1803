package taskkit_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// begun says where a worker has begun with buckets: the last row of the bucket that was done before.
type begun struct {
	mu    sync.Mutex
	after map[taskkit.ID]int
}

func (b *begun) note(id taskkit.ID, after int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.after[id]; !ok {
		b.after[id] = after
	}
}

// A worker that joins takes buckets of a task that runs. One that leaves gives its buckets back at once, and others finish them from
// where they are.
func TestMID38WorkersJoinAndLeave(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "scaled_rows", 240)
		k, g := rowsKind("scaled_rows"), newGauge()
		workers := map[string]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{})}
		first := map[string]*begun{"a": {after: map[taskkit.ID]int{}}, "b": {after: map[taskkit.ID]int{}}}
		join := func(name string) (stop func()) {
			held := hold(g, name, workers[name])
			c := quick(t, db)
			c.SystemID, c.Slots = name, 2
			return started(t, db, registered(k, &rowsExecutor{table: "scaled_rows", before: func(ctx context.Context, b *rowsBatch) error {
				first[name].note(b.Task, b.State.After)
				return held(ctx, b.Task, "rows")
			}}), c)
		}
		stop := join("a")
		id := submitted(t, db, k, rowsSpec{Rows: 240, Buckets: 8})
		until(t, "the first worker executes buckets", func() bool { return g.most("a rows") == 2 })
		join("b")
		until(t, "the second worker executes buckets", func() bool { return g.most("b rows") == 2 })

		left := make(chan struct{})
		go func() { defer close(left); stop() }()
		until(t, "the first worker drains", func() bool {
			ws, err := taskops.New(clientOf(db)).Workers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range ws {
				if strings.HasPrefix(w.ID, "a-") && w.Draining {
					return true
				}
			}
			return false
		})
		close(workers["a"]) // its batches end
		<-left
		for bucket := range first["a"].after {
			task, err := clientOf(db).Task(t.Context(), bucket)
			if err != nil {
				t.Fatal(err)
			}
			if task.Status != taskkit.StatusQueued || task.Attempts != 0 || task.Progress.Done != 10 || task.NotBefore.After(time.Now().Add(time.Minute)) {
				t.Errorf("bucket %s of the worker that left is %s with %d attempts and %+v", bucket, task.Status, task.Attempts, task.Progress)
			}
		}
		close(workers["b"])
		task := ended(t, db, id)
		got, err := taskkit.Fetch(t.Context(), clientOf(db), k, id)
		if want := fmt.Sprintf("240 rows, sum %d, 8 buckets", 240*241/2); err != nil || task.Status != taskkit.StatusCompleted || got != want {
			t.Errorf("the task ended in %s with %q (%v), want %q", task.Status, got, err, want)
		}
		for bucket := range first["a"].after {
			if after, ok := first["b"].after[bucket]; !ok || after == 0 {
				t.Errorf("the second worker began with bucket %s after row %d (%v)", bucket, after, ok)
			}
		}
	})
}
