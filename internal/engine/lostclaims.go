package engine

import (
	"context"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit/taskevent"
)

// lostClaims finds tasks that the database assigned to this worker in a claim whose
// response was lost. No session runs them, and no other worker would release them
// while this worker lives.
//
// A claim is taken for lost when the task is claimed and not started in the
// database at two checks in a row, under the same fence, and does not wait here
// for a slot. A mistake does no harm: what a session writes after its task was
// released is refused.
type lostClaims struct {
	seldom, often time.Duration // between checks; often while a claim is uncertain

	next      time.Time           // of the next check
	uncertain time.Time           // until when a claim may still arrive at the database
	seen      map[uuid.UUID]int64 // the fences that the last check saw
}

func newLostClaims(c Config) *lostClaims {
	return &lostClaims{seldom: c.DeadAfter, often: c.reapEvery(), next: time.Now().Add(c.DeadAfter)}
}

// responseLost records a claim without a response: the next check is at once, and
// checks are frequent for a while.
func (l *lostClaims) responseLost() {
	l.uncertain = time.Now().Add(l.seldom)
	l.next = time.Now()
}

// checkLostClaims checks when it is time, and returns when the next check is due.
// No claim is under way meanwhile, since it runs on the claimer's goroutine.
func (c *claimer) checkLostClaims(ctx context.Context) time.Duration {
	l := c.lost
	if wait := time.Until(l.next); wait > 0 {
		return wait
	}
	cctx, cancel := context.WithTimeout(ctx, c.config.Call)
	defer cancel()
	found, err := c.store.Unstarted(cctx, c.claim.Process)
	if err != nil && ctx.Err() == nil {
		c.events.Report(taskevent.CallFailed{Worker: c.events.Worker, Call: taskevent.CallCheckClaims, Try: 1, Err: err})
	}
	seen := make(map[uuid.UUID]int64)
	for id, p := range found {
		switch fence, again := l.seen[id]; {
		case c.pool.isBuffered(id):
		case again && fence == p.Fence:
			task := c.events.Task(id, "", p.Fence, p.Attempts)
			c.events.Report(taskevent.ClaimLost{TaskRef: task})
			c.releaseUnstarted(task, p.Lease, "the response to its claim was lost")
		default:
			seen[id] = p.Fence
		}
	}
	l.seen = seen
	wait := l.seldom
	if err != nil || len(seen) > 0 || time.Now().Before(l.uncertain) {
		wait = l.often
	}
	l.next = time.Now().Add(wait)
	return wait
}
