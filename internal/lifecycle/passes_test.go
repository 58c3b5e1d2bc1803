package lifecycle_test

import (
	"testing"

	"taskkit.dev/internal/lifecycle"
)

// A task that defers nothing has its position alone, and the number grows with
// everything that follows.
func TestPassesAreOneNumberThatGrows(t *testing.T) {
	t.Parallel()
	last := int64(-1)
	for _, p := range []lifecycle.Passes{
		{},
		{Position: 1},
		{Position: 10_000_000},
		{Deferred: true, Position: 3},
		{Deferred: true, Position: 10_000_000},
		{Pass: 1},
		{Pass: 1, Position: 7},
		{Pass: 1, Deferred: true, Position: 7},
		{Pass: 2},
		{Pass: 99, Deferred: true, Position: 1},
	} {
		taken := p.Taken()
		if got := lifecycle.PassesOf(taken); got != p {
			t.Errorf("%+v comes back as %+v", p, got)
		}
		if taken <= last {
			t.Errorf("%+v is %d, not more than %d before it", p, taken, last)
		}
		last = taken
	}
	if got := (lifecycle.Passes{Position: 12}).Taken(); got != 12 {
		t.Errorf("position 12 without a deferred item is stored as %d", got)
	}
}
