package engine

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit/taskevent"
)

// checks wake tasks that wait for something else than a time: parents whose children have ended, by their
// ids, and tasks for which there is a place under a limit, by its key. What may have ended a wait is committed
// before [checks.check] is called; one call of the store then checks all that have come together.
// A check that is lost with its worker is made by a reaper. run runs on one goroutine; check
// is safe for concurrent use.
type checks[K comparable] struct {
	wake    func(ctx context.Context, keys []K) (woken []uuid.UUID, err error)
	name    string        // of the call
	call    time.Duration // timeout of one call
	wakeups *wakeups
	events  *observer

	mu     sync.Mutex
	keys   map[K]struct{}
	signal chan struct{}
}

func newChecks[K comparable](name string, wake func(context.Context, []K) ([]uuid.UUID, error), call time.Duration, w *wakeups, o *observer) *checks[K] {
	return &checks[K]{wake: wake, name: name, call: call, wakeups: w, events: o, keys: make(map[K]struct{}), signal: make(chan struct{}, 1)}
}

// check asks for a check.
func (c *checks[K]) check(keys ...K) {
	c.mu.Lock()
	for _, k := range keys {
		c.keys[k] = struct{}{}
	}
	c.mu.Unlock()
	wake(c.signal)
}

// take returns what is to be checked.
func (c *checks[K]) take() []K {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := make([]K, 0, len(c.keys))
	for k := range c.keys {
		keys = append(keys, k)
	}
	clear(c.keys)
	return keys
}

// run checks until ctx ends, and then once more, within the time of a call.
func (c *checks[K]) run(ctx context.Context) {
	for try := 1; ; {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.call)
			defer cancel()
			_ = c.all(last) // a reaper makes it otherwise
			return
		case <-c.signal:
		}
		err := c.all(ctx)
		if err == nil || ctx.Err() != nil {
			try = 1
			continue
		}
		c.events.report(taskevent.CallFailed{Worker: c.events.worker, Call: c.name, Try: try, Err: err})
		sleep(ctx, min(time.Duration(try)*100*time.Millisecond, time.Second))
		try++
		wake(c.signal)
	}
}

// all makes the checks that were asked for. After an error all are made again.
func (c *checks[K]) all(ctx context.Context) error {
	keys := c.take()
	if len(keys) == 0 {
		return nil
	}
	cctx, cancel := context.WithTimeout(ctx, c.call)
	defer cancel()
	woken, err := c.wake(cctx, keys)
	if err != nil {
		c.mu.Lock()
		for _, k := range keys {
			c.keys[k] = struct{}{}
		}
		c.mu.Unlock()
		return err
	}
	if len(woken) > 0 {
		c.wakeups.taskWaiting()
	}
	return nil
}
