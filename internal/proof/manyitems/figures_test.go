package manyitems_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb"
)

// growth bounds by how much the memory of a process may be more with ten times as many
// items, in MB. The items alone would be more.
const growth = 24

// unorderedGrowth is the growth of a process that stores targets which do not ascend. It has
// the hashes of up to 1,000,000 targets in memory to find duplicates.
const unorderedGrowth = 128

// opener opens a database.
type opener = func(testing.TB, ...testdb.Option) *testdb.DB

// figures are what one run has measured.
type figures map[string]float64

func (f figures) time(what string, took time.Duration) { f[what+", s"] += took.Seconds() }

// call adds the figures of a client's call.
func (f figures) call(what string, a answer) {
	f.time(what, a.Took)
	f["peak of "+what+", MB"] = max(f["peak of "+what+", MB"], a.PeakMB)
}

// String has a line for each figure.
func (f figures) String() string {
	var lines strings.Builder
	for _, what := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&lines, "%12.1f %s\n", f[what], what)
	}
	return lines.String()
}

// rounded are the figures for a record.
func (f figures) rounded() map[string]any {
	out := make(map[string]any)
	for what, v := range f {
		out[what] = math.Round(10*v) / 10
	}
	return out
}

// onEach runs a test at both sizes on both databases, and records what it measures. The
// memory of no process may grow with the number of items, but for the hashes.
func onEach(t *testing.T, name string, run func(t *testing.T, open opener, n int64, full bool) figures) {
	t.Helper()
	both, long := sizes(t)
	for database, open := range map[string]opener{"postgres": testdb.Postgres, "sqlite": testdb.SQLite} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			measured, recorded := make(map[int64]figures), make(map[string]any)
			violations := 0.0
			for _, n := range both {
				t.Run(fmt.Sprint(n), func(t *testing.T) { measured[n] = run(t, open, n, n == both[1]) })
				if t.Failed() {
					return
				}
				violations += measured[n]["violations"]
				delete(measured[n], "violations")
				t.Logf("%d items:\n%s", n, measured[n])
				recorded[fmt.Sprint(n, " items")] = measured[n].rounded()
			}
			for what, more := range measured[both[1]] {
				bound := float64(growth)
				if strings.Contains(what, "retry-failed") {
					bound = unorderedGrowth
				}
				if less := measured[both[0]][what]; strings.HasPrefix(what, "peak") && more > less+bound {
					t.Errorf("%s is %.1f with %d items and %.1f with %d: it grows with them", what, less, both[0], more, both[1])
				}
			}
			if long {
				recorded["violations"] = violations
				prove.Record(t, name+"-"+database, recorded)
			}
		})
	}
}
