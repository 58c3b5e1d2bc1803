package engine

import (
	"context"
	"time"

	"taskkit.dev/internal/engine/session"
	"taskkit.dev/taskkit/taskevent"
)

const (
	// requestedEvery is how often a worker claims tasks apart that were asked
	// to stop or to be deleted, at most.
	requestedEvery = 100 * time.Millisecond
	// bufferedMax is how long a claimed task may wait for a slot before another
	// worker may have it. The buffer holds at most [prefetchTimeMax] of work by the average
	// of finished sessions, and those that follow may take any time.
	bufferedMax = time.Second
)

// saturated does what needs no slot while all are taken, and returns when to come
// back.
func (c *claimer) saturated(ctx context.Context) time.Duration {
	wait := c.endRequested(ctx)
	if len(c.pool.buffer) > 0 {
		wait = min(wait, c.releaseBuffered())
	}
	return wait
}

// endRequested claims waiting tasks with a request to stop or to be deleted, unless it has
// just done so, and returns when to do it again. A claim for the slots does not take them while
// there is no free slot, nor from a paused queue.
func (c *claimer) endRequested(ctx context.Context) time.Duration {
	if age := time.Since(c.requested); age < requestedEvery {
		return requestedEvery - age
	}
	c.requested = time.Now()
	c.claimRequested(ctx)
	return c.pollInterval()
}

// claimRequested claims waiting tasks with a request to stop or to be deleted,
// and ends them beside the slots.
func (c *claimer) claimRequested(ctx context.Context) {
	claim := c.claim
	claim.Requested, claim.Limit = true, c.pool.freeEndings()
	if most := c.config.ClaimMax; most > 0 {
		claim.Limit = min(claim.Limit, most)
	}
	if c.outage.lasts() {
		return
	}
	if claim.Limit <= 0 {
		return // one that ends wakes the claimer
	}
	cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.config.Call)
	defer cancel()
	found, err := c.store.Claim(cctx, claim)
	if err != nil {
		c.lost.responseLost()
		c.events.Report(taskevent.ClaimFailed{Worker: c.events.Worker, Try: 1, Err: err})
		return
	}
	for _, t := range found.Tasks {
		c.reportClaimed(t)
		c.pool.endBesideSlots(t)
	}
}

// releaseBuffered returns tasks to the queue, at their old place, that have waited
// for a slot for too long, and returns when that may be the case next.
func (c *claimer) releaseBuffered() time.Duration {
	if idle := c.pool.stalled(); idle < bufferedMax {
		return bufferedMax - idle
	}
	for {
		select {
		case t, open := <-c.pool.buffer:
			if open {
				c.releaseUnstarted(c.events.Task(t.ID, t.Kind, t.Fence, t.Attempts), t.Lease, session.ReasonNoSlot)
				continue
			}
		default:
		}
		return c.pollInterval()
	}
}
