package simulation

import (
	"testing"
	"time"

	"taskkit.dev/internal/testkit/memstore"
)

// The clock of seed 43692 jumped back within a session, so that the first start that it wrote is before its claim. It
// counts from what it had read of the clock, which is after both.
func TestExpiresByTheTimeLimit(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return time.UnixMilli(1_000_000 + int64(ms)) }
	limit := &Times{TimeLimit: 3337 * time.Millisecond}
	for name, c := range map[string]struct {
		due     int // in milliseconds after the claim
		started bool
		want    bool
	}{
		"of the session that has started it":                      {3550, true, true},
		"of a later session, which knows the start":               {3024, false, true},
		"of a later session, which has counted from its own":      {3550, false, false},
		"of the session that has started it, and too late for it": {6600, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := at(-315)
			before := &memstore.Task{}
			before.FirstStarted = &first
			change := &memstore.Change{At: at(200), Before: before}
			if got := limit.expires(at(c.due), at(-60_000), at(0), c.started, change, 3*time.Second); got != c.want {
				t.Errorf("expires %d ms after the claim: %v, want %v", c.due, got, c.want)
			}
		})
	}
}
