package taskkit_test

import (
	"context"
	"fmt"
	"math/big"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
)

// The items of a task with buckets are counted before its submission, when it starts, with each bucket, or not at all. The total is
// complete or unknown; it never counts only the buckets that exist so far.
func TestMID50CountingModes(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "counted_rows", 100)
		for n, mode := range []struct {
			name         string
			opts         []taskkit.SubmitOption
			start, parts bool // Segments sets the total; each bucket sets its own
			during, end  int64
		}{
			{name: "before", opts: []taskkit.SubmitOption{taskkit.WithTotal(99)}, during: 99, end: 99},
			{name: "at the start", start: true, during: 99, end: 99},
			{name: "with each bucket", parts: true, during: -1, end: 100},
			{name: "not", during: -1, end: -1},
		} {
			t.Run(mode.name, func(t *testing.T) {
				k := rowsKind(fmt.Sprint("counted_", n))
				held := make(chan struct{})
				x := &rowsExecutor{
					table: "counted_rows",
					plan: func(b *rowsBatch) (*segment.Plan, error) {
						if mode.start {
							b.Total(99)
						}
						return segment.Numeric{To: big.NewInt(100), Count: 10}.Plan()
					},
					before: func(ctx context.Context, b *rowsBatch) error {
						if mode.parts {
							b.Total(10)
						}
						if b.State.Rows > 0 {
							select {
							case <-held:
							case <-ctx.Done():
							}
						}
						return nil
					},
				}
				stop := started(t, db, registered(k, x), quick(t, db))
				id := submitted(t, db, k, rowsSpec{Rows: 100}, append(mode.opts, taskkit.WithMaxParallel(2))...)
				until(t, "two buckets are executed", func() bool { return mustTask(t, db, id).Progress.Done > 10 })
				if got := mustTask(t, db, id).Progress.Total; got != mode.during {
					t.Errorf("the total is %d, want %d", got, mode.during)
				}
				close(held)
				if p := ended(t, db, id).Progress; p.Total != mode.end || p.Done != 100 {
					t.Errorf("ended with %+v, want the total %d", p, mode.end)
				}
				stop()
			})
		}
	})
}
