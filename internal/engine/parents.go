package engine

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// parents wakes parents whose wait is over. What may have ended a wait is committed before
// [parents.check] is called; one statement then checks all parents that have come together.
// A check that is lost with its worker is made by a reaper. run runs on one goroutine; check
// is safe for concurrent use.
type parents struct {
	store   Store
	call    time.Duration // timeout of one call
	wakeups *wakeups
	events  *observer

	mu     sync.Mutex
	ids    map[uuid.UUID]struct{}
	signal chan struct{}
}

func newParents(s Store, call time.Duration, w *wakeups, o *observer) *parents {
	return &parents{store: s, call: call, wakeups: w, events: o, ids: make(map[uuid.UUID]struct{}), signal: make(chan struct{}, 1)}
}

// check asks for the check of a parent.
func (p *parents) check(id uuid.UUID) {
	p.mu.Lock()
	p.ids[id] = struct{}{}
	p.mu.Unlock()
	wake(p.signal)
}

// take returns the parents to check.
func (p *parents) take() []uuid.UUID {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := make([]uuid.UUID, 0, len(p.ids))
	for id := range p.ids {
		ids = append(ids, id)
	}
	clear(p.ids)
	return ids
}

// run checks parents until ctx ends, and then once more, within the time of a call.
func (p *parents) run(ctx context.Context) {
	for try := 1; ; {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.call)
			defer cancel()
			_ = p.wake(last) // a reaper makes it otherwise
			return
		case <-p.signal:
		}
		err := p.wake(ctx)
		if err == nil || ctx.Err() != nil {
			try = 1
			continue
		}
		p.events.report(CallFailed{Worker: p.events.worker, Call: CallWakeParents, Try: try, Err: err})
		sleep(ctx, min(time.Duration(try)*100*time.Millisecond, time.Second))
		try++
		wake(p.signal)
	}
}

// wake wakes those of the parents whose wait is over. After an error all are checked again.
func (p *parents) wake(ctx context.Context) error {
	ids := p.take()
	if len(ids) == 0 {
		return nil
	}
	cctx, cancel := context.WithTimeout(ctx, p.call)
	defer cancel()
	woken, err := p.store.WakeParents(cctx, ids)
	if err != nil {
		p.mu.Lock()
		for _, id := range ids {
			p.ids[id] = struct{}{}
		}
		p.mu.Unlock()
		return err
	}
	if len(woken) > 0 {
		p.wakeups.taskWaiting()
	}
	return nil
}
