package maintain

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/taskkit/taskevent"
)

// WakeQueue wakes tasks that wait for something other than a time: parents whose children have ended, by their ids, and tasks
// for which there is a permit under a limit, by its key. What may have ended a wait is committed before its key is
// added; one call of the store then wakes the tasks of all queued keys. A key that is lost with its worker is left to a
// reaper. Run runs on one goroutine; Add is safe for concurrent use.
type WakeQueue[K comparable] struct {
	wakeTasks func(ctx context.Context, keys []K) (woken []uuid.UUID, err error)
	name      string        // of the call
	call      time.Duration // timeout of one call
	wakeClaim func()        // wakes the claimer
	events    *observe.Observer

	mu     sync.Mutex
	keys   map[K]struct{}
	signal chan struct{}
}

func NewWakeQueue[K comparable](name string, wakeTasks func(context.Context, []K) ([]uuid.UUID, error), call time.Duration, w func(), o *observe.Observer) *WakeQueue[K] {
	return &WakeQueue[K]{wakeTasks: wakeTasks, name: name, call: call, wakeClaim: w, events: o, keys: make(map[K]struct{}), signal: make(chan struct{}, 1)}
}

// Add queues keys whose waiting tasks may be due.
func (q *WakeQueue[K]) Add(keys ...K) {
	q.mu.Lock()
	for _, k := range keys {
		q.keys[k] = struct{}{}
	}
	q.mu.Unlock()
	wake(q.signal)
}

// take removes all keys from the queue.
func (q *WakeQueue[K]) take() []K {
	q.mu.Lock()
	defer q.mu.Unlock()
	keys := make([]K, 0, len(q.keys))
	for k := range q.keys {
		keys = append(keys, k)
	}
	clear(q.keys)
	return keys
}

// Run wakes tasks until ctx ends, and then once more, within the time of a call.
func (q *WakeQueue[K]) Run(ctx context.Context) {
	for try := 1; ; {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.call)
			defer cancel()
			_ = q.flush(last) // otherwise a reaper does it
			return
		case <-q.signal:
		}
		err := q.flush(ctx)
		if err == nil || ctx.Err() != nil {
			try = 1
			continue
		}
		q.events.Report(taskevent.CallFailed{Worker: q.events.Worker, Call: q.name, Try: try, Err: err})
		sleep(ctx, min(time.Duration(try)*100*time.Millisecond, time.Second))
		try++
		wake(q.signal)
	}
}

// flush wakes the tasks of all queued keys. On error the keys are queued again.
func (q *WakeQueue[K]) flush(ctx context.Context) error {
	keys := q.take()
	if len(keys) == 0 {
		return nil
	}
	cctx, cancel := context.WithTimeout(ctx, q.call)
	defer cancel()
	woken, err := q.wakeTasks(cctx, keys)
	if err != nil {
		q.mu.Lock()
		for _, k := range keys {
			q.keys[k] = struct{}{}
		}
		q.mu.Unlock()
		return err
	}
	if len(woken) > 0 {
		q.wakeClaim()
	}
	return nil
}
