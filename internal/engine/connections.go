package engine

import (
	"context"
	"slices"
	"sync"
	"time"
)

// connections counts the connections that a worker uses at once, apart from the listener's: one, and one more for each session
// that runs. Whatever the worker does beside its sessions thus shares one connection, and those that its sessions do not use at
// the moment.
//
// A call for which there is none waits for its turn, but not longer than the patience: then it takes one more. So a heartbeat, a
// claim or a checkpoint never waits for a long statement, such as one that removes the rows of a large task, and no call can wait
// for one that waits for it. It is safe for concurrent use.
type connections struct {
	patience time.Duration

	mu         sync.Mutex
	most, used int
	waiting    []chan struct{} // the calls that wait, the first first; a channel is closed when its call may begin
}

func newConnections(patience time.Duration) *connections {
	return &connections{patience: patience, most: 1}
}

// take waits for a connection. When ctx ends it returns at once, and the call that follows fails.
func (c *connections) take(ctx context.Context) {
	c.mu.Lock()
	if c.used < c.most {
		c.used++
		c.mu.Unlock()
		return
	}
	turn := make(chan struct{})
	c.waiting = append(c.waiting, turn)
	c.mu.Unlock()
	patience := time.NewTimer(c.patience)
	defer patience.Stop()
	select {
	case <-turn:
		return
	case <-patience.C:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.waiting, turn); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
		c.used++
	}
}

// give ends the use of a connection.
func (c *connections) give() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used--
	c.next()
}

// sessions counts sessions that begin to run, or with a negative number end. A nil receiver counts none.
func (c *connections) sessions(n int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most += n
	c.next()
}

// next lets calls begin for which there is a connection. The lock is held.
func (c *connections) next() {
	for c.used < c.most && len(c.waiting) > 0 {
		c.used++
		close(c.waiting[0])
		c.waiting = c.waiting[1:]
	}
}
