package engine

import (
	"sync"
	"time"
)

// biteTarget is how long one statement over many tasks should take. On SQLite it
// keeps everybody else from writing, heartbeats among them; on PostgreSQL it
// keeps its row locks.
const biteTarget = 50 * time.Millisecond

// bite is how many tasks one statement takes: as many as can be done in about
// biteTarget, by the experience with the last ones.
type bite struct {
	mu        sync.Mutex
	now, most int
}

func newBite(most int) *bite { return &bite{now: min(100, most), most: most} }

// size returns how many to take, at most n.
func (b *bite) size(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return min(n, b.now)
}

// saw adjusts the size after a statement over n tasks that took d.
func (b *bite) saw(n int, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case n == 0:
	case d > 2*biteTarget:
		b.now = max(int(int64(n)*int64(biteTarget)/int64(d)), 1)
	case d < biteTarget && n >= b.now:
		b.now = min(b.now*2, b.most)
	}
}
