package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// reaper declares workers dead that are silent or absent, and releases abandoned tasks. Every
// worker has one, each at times of its own: the statements are guarded, so two reapers
// at the same time do no harm. It is safe for concurrent use.
type reaper struct {
	store   store.Runtime
	every   time.Duration
	call    time.Duration // timeout of one call
	wakeups *wakeups
	events  *observe.Observer
}

// run reaps until ctx ends.
func (r *reaper) run(ctx context.Context) {
	t := time.NewTimer(rand.N(r.every))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		r.pass(ctx, nil)
		t.Reset(r.every - r.every/8 + rand.N(r.every/4))
	}
}

// pass reaps once. Absent are presence locks of processes that are gone.
func (r *reaper) pass(ctx context.Context, absent []int64) {
	cctx, cancel := context.WithTimeout(ctx, r.call)
	defer cancel()
	found, err := r.store.Reap(cctx, absent)
	switch {
	case err != nil && ctx.Err() == nil:
		r.events.Report(taskevent.CallFailed{Worker: r.events.Worker, Call: taskevent.CallReap, Try: 1, Err: err})
	case err == nil && len(found.Dead)+len(found.Released)+len(found.Ended) > 0:
		r.events.Report(taskevent.TasksTakenOver{Worker: r.events.Worker, Dead: found.Dead, Tasks: found.Released, Ended: found.Ended})
		r.wakeups.taskWaiting()
	case len(found.Woken)+len(found.Passed) > 0:
		r.wakeups.taskWaiting()
	}
}
