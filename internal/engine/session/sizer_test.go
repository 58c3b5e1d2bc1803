package session

import (
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
)

// sized is one operation and the size that follows from it.
type sized struct {
	n    int
	took time.Duration
	want int
}

func TestSizer(t *testing.T) {
	t.Parallel()
	config := Config{BatchTarget: time.Second}
	fixed := config
	fixed.FixedLimit = true
	kind := &Kind{Limit: 100}
	for name, tc := range map[string]struct {
		sizer *Sizer
		first int
		steps []sized
	}{
		"statement": {NewStatementSizer(1000, dialect.SQLite), 100, []sized{
			{100, time.Millisecond, 200},       // fast and full: more
			{50, time.Millisecond, 200},        // fast because there was little to do
			{200, 70 * time.Millisecond, 200},  // near the target
			{200, time.Second, 10},             // slow: what fits the target
			{1, 10 * time.Second, 1},           // never less than one
			{1, time.Millisecond, 2},           // and up again
			{0, time.Hour, 2},                  // no task, no information
			{2, 0, 4}, {4, 0, 8}, {500, 0, 16}, // doubles, whatever the count
		}},
		"statement of few": {NewStatementSizer(3, dialect.SQLite), 3, []sized{{3, 0, 3}}},
		"statement on PostgreSQL": {NewStatementSizer(1000, dialect.Postgres), 100, []sized{
			{100, 240 * time.Millisecond, 200}, {200, 490 * time.Millisecond, 200}, {200, time.Second, 50},
		}},
		"batch": {newBatchSizer(kind, false, 1, config), 100, []sized{
			{100, 100 * time.Millisecond, 200}, // fast and full: more
			{150, 100 * time.Millisecond, 200}, // fast and not full: the end of a page
			{200, 700 * time.Millisecond, 200}, // near the target
			{200, 3 * time.Second, 100},        // slow: half
			{0, 3 * time.Second, 50},           // slow without items, too
			{50, 0, 100}, {100, 0, 200}, {200, 0, 400}, {400, 0, 800}, {800, 0, 1000}, {1000, 0, 1000},
		}},
		"second attempt": {newBatchSizer(kind, true, 2, config), 50, []sized{{50, 1500 * time.Millisecond, 100}}},
		"third attempt": {newBatchSizer(kind, false, 3, config), 1, []sized{
			{1, 1500 * time.Millisecond, 2}, {2, 0, 4}, // up again, if not slow
			{4, 3 * time.Second, 2}, {2, 700 * time.Millisecond, 2}, // until it was slow
		}},
		"quarantine": {newBatchSizer(&Kind{Limit: 6}, true, 3, config), 1, []sized{
			{1, 0, 1}, {0, 0, 1}, {1, 0, 1}, // alone, as many as the second attempt takes
			{1, 0, 2}, {2, 0, 4}, {4, 700 * time.Millisecond, 6}, {6, 700 * time.Millisecond, 6},
		}},
		"quarantine of one":       {newBatchSizer(&Kind{Limit: 1}, true, 3, config), 1, []sized{{1, 0, 1}, {1, 0, 2}}},
		"99th attempt":            {newBatchSizer(kind, true, 99, config), 1, nil},
		"no attempt":              {newBatchSizer(kind, false, 0, config), 100, nil},
		"bound of the kind":       {newBatchSizer(&Kind{Limit: 100, MaxBatch: 150}, false, 1, config), 100, []sized{{100, 0, 150}, {150, 0, 150}}},
		"bound below the default": {newBatchSizer(&Kind{Limit: 100, MaxBatch: 10}, true, 2, config), 5, []sized{{5, 0, 10}, {10, 0, 10}}},
		"fixed":                   {newBatchSizer(kind, true, 5, fixed), 100, []sized{{100, 0, 100}, {100, time.Hour, 100}}},
	} {
		if tc.sizer.size != tc.first {
			t.Errorf("%s: begins with %d, want %d", name, tc.sizer.size, tc.first)
		}
		for _, s := range tc.steps {
			if tc.sizer.Record(s.n, s.took); tc.sizer.size != s.want {
				t.Errorf("%s: %d after %d items in %v, want %d", name, tc.sizer.size, s.n, s.took, s.want)
			}
		}
	}
	s := &Sizer{size: 16}
	if got := []int{s.Limit(5), s.Limit(99)}; got[0] != 5 || got[1] != 16 {
		t.Errorf("limits of 5 and 99 at size 16 are %v", got)
	}
}
