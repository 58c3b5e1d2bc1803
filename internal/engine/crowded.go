package engine

import (
	"context"
	"sync/atomic"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

const (
	// endingSlots is how many tasks that were asked to end may run beside the
	// slots, while these are all taken: nobody waits for a slot to stop.
	endingSlots = 4
	// endingEvery is how often a full worker looks for such tasks at most.
	endingEvery = 100 * time.Millisecond
	// keepMax is how long a claimed task may wait for a slot before another
	// worker may have it. The buffer holds [aheadTime] of work by the pace of
	// what has run, and what comes next may be slower by any factor.
	keepMax = time.Second
)

// crowd is what the claim loop does while there is no room.
type crowd struct {
	looked  time.Time    // for tasks that are to end; of the claim loop
	endings atomic.Int64 // running beside the slots
	taken   atomic.Int64 // when a slot last took a task from the buffer, as Unix nanoseconds
}

// sinceTaken returns how long ago a slot last took a task from the buffer.
func (c *crowd) sinceTaken() time.Duration { return time.Since(time.Unix(0, c.taken.Load())) }

// crowded does what does not wait for a slot, and returns when to come back.
func (i *incarnation) crowded(ctx context.Context) time.Duration {
	if age := time.Since(i.crowd.looked); age < endingEvery {
		return endingEvery - age
	}
	i.crowd.looked = time.Now()
	i.endRequested(ctx)
	wait := i.pollEvery()
	if len(i.work) > 0 {
		wait = min(wait, i.giveBack())
	}
	return wait
}

// endRequested takes waiting tasks that were asked to stop or to be deleted, and
// ends them beside the slots.
func (i *incarnation) endRequested(ctx context.Context) {
	c := i.claim
	c.Requested, c.Limit = true, endingSlots-int(i.crowd.endings.Load())
	if c.Limit <= 0 {
		return // one that ends looks again
	}
	cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), i.config.Call)
	defer cancel()
	found, err := i.store.Claim(cctx, c)
	if err != nil {
		i.strays.doubt()
		i.log.Warn("claim of tasks that are to end failed", "error", err)
		return
	}
	for _, t := range found.Tasks {
		i.endBeside(t)
	}
}

// endBeside ends a task beside the slots, and reports whether there is room for
// that. Only the claim loop calls it.
func (i *incarnation) endBeside(c store.Claimed) bool {
	if i.crowd.endings.Load() >= endingSlots {
		return false
	}
	i.crowd.endings.Add(1)
	i.sessions.Go(func() {
		defer func() {
			i.crowd.endings.Add(-1)
			i.wake.hint()
		}()
		i.session(c)
	})
	return true
}

// giveBack returns tasks to the queue, at their old place, that have waited for a
// slot for too long, and says when that may be the next time.
func (i *incarnation) giveBack() time.Duration {
	if idle := i.crowd.sinceTaken(); idle < keepMax {
		return keepMax - idle
	}
	for n := 0; ; n++ {
		select {
		case c, open := <-i.work:
			if open {
				i.release(c.Hold, c.Attempts, "its worker had no room after all")
				continue
			}
		default:
		}
		if n > 0 {
			i.log.Debug("gave back tasks that waited for a slot", "tasks", n)
		}
		return i.pollEvery()
	}
}

// release gives back a task that no session has begun, without spending an
// attempt. Whether it succeeds is of no consequence: strays finds it otherwise.
func (i *incarnation) release(h store.Hold, attempts int, reason string) {
	i.strays.ours(h.ID, false)
	i.flush.add(store.Write{Hold: h, To: workflow.Queued, Attempts: max(attempts-1, 0), Delay: -1, Reason: reason},
		func(store.Applied, error) {})
}
