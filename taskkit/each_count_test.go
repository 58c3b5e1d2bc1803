package taskkit_test

import (
	"context"
	"fmt"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

// The cost of bad items in a batch of 500 grows with the logarithm of their distance. Each
// call of the function has one statement of a savepoint beside it on PostgreSQL, where a
// statement is a round trip, and at most two on SQLite. The lengths of the parts repeat, so
// that statements that are made from them are prepared once.
func TestEachStatements(t *testing.T) {
	t.Parallel()
	const n = 500
	for _, bad := range []int{0, 1, 2, 5, 10, 50, n} {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				makeRows(t, db)
				handle, statements := testdb.Recorded(t, db)
				spec := rowSpec{Items: n}
				for i := range bad {
					spec.Bad = append(spec.Bad, i*n/bad+n/bad/3)
				}
				var calls atomic.Int64
				var mu sync.Mutex
				lengths := make(map[int]bool)
				recorded := *db
				recorded.DB = handle
				task := ranRows(t, &recorded, eachRow(func(ctx context.Context, b *rowBatch, items []int) error {
					calls.Add(1)
					mu.Lock()
					lengths[len(items)] = true
					mu.Unlock()
					return insertRows(ctx, b, items)
				}), spec)
				checkRows(t, db, task, spec, "item_failed", "positive")
				savepoints := 0
				for _, s := range statements.Take() {
					if strings.Contains(s, "SAVEPOINT") {
						savepoints++
					}
				}
				t.Logf("%d bad: %d calls, %d statements of savepoints, parts of %d lengths", bad, calls.Load(), savepoints, len(lengths))
				most := 1
				if bad > 0 {
					most = min(1+bad*(bits.Len(uint(n/bad))+3), n+n/16)
				}
				if int(calls.Load()) > most {
					t.Errorf("%d calls, want at most %d", calls.Load(), most)
				}
				if most := bits.Len(n) + 4; len(lengths) > most {
					t.Errorf("parts of %d lengths, want at most %d", len(lengths), most)
				}
				each := 1
				if db.Short() == "sqlite" {
					each = 2
				}
				if savepoints > each*int(calls.Load())+2 {
					t.Errorf("%d statements of savepoints for %d calls, want at most %d a call and 2", savepoints, calls.Load(), each)
				}
			})
		})
	}
}
