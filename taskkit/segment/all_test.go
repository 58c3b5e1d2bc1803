package segment_test

import (
	"testing"

	"taskkit.dev/taskkit/segment"
)

// The segment of all rows has a condition that all meet, on each database and for predicates.
func TestAll(t *testing.T) {
	t.Parallel()
	all := segment.All()
	for _, database := range []string{"postgres", "sqlite3"} {
		if text, args, err := all.SQL(database, "n", 1); err != nil || text != "1 = 1" || len(args) != 0 {
			t.Errorf("%s: %q, %v, %v", database, text, args, err)
		}
	}
	if got, err := (segment.Predicates{}).Find(all); err != nil || got != all {
		t.Errorf("as a predicate: %v, %v", got, err)
	}
	if all.IsZero() || !all.HasNull() || all.String() != "all values and NULL" {
		t.Errorf("it is %s", all)
	}
}
