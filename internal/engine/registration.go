package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine/maintain"
	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// registration is a worker under one process ID: it starts the parts of the
// worker and ends them in the order that the package comment shows.
type registration struct {
	store   store.Runtime
	config  Config
	process string
	events  *observe.Observer

	claimer   *claimer
	pool      *pool
	flusher   *flusher
	heartbeat *heartbeat
	reaper    *reaper
	presence  *presence
	cleaner   *maintain.Cleaner
	listener  *listener
	parents   *maintain.WakeQueue[uuid.UUID]
	waiting   *maintain.WakeQueue[string]
	permits   *session.PermitQueue
	scheduler *maintain.Scheduler

	background sync.WaitGroup // heartbeat, reaper, presence, cleaner, listener, wake queues, permits and scheduler
}

// newRegistration makes the parts of a worker whose registration was sent at a
// time. It starts nothing.
func newRegistration(w *Worker, p store.Process, sent time.Time, events *observe.Observer) *registration {
	c := w.config
	claim := store.Claim{Process: p.ID, Queues: c.Queues, Kinds: p.Kinds, SpecMax: c.SpecMax, Waited: c.Observe != nil}
	deadline := newHeartbeatDeadline(c.heartbeatDeadline(), sent)
	flusher := newFlusher(w.store, p.ID, c.Call, events)
	wakeups := newWakeups()
	parents := maintain.NewWakeQueue(taskevent.CallWakeParents, w.store.WakeParents, c.Call, wakeups.taskWaiting, events)
	waiting := maintain.NewWakeQueue(taskevent.CallWakeWaiting, w.store.WakeWaiting, c.Call, wakeups.taskWaiting, events)
	permits := session.NewPermitQueue(w.store, c.Call)
	w.outage.register(events, wakeups.taskWaiting)
	pool := newPool(w.store, w.kinds, c, claim, wakeups, w.outage, &session.Deps{
		Store: w.store, Config: c.Config, Process: p.ID, Writer: flusher, Deadline: deadline, Events: events,
		Parents: parents, Waiting: waiting, Permits: permits, Throttle: session.NewThrottle(w.store, w.kinds, c.Config, events), Trace: c.Trace,
	})
	renew, joined := make(chan struct{}, 1), make(chan struct{}, 1)
	reaper := &reaper{store: w.store, every: c.reapEvery(), call: c.Call, wakeups: wakeups, events: events}
	return &registration{
		store: w.store, config: c, process: p.ID, events: events,
		claimer: newClaimer(w.store, c, claim, pool, flusher, wakeups, w.outage, events),
		pool:    pool, flusher: flusher,
		heartbeat: &heartbeat{
			store: w.store, process: p.ID, every: c.Heartbeat, call: c.Call, now: renew, deadline: deadline, pool: pool, events: events,
		},
		reaper: reaper,
		presence: &presence{
			store: w.store, process: p.ID, call: c.Call, joined: joined, reaper: reaper, events: events,
		},
		cleaner: &maintain.Cleaner{Store: w.store, Call: c.Call, Keep: c.Keep, Events: events, Intervals: c.Intervals},
		listener: &listener{
			store: w.store, process: p.ID, poll: c.Poll, deadAfter: c.DeadAfter,
			wakeups: wakeups, joined: joined, heartbeat: renew, events: events,
		},
		parents: parents, waiting: waiting, permits: permits,
		scheduler: &maintain.Scheduler{Store: w.store, Kinds: w.kinds, Every: c.ScheduleEvery, Call: c.Call, Wake: wakeups.taskWaiting, Events: events},
	}
}

// firstReading bounds the reading before the first claim.
const firstReading = 2 * time.Second

// run works until ctx ends (nil) or the heartbeat is lost (errIdentityLost).
func (r *registration) run(ctx context.Context) error {
	// writes is the context of everything that may write to a task: it ends when
	// the task leases may be gone. That of the sessions ends also when the drain
	// time is over.
	writes, endWrites := context.WithCancelCause(context.WithoutCancel(ctx))
	defer endWrites(classify.ErrLost)
	sessions, endSessions := context.WithCancelCause(writes)
	defer endSessions(classify.ErrDraining)
	// The heartbeat outlives the sessions: others must not take over while they
	// drain.
	beats, endBeats := context.WithCancel(context.WithoutCancel(ctx))
	defer endBeats()

	lost := make(chan error, 1)
	r.background.Go(func() { lost <- r.heartbeat.run(beats) })
	r.background.Go(func() { r.reaper.run(writes) })
	r.background.Go(func() { r.cleaner.Run(writes) })
	r.background.Go(func() { r.listener.run(writes) })
	// Before the first claim, so that the tasks of a worker that was killed and
	// started again go on at once.
	first, cancel := context.WithTimeout(ctx, firstReading)
	next := r.presence.read(first)
	cancel()
	r.background.Go(func() { r.presence.run(writes, next) })
	r.background.Go(func() { r.parents.Run(writes) })
	r.background.Go(func() { r.waiting.Run(writes) })
	r.background.Go(func() { r.permits.Run(writes) })
	flushed := start(func() { r.flusher.run(writes) })
	r.pool.start(sessions) // before the claimer, which starts sessions beside the slots
	claims, endClaims := context.WithCancel(writes)
	defer endClaims()
	claimed := start(func() {
		if !r.config.SafeMode {
			r.background.Go(func() { r.scheduler.Run(claims) })
			r.claimer.run(claims)
		}
	})

	var reason error
	select {
	case <-ctx.Done():
	case err := <-lost:
		reason = errors.Join(errIdentityLost, err)
		endWrites(classify.ErrLost)
	}
	endClaims()
	<-claimed
	r.pool.close()
	end := time.Now().Add(r.config.Drain)
	if err := r.drain(endSessions, lost, reason != nil); err != nil {
		reason = errors.Join(errIdentityLost, err)
		endWrites(classify.ErrLost)
	}
	r.flusher.close()
	if waitFor(flushed, max(time.Until(end), time.Second)) {
		// Without a flusher they end at once, but for one that cannot read back
		// the outcome of a commit: it would try until the database responds.
		waitFor(start(r.pool.detached.Wait), max(time.Until(end), time.Second))
	}
	endWrites(classify.ErrLost)
	if reason == nil {
		r.deregister(ctx, end)
	}
	endBeats()
	r.background.Wait()
	return reason
}

// drain waits until the sessions have ended. Near the end of the drain time
// batches are cancelled; sessions that do not end even then are abandoned. It
// returns an error when the heartbeat is lost meanwhile. If now is set nothing is
// waited for before batches are cancelled.
func (r *registration) drain(endSessions context.CancelCauseFunc, lost <-chan error, now bool) error {
	done := start(r.pool.sessions.Wait)
	grace := min(r.config.Drain/5, 3*time.Second)
	deadline := time.NewTimer(r.config.Drain - grace)
	defer deadline.Stop()
	if now {
		deadline.Reset(0)
	}
	var err error
	select {
	case <-done:
		return nil
	case err = <-lost:
		endSessions(classify.ErrLost)
	case <-deadline.C:
		r.events.Report(taskevent.BatchesCancelled{Worker: r.process, Sessions: r.pool.running()})
		endSessions(classify.ErrDraining)
	}
	if !waitFor(done, grace/2) {
		r.events.Report(taskevent.SessionsAbandoned{Worker: r.process, Sessions: r.pool.running()})
	}
	return err
}

// deregister removes the registration of the worker: the database releases the tasks
// that it still has, without spending an attempt.
func (r *registration) deregister(ctx context.Context, end time.Time) {
	left := max(time.Until(end), time.Second)
	cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(left, r.config.Call))
	defer cancel()
	if err := r.store.Deregister(cctx, r.process); err != nil {
		r.events.Report(taskevent.CallFailed{Worker: r.process, Call: taskevent.CallDeregister, Try: 1, Err: err})
	}
}

// start runs f on a goroutine and returns what is closed when it has returned.
func start(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() { f(); close(done) }()
	return done
}

// waitFor waits until c is closed, at most d, and reports whether it was.
func waitFor(c <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

// sleep waits for d or for the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
