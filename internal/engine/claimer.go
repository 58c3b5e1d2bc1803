package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

const (
	// fastPollFirst and fastPollLast are the first and the last interval of the
	// polls that follow a wake-up. Notifications are coalesced where they are
	// sent, so one also covers what was submitted just after it.
	fastPollFirst = 4 * time.Millisecond
	fastPollLast  = 500 * time.Millisecond
	// triedEvery: each such claim takes tasks that have failed before new ones.
	triedEvery = 8
)

// claimer claims tasks and puts them into the pool's buffer. It runs on one
// goroutine, which all of its methods belong to.
type claimer struct {
	store   store.Runtime
	config  Config
	claim   store.Claim // without its Limit
	pool    *pool
	flusher *flusher
	wakeups *wakeups
	outage  *outage
	events  *observe.Observer

	size        *session.Sizer // of one claim
	took        time.Duration  // by the last claim that found tasks
	moreWaiting bool           // the database may hold more tasks than there was room for
	lost        *lostClaims
	// requested is when the worker last claimed tasks with a request apart.
	requested time.Time
	claims    int // so far
	passed    lastPass
}

func newClaimer(s store.Runtime, c Config, claim store.Claim, p *pool, f *flusher, w *wakeups, u *outage, o *observe.Observer) *claimer {
	return &claimer{
		store: s, config: c, claim: claim, pool: p, flusher: f, wakeups: w, outage: u, events: o,
		size: session.NewStatementSizer(prefetchMax, s.Dialect()), lost: newLostClaims(c), passed: lastPass{began: time.Now()},
	}
}

// run claims until ctx ends. A full pool is no error: nothing is claimed until
// there is room (SSP-42, SSP-44).
func (c *claimer) run(ctx context.Context) {
	poll := time.NewTimer(0)
	defer poll.Stop()
	fastPoll := time.Duration(0) // the interval of the next fast poll; 0: none
	failures := 0
	// wait sets the next poll, and checks for lost claims when that is due.
	wait := func(d time.Duration) { poll.Reset(min(d, c.checkLostClaims(ctx))) }
	for {
		woken := false
		select {
		case <-ctx.Done():
			return
		case <-c.wakeups.tasks:
			woken = true
		case <-c.wakeups.returned:
		case <-c.wakeups.slots:
			if !c.moreWaiting {
				continue
			}
		case <-poll.C:
		}
		if woken {
			fastPoll = fastPollFirst
			c.pool.share.taskWaiting()
		}
		room := c.size.Limit(c.room())
		if most := c.config.ClaimMax; most > 0 {
			room = min(room, most)
		}
		room = c.outage.room(room)
		if room <= 0 {
			c.passed.mark()
			c.moreWaiting = true // a freed slot wakes the claimer
			wait(c.saturated(ctx))
			continue
		}
		found, queueFull, err := c.claimTasks(ctx, room)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failures++
			c.events.Report(taskevent.ClaimFailed{Worker: c.events.Worker, Try: failures, Err: err})
			c.lost.responseLost()
			wait(min(time.Duration(failures)*200*time.Millisecond, 5*time.Second) + rand.N(50*time.Millisecond))
			continue
		}
		failures = 0
		c.passed.mark()
		c.outage.claimed(len(found.Tasks))
		full := len(found.Tasks) >= room
		c.moreWaiting = full || queueFull
		next := c.pollInterval()
		if found.Next >= 0 && found.Next < next {
			next = found.Next + time.Millisecond
		}
		if found.Paused {
			next = min(next, c.endRequested(ctx))
		}
		switch {
		case full:
			// There may be more: claim again as soon as there is room, which there
			// may be already.
			if c.room() > 0 {
				next = 0
			}
		case len(found.Tasks) > 0:
			fastPoll = fastPollFirst
			fallthrough
		default:
			if fastPoll > 0 {
				next = min(next, fastPoll)
				if fastPoll *= 4; fastPoll > fastPollLast {
					fastPoll = 0
				}
			}
		}
		wait(next)
	}
}

// claimTasks claims up to n tasks and hands them to the pool, which has room for
// them. queueFull reports whether a queue has slots of its own, and none that is free.
func (c *claimer) claimTasks(ctx context.Context, n int) (found store.ClaimResult, queueFull bool, err error) {
	c.claims++
	if c.pool.queues != nil {
		return c.claimSplit(ctx, n)
	}
	claim := c.claim
	claim.Limit = n
	found, err = c.claimFrom(ctx, claim)
	return found, false, err
}

// claimFrom makes a claim and hands its tasks to the pool.
func (c *claimer) claimFrom(ctx context.Context, claim store.Claim) (store.ClaimResult, error) {
	claim.TriedFirst = c.claims%triedEvery == 0
	cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.config.Call)
	defer cancel()
	began := time.Now()
	found, err := c.store.Claim(cctx, claim)
	if err != nil {
		return store.ClaimResult{}, err
	}
	took := time.Since(began)
	observe.Measured(c.events, taskevent.ClaimDone{Worker: c.events.Worker, Tasks: len(found.Tasks), Duration: took})
	if !found.Searched {
		c.size.Record(len(found.Tasks), took)
	}
	if len(found.Tasks) > 0 {
		c.took = took
	}
	for _, t := range found.Tasks {
		c.reportClaimed(t)
		if t.Control != lifecycle.None && c.pool.endBesideSlots(t) {
			continue
		}
		c.pool.queues.enter(t)
		c.pool.add(t)
	}
	return found, nil
}

// pollInterval returns when to poll without a wake-up.
func (c *claimer) pollInterval() time.Duration {
	d := c.config.Poll
	if c.wakeups.listening.Load() {
		d = c.config.PollListening
	}
	return d + rand.N(d/10+1)
}

// releaseUnstarted gives back a task that no session has started, without
// spending an attempt. Nobody waits for the write: if it fails, the task is found
// as a lost claim.
func (c *claimer) releaseUnstarted(t taskevent.TaskRef, h store.Lease, reason string) {
	c.pool.removeFromBuffer(h.ID)
	c.pool.queues.exit(h)
	w := store.Write{Lease: h, To: lifecycle.Queued, Attempts: lifecycle.Unspent(t.Attempt), Delay: -1, Reason: reason}
	c.flusher.Add(&w, func(a store.Applied, err error) {
		if err == nil && a.OK {
			observe.Frequent(c.events, taskevent.TaskReleased{TaskRef: t, Reason: reason, Cause: session.ReleaseCause(reason)})
		}
	})
}

// reportClaimed reports a claimed task, before its session can begin.
func (c *claimer) reportClaimed(t store.ClaimedTask) {
	observe.Frequent(c.events, taskevent.TaskClaimed{
		TaskRef: c.events.Task(t.ID, t.Kind, t.Fence, t.Attempts), Queue: t.Queue, Submitted: t.Created, Waited: t.Waited, TakenOver: t.Stalled,
	})
}
