package engine

import "time"

// limitSpread bounds how far Limit may grow beyond what the kind asked for.
const limitSpread = 10

// limit steers how many items a batch takes on towards a duration. A task that
// came back from crashes begins small, so that the item that kills workers is
// soon alone.
type limit struct {
	now, most int
	target    time.Duration
	fixed     bool
}

func newLimit(base, attempts int, c Config) limit {
	l := limit{now: base, most: base * limitSpread, target: c.BatchTarget, fixed: c.FixedLimit}
	if attempts > 1 && !l.fixed {
		l.now = max(base>>min(attempts-1, 30), 1)
	}
	return l
}

// saw adjusts the limit after a batch of dealt items that took d.
func (l *limit) saw(dealt int64, d time.Duration) {
	switch {
	case l.fixed:
	case d > 2*l.target:
		l.now = max(l.now/2, 1)
	case d < l.target/2 && dealt >= int64(l.now):
		l.now = min(l.now*2, l.most)
	}
}
