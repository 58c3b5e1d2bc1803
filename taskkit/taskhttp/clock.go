package taskhttp

import (
	"sync/atomic"
	"time"

	"taskkit.dev/taskkit"
)

// clockAge is how long what is known of the database's clock is used.
const clockAge = 10 * time.Second

// clock estimates the time of the database from the tasks that were read, so that a start needs
// no query for its createdAt. That may be milliseconds before the one that is stored.
type clock struct{ last atomic.Pointer[clockReading] }

// clockReading is the difference between the clocks of the database and of this process.
type clockReading struct {
	at     time.Time
	offset time.Duration
}

// set takes the time from a task that was just read. Of one that has ended, Elapsed says
// nothing about the time of the read.
func (c *clock) set(t *taskkit.Task) {
	if t.Ended() {
		return
	}
	now := time.Now()
	c.last.Store(&clockReading{at: now, offset: t.Created.Add(t.Elapsed).Sub(now)})
}

// now returns the time of the database; false: it was not read lately.
func (c *clock) now() (time.Time, bool) {
	r := c.last.Load()
	if r == nil || time.Since(r.at) > clockAge {
		return time.Time{}, false
	}
	return time.Now().Add(r.offset).Truncate(time.Millisecond), true
}
