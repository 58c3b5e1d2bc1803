package sqlite

import (
	"database/sql"
	"time"
)

// jamAfter is how long a pool may have no connection for those who wait until a store gives up its own. A burst of
// short transactions takes all of a pool for a moment.
const jamAfter = 500 * time.Millisecond

// jam notices that those who wait for a connection of a pool may wait for ever.
type jam struct {
	waits int64         // that had begun when the pool last had a connection to give
	ended time.Duration // of the waits that have ended: it grows with each
	since time.Time     // of the first wait that has not ended; zero: there is none
}

// seen reports whether for jamAfter all connections have been in use, and no wait for one has ended.
func (j *jam) seen(pool sql.DBStats, now time.Time) bool {
	free := pool.InUse < pool.MaxOpenConnections || pool.MaxOpenConnections == 0
	if free {
		j.waits = pool.WaitCount
	}
	if free || pool.WaitDuration != j.ended || pool.WaitCount == j.waits {
		j.ended, j.since = pool.WaitDuration, time.Time{}
		return false
	}
	if j.since.IsZero() {
		j.since = now
	}
	return now.Sub(j.since) >= jamAfter
}
