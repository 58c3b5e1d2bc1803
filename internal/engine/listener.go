package engine

import (
	"context"
	"errors"
	"time"

	"taskkit.dev/internal/store"
)

// listener wakes the claimer when the database says that tasks may be waiting.
// Without it the worker polls more often. It runs on one goroutine.
type listener struct {
	store   Store
	poll    time.Duration // for the event: how often the worker polls meanwhile
	wakeups *wakeups
	events  *observer
}

// run listens until ctx ends, and tries again when the connection is lost or
// when listening is not possible from here.
func (l *listener) run(ctx context.Context) {
	for n := 1; ctx.Err() == nil; n++ {
		listening := func() {
			n = 0
			l.wakeups.setListening(true)
			l.events.report(WorkerListening{Worker: l.events.worker})
		}
		err := l.store.Watch(ctx, listening, l.wakeups.taskWaiting)
		l.wakeups.setListening(false)
		if ctx.Err() != nil {
			return
		}
		retry := min(time.Duration(n)*time.Second, 30*time.Second)
		if errors.Is(err, store.ErrNoWatch) {
			retry = 5 * time.Minute
		}
		l.events.report(WorkerPolling{Worker: l.events.worker, Every: l.poll, RetryIn: retry, Err: err})
		sleep(ctx, retry)
	}
}
