package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"taskkit.dev/internal/store"
)

// lease is how long this worker may trust that its tasks are its own. It is
// measured on the monotonic clock from before the renewal was sent, so it ends
// no later than the database's own count of the silence.
type lease struct {
	length time.Duration

	mu   sync.Mutex
	from time.Time
}

func newLease(length time.Duration, from time.Time) *lease { return &lease{length: length, from: from} }

// renew notes a renewal that was sent at a time and has succeeded.
func (l *lease) renew(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sent.After(l.from) {
		l.from = sent
	}
}

// age returns how long ago the lease was renewed.
func (l *lease) age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.from)
}

// left returns how much of the lease is left.
func (l *lease) left() time.Duration { return l.length - l.age() }

// beat renews the heartbeat until ctx ends (nil), the database says that the
// process is dead, or the lease runs out.
func (i *incarnation) beat(ctx context.Context) error {
	next := time.NewTimer(i.config.Heartbeat)
	defer next.Stop()
	for {
		end := time.NewTimer(i.lease.left())
		select {
		case <-ctx.Done():
			end.Stop()
			return nil
		case <-end.C:
			if i.lease.left() > 0 { // renewed meanwhile, by a commit
				continue
			}
			return errors.New("the heartbeat could not be renewed in time")
		case <-next.C:
			end.Stop()
		}
		sent := time.Now()
		cctx, cancel := context.WithTimeout(ctx, max(min(i.lease.left(), i.config.Call), 0))
		err := i.store.Beat(cctx, i.process, int(i.busy.Load()), i.isDraining())
		cancel()
		switch {
		case err == nil:
			i.lease.renew(sent)
			next.Reset(i.config.Heartbeat)
		case errors.Is(err, store.ErrDead):
			return err
		case ctx.Err() != nil:
			return nil
		default:
			i.log.Warn("heartbeat failed", "lease_left", i.lease.left(), "error", err)
			next.Reset(min(i.config.Heartbeat/4, time.Second))
		}
	}
}

func (i *incarnation) isDraining() bool {
	select {
	case <-i.draining:
		return true
	default:
		return false
	}
}

// reap looks for dead processes and abandoned tasks. Every worker does, at its
// own jittered times; the statements are guarded, so two at once do no harm.
func (i *incarnation) reap(ctx context.Context) {
	every := i.config.reapEvery()
	t := time.NewTimer(rand.N(every))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		cctx, cancel := context.WithTimeout(ctx, i.config.Call)
		r, err := i.store.Reap(cctx)
		cancel()
		switch {
		case err != nil && ctx.Err() == nil:
			i.log.Warn("reaper failed", "error", err)
		case err == nil && len(r.Dead)+len(r.Released)+len(r.Settled) > 0:
			i.log.Warn("reaper found work", "dead", r.Dead, "released", len(r.Released), "settled", len(r.Settled))
			i.wake.hint()
		}
		t.Reset(every - every/8 + rand.N(every/4))
	}
}
