package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

const (
	// aheadMax bounds how many tasks a worker claims beyond its free slots.
	aheadMax = 2000
	// aheadTime is how much work, by the pace of the last sessions, may wait
	// in the buffer. Long tasks thus leave nothing there for others to miss.
	aheadTime = 50 * time.Millisecond
	// eagerFirst and eagerLast are the first and the last of the quick looks
	// after a wake-up. Hints are coalesced where they are sent, so a hint
	// also stands for what was submitted just after it.
	eagerFirst = 4 * time.Millisecond
	eagerLast  = 500 * time.Millisecond
)

// pace is a moving average of how long a session keeps its slot.
type pace struct {
	mu  sync.Mutex
	avg time.Duration
}

func (p *pace) saw(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.avg == 0 {
		p.avg = max(d, 1)
		return
	}
	p.avg = max(p.avg+(d-p.avg)/8, 1)
}

// ahead returns how many tasks to claim beyond the free slots.
func (p *pace) ahead(slots int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.avg == 0 {
		return 0
	}
	return min(int(int64(slots)*int64(aheadTime)/int64(p.avg)), aheadMax)
}

// waker wakes the claim loop. A hint says that tasks may be waiting, a freed
// slot that there is room.
type waker struct {
	hints chan struct{}
	slots chan struct{}

	mu        sync.Mutex
	listening bool
}

func newWaker() *waker {
	return &waker{hints: make(chan struct{}, 1), slots: make(chan struct{}, 1)}
}

func (w *waker) hint() {
	select {
	case w.hints <- struct{}{}:
	default:
	}
}

func (w *waker) freed() {
	select {
	case w.slots <- struct{}{}:
	default:
	}
}

func (w *waker) listen(on bool) {
	w.mu.Lock()
	w.listening = on
	w.mu.Unlock()
	w.hint()
}

func (w *waker) isListening() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.listening
}

// claims tasks until ctx ends. A full pool is no error: it claims
// nothing until there is room (SSP-42, SSP-44).
func (i *incarnation) claims(ctx context.Context) {
	poll := time.NewTimer(0)
	defer poll.Stop()
	eager := time.Duration(0) // the next quick look; 0: none
	failures := 0
	// rest waits for d at most, and no longer than until the next look for strays.
	rest := func(d time.Duration) { poll.Reset(min(d, i.lookForStrays(ctx))) }
	for {
		hinted := false
		select {
		case <-ctx.Done():
			return
		case <-i.wake.hints:
			hinted = true
		case <-i.wake.slots:
			if !i.hungry {
				continue
			}
		case <-poll.C:
		}
		if hinted {
			eager = eagerFirst
		}
		room := i.bite.size(i.room())
		if room <= 0 {
			i.hungry = true // a freed slot will bring us back
			rest(i.crowded(ctx))
			continue
		}
		found, err := i.claimSome(ctx, room)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failures++
			i.log.Warn("claim failed", "try", failures, "error", err)
			i.strays.doubt()
			rest(min(time.Duration(failures)*200*time.Millisecond, 5*time.Second) + rand.N(50*time.Millisecond))
			continue
		}
		failures = 0
		full := len(found.Tasks) >= room
		i.hungry = full
		wait := i.pollEvery()
		if found.Next >= 0 {
			wait = min(wait, found.Next+time.Millisecond)
		}
		switch {
		case full:
			// There may be more: look again as soon as there is room, which
			// there may be already.
			if i.room() > 0 {
				wait = 0
			}
		case len(found.Tasks) > 0:
			eager = eagerFirst
			fallthrough
		default:
			if eager > 0 {
				wait = min(wait, eager)
				if eager *= 4; eager > eagerLast {
					eager = 0
				}
			}
		}
		rest(wait)
	}
}

// room returns how many tasks may be claimed now: enough for the free slots and
// the buffer, and none while the buffer is still more than half full. The pace is
// of what has ended; when no slot has become free for longer than it promised, it
// is not believed.
func (i *incarnation) room() int {
	free, ahead := i.config.Slots-int(i.busy.Load()), 0
	if free > 0 || i.crowd.sinceTaken() < 4*aheadTime {
		ahead = i.pace.ahead(i.config.Slots)
	}
	waiting := len(i.work)
	if waiting > ahead/2 {
		return 0
	}
	return free + ahead - waiting
}

// claimSome claims up to n tasks and puts them into the buffer, which has room
// for them.
func (i *incarnation) claimSome(ctx context.Context, n int) (store.Claims, error) {
	c := i.claim
	c.Limit = n
	cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), i.config.Call)
	defer cancel()
	began := time.Now()
	found, err := i.store.Claim(cctx, c)
	if err != nil {
		return store.Claims{}, err
	}
	i.bite.saw(len(found.Tasks), time.Since(began))
	for _, t := range found.Tasks {
		if t.Control != workflow.None && i.endBeside(t) {
			continue
		}
		i.strays.ours(t.ID, true)
		i.work <- t
	}
	return found, nil
}

// pollEvery returns how often to look without a hint.
func (i *incarnation) pollEvery() time.Duration {
	d := i.config.Poll
	if i.wake.isListening() {
		d = i.config.PollListening
	}
	return d + rand.N(d/10+1)
}

// watch keeps a watch on the database and falls back to polling without one.
func (i *incarnation) watch(ctx context.Context) {
	for n := 1; ctx.Err() == nil; n++ {
		err := i.store.Watch(ctx, func() { n = 0; i.wake.listen(true) }, i.wake.hint)
		i.wake.listen(false)
		if ctx.Err() != nil {
			return
		}
		again := min(time.Duration(n)*time.Second, 30*time.Second)
		if errors.Is(err, store.ErrNoWatch) {
			again = 5 * time.Minute
		}
		i.log.Info("not listening: polling", "every", i.config.Poll, "again_in", again, "reason", err)
		sleep(ctx, again)
	}
}
