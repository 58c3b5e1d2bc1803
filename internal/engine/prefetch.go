package engine

import (
	"sync"
	"time"
)

const (
	// prefetchMax bounds how many tasks a worker claims beyond its free slots. It is prefetchTime of work at 80,000 tasks
	// a second, more than a worker on two cores ends: with a lower bound the slots have no work while a claim is
	// under way. See ADR 28.
	prefetchMax = 4000
	// prefetchTime is how much work may wait in the buffer while claims are fast, by the average
	// duration of the last sessions. Long tasks thus leave nothing there that
	// another worker could run.
	prefetchTime = 50 * time.Millisecond
	// prefetchClaims: as much work may wait as this many claims take, if that is more. A claim passes over what others claim
	// meanwhile, so that small claims cost more for each task where many workers share the processors. See ADR 28.
	prefetchClaims = 4
	// prefetchTimeMax bounds the work that waits while claims are slow.
	prefetchTimeMax = 300 * time.Millisecond
)

// sessionAverage is a moving average of how long a session keeps its slot. It is
// safe for concurrent use.
type sessionAverage struct {
	mu  sync.Mutex
	avg time.Duration // 0: no session has ended yet
}

func (a *sessionAverage) record(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.avg == 0 {
		a.avg = max(d, 1)
		return
	}
	a.avg = max(a.avg+(d-a.avg)/8, 1)
}

// prefetch returns how many tasks to claim beyond the free slots, for this much work.
func (a *sessionAverage) prefetch(slots int, work time.Duration) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.avg == 0 {
		return 0
	}
	return min(int(int64(slots)*int64(work)/int64(a.avg)), prefetchMax)
}

// prefetchFor returns how much work may wait in the buffer when a claim takes so long.
func prefetchFor(claim time.Duration) time.Duration {
	return min(max(prefetchTime, prefetchClaims*claim), prefetchTimeMax)
}

// room returns how many tasks may be claimed now: enough for the free slots and
// the buffer, and none while the buffer is still more than half full. The average
// covers finished sessions only, so it is ignored when no slot has taken a task
// within four times prefetchTime.
func (c *claimer) room() int {
	free, prefetch := c.pool.free(), 0
	if free > 0 || c.pool.sinceTaken() < 4*prefetchTime {
		prefetch = c.pool.average.prefetch(c.config.Slots, prefetchFor(c.took))
	}
	waiting := len(c.pool.buffer) + int(c.pool.waiting.Load())
	if waiting > prefetch/2 {
		return 0
	}
	return free + prefetch - waiting
}
