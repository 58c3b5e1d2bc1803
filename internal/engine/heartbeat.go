package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// heartbeatDeadline is until when this worker may assume that its tasks
// have not been taken over. It is measured on the monotonic clock from before the heartbeat
// was sent, so it passes no later than the silence that the database measures. It
// is safe for concurrent use.
type heartbeatDeadline struct {
	length time.Duration

	mu   sync.Mutex
	from time.Time
}

func newHeartbeatDeadline(length time.Duration, from time.Time) *heartbeatDeadline {
	return &heartbeatDeadline{length: length, from: from}
}

// Renew records a heartbeat that was sent at a time and has succeeded.
func (d *heartbeatDeadline) Renew(sent time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if sent.After(d.from) {
		d.from = sent
	}
}

// Age returns how long ago the last heartbeat was sent.
func (d *heartbeatDeadline) Age() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Since(d.from)
}

// left returns the time until the deadline.
func (d *heartbeatDeadline) left() time.Duration { return d.length - d.Age() }

// heartbeat renews the worker's heartbeat. It runs on one goroutine, and outlives
// the sessions: others must not take their tasks over while they drain.
type heartbeat struct {
	store    store.Runtime
	process  string
	every    time.Duration
	call     time.Duration // timeout of one call
	now      chan struct{} // renews it at once
	deadline *heartbeatDeadline
	pool     *pool
	events   *observe.Observer
}

// run renews the heartbeat until ctx ends (nil), the database has declared the
// worker dead, or the deadline passes.
func (h *heartbeat) run(ctx context.Context) error {
	next := time.NewTimer(h.every)
	defer next.Stop()
	for {
		end := time.NewTimer(h.deadline.left())
		select {
		case <-ctx.Done():
			end.Stop()
			return nil
		case <-end.C:
			if h.deadline.left() > 0 { // renewed meanwhile, by a commit
				continue
			}
			return errors.New("the heartbeat could not be renewed in time")
		case <-next.C:
			end.Stop()
		case <-h.now:
			end.Stop()
		}
		sent := time.Now()
		cctx, cancel := context.WithTimeout(ctx, max(min(h.deadline.left(), h.call), 0))
		err := h.store.Heartbeat(cctx, h.process, h.pool.IsDraining())
		cancel()
		switch {
		case err == nil:
			h.deadline.Renew(sent)
			next.Reset(h.every)
		case errors.Is(err, store.ErrDead):
			return err
		case ctx.Err() != nil:
			return nil
		default:
			h.events.Report(taskevent.HeartbeatFailed{Worker: h.process, DeadlineIn: h.deadline.left(), Err: err})
			next.Reset(min(h.every/4, 500*time.Millisecond))
		}
	}
}
