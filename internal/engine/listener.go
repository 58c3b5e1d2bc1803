package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// listener wakes the claimer when the database notifies it of tasks, and gives
// the worker presence while it listens, see [store.PresenceReading]. Without it the worker polls
// more often, and others notice its end by its heartbeat. It runs on one goroutine.
type listener struct {
	store     store.Runtime
	process   string
	poll      time.Duration // for the event: how often the worker polls meanwhile
	deadAfter time.Duration // for the event: when others notice the end of the worker
	wakeups   *wakeups
	joined    chan<- struct{} // see presence
	heartbeat chan<- struct{} // see heartbeat.now
	events    *observe.Observer
}

// run listens until ctx ends, and tries again when the connection is lost or
// when listening is not possible from here.
func (l *listener) run(ctx context.Context) {
	var (
		missing  bool // it was reported that the worker has no presence
		listened bool
		failures int // attempts to listen that did not come to it, since one that did
		refused  int // how often listening has ended since it lasted, because it is not possible from here
		since    time.Time
	)
	present := func(err error) {
		if err != nil && !missing {
			l.events.Report(taskevent.PresenceMissing{Worker: l.process, DeadAfter: l.deadAfter, Err: err})
		}
		missing = err != nil
	}
	w := store.Watcher{
		Ready: func() {
			failures, listened, since = 0, true, time.Now()
			l.wakeups.setListening(true)
			l.events.Report(taskevent.WorkerListening{Worker: l.process})
		},
		Present: func(err error) {
			wake(l.heartbeat) // it may have been declared dead meanwhile
			wake(l.joined)    // and others may have joined before it listened
			present(err)
		},
		Wake:   l.wakeups.taskWaiting,
		Joined: func() { wake(l.joined) },
	}
	for ctx.Err() == nil {
		failures++
		err := l.store.Watch(ctx, l.process, w)
		l.wakeups.setListening(false)
		// The next heartbeat removes the lost lock from the row.
		wake(l.heartbeat)
		if ctx.Err() != nil {
			return
		}
		retry := listenAgain(failures)
		switch {
		case errors.Is(err, store.ErrNoWatch) && (failures == 0 || !listened):
			if failures == 0 && time.Since(since) > listenLasts {
				refused = 0
			}
			retry = listenRefused(listened, refused)
			refused++
			present(err)
		case errors.Is(err, store.ErrDead):
			retry = time.Second // the heartbeat learns that too, and ends the registration
		case failures > soonest:
			present(err)
		}
		// Of attempts that follow each other closely the first is enough to tell.
		if failures <= 1 || failures > soonest {
			l.events.Report(taskevent.WorkerPolling{Worker: l.process, Every: l.poll, RetryIn: retry, Err: err})
		}
		sleep(ctx, retry-retry/4+rand.N(retry/4))
	}
}

// soonest is how many attempts to listen follow each other closely: a worker that has lost its
// presence lock, and cannot reach the database, is declared dead after store.AbsentFor.
const soonest = 25

// listenAgain returns how long to wait after so many failures.
func listenAgain(failures int) time.Duration {
	switch {
	case failures == 0:
		return 10 * time.Millisecond
	case failures <= soonest:
		return 200 * time.Millisecond
	}
	return min(time.Duration(failures-soonest)*time.Second, 30*time.Second)
}

// listenLasts is how long a worker has listened when what ends it is not the reason that ended it before.
const listenLasts = time.Minute

// listenRefused returns how long to wait after listening was found to be impossible from here. If it was possible before, that may pass, as a
// pool that has no connection to spare for a while; the more often it ends so, the less it is worth.
func listenRefused(listened bool, times int) time.Duration {
	const rarely = 5 * time.Minute
	if !listened {
		return rarely
	}
	return min(time.Second<<min(times, 10), rarely)
}
