package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"taskkit.dev/internal/errclass"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// suspectAfter is how many claims a task may have come to, one of them with a
// worker that was lost, before it is suspected to have killed it.
const suspectAfter = 3

// incarnation is a worker under one identity.
type incarnation struct {
	*Worker
	process string
	claim   store.Claim
	log     *slog.Logger
	lease   *lease
	flush   *flusher
	wake    *waker
	work    chan store.Claimed

	busy     atomic.Int64 // sessions running
	hungry   bool         // of the claim loop: more may be waiting than there was room for
	pace     pace
	bite     *bite // of a claim
	crowd    crowd
	strays   *strays
	alone    chan struct{} // full while a suspect runs
	host     *host
	working  context.Context //nolint:containedctx // of all sessions, whoever starts them; see run
	draining chan struct{}
	sessions sync.WaitGroup
	spawned  sync.WaitGroup // sessions that go on outside a slot
	loops    sync.WaitGroup // everything else
}

func newIncarnation(w *Worker, process string, kinds map[string][]int, enrolled time.Time) *incarnation {
	log := w.config.Log.With("worker", process)
	i := &incarnation{
		Worker: w, process: process, log: log,
		claim: store.Claim{Process: process, Queues: w.config.Queues, Kinds: kinds, SpecMax: w.config.SpecMax},
		lease: newLease(w.config.lease(), enrolled),
		flush: newFlusher(w.store, process, w.config.Call, func(n int) time.Duration {
			return min(time.Duration(n)*100*time.Millisecond, time.Second)
		}, log),
		wake:     newWaker(),
		bite:     newBite(aheadMax),
		work:     make(chan store.Claimed, aheadMax+2*w.config.Slots),
		draining: make(chan struct{}),
		strays:   newStrays(w.config),
		alone:    make(chan struct{}, 1),
	}
	i.host = i.newHost()
	return i
}

// run works until ctx ends or the identity is spent.
func (i *incarnation) run(ctx context.Context) error {
	// hold is the context of everything that may write to a task: it ends
	// when the lease does. work, that of the sessions, ends also when the
	// drain time is over.
	hold, endHold := context.WithCancelCause(context.WithoutCancel(ctx))
	defer endHold(errclass.ErrLost)
	work, endWork := context.WithCancelCause(hold)
	defer endWork(errclass.ErrDraining)
	i.working = work
	// beat outlives the sessions: others must not take over while they drain.
	beat, endBeat := context.WithCancel(context.WithoutCancel(ctx))
	defer endBeat()

	lost := make(chan error, 1)
	i.loop(func() { lost <- i.beat(beat) })
	i.loop(func() { i.reap(hold) })
	i.loop(func() { i.watch(hold) })
	flushed := make(chan struct{})
	go func() { i.flush.run(hold); close(flushed) }()

	claims, endClaims := context.WithCancel(hold)
	defer endClaims()
	claimed := make(chan struct{})
	go func() { i.claims(claims); close(claimed) }()
	for range i.config.Slots {
		i.sessions.Go(i.slot)
	}

	var reason error
	select {
	case <-ctx.Done():
	case err := <-lost:
		reason = errors.Join(errDead, err)
		endHold(errclass.ErrLost)
	}
	endClaims()
	<-claimed
	close(i.work)
	close(i.draining)
	end := time.Now().Add(i.config.Drain)
	if err := i.drain(endWork, lost, reason != nil); err != nil {
		reason = errors.Join(errDead, err)
		endHold(errclass.ErrLost)
	}
	i.flush.close()
	if waitFor(flushed, max(time.Until(end), time.Second)) {
		// Without a flusher they end at once, but for one that cannot read back
		// what has become of a commit: it would ask as long as nobody answers.
		spawned := make(chan struct{})
		go func() { i.spawned.Wait(); close(spawned) }()
		waitFor(spawned, max(time.Until(end), time.Second))
	}
	endHold(errclass.ErrLost)
	if reason == nil {
		i.leave(ctx, end)
	}
	endBeat()
	i.loops.Wait()
	return reason
}

// drain waits until the sessions have ended. Near the end of the drain time
// batches are cancelled; sessions that do not end even then are left behind.
// It returns an error when the lease is lost meanwhile.
func (i *incarnation) drain(endWork context.CancelCauseFunc, lost <-chan error, now bool) error {
	done := make(chan struct{})
	go func() { i.sessions.Wait(); close(done) }()
	grace := min(i.config.Drain/5, 3*time.Second)
	patience := time.NewTimer(i.config.Drain - grace)
	defer patience.Stop()
	if now {
		patience.Reset(0)
	}
	var err error
	select {
	case <-done:
		return nil
	case err = <-lost:
		endWork(errclass.ErrLost)
	case <-patience.C:
		i.log.Warn("cancelling batches", "sessions", i.busy.Load())
		endWork(errclass.ErrDraining)
	}
	if !waitFor(done, grace/2) {
		i.log.Error("sessions ignore their context and are left behind", "sessions", i.busy.Load())
	}
	return err
}

// leave signs off: whatever is still held goes back with no attempt spent.
func (i *incarnation) leave(ctx context.Context, end time.Time) {
	left := max(time.Until(end), time.Second)
	cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(left, i.config.Call))
	defer cancel()
	if err := i.store.Leave(cctx, i.process); err != nil {
		i.log.Error("cannot sign off; others will take the tasks over", "after", i.config.DeadAfter, "error", err)
	}
}

func (i *incarnation) loop(f func()) {
	i.loops.Go(func() { ; f() })
}

// slot runs sessions, one at a time, until the work channel is closed. Tasks
// that are still in the buffer by then go back untouched.
func (i *incarnation) slot() {
	for c := range i.work {
		i.crowd.taken.Store(time.Now().UnixNano())
		i.busy.Add(1)
		began := time.Now()
		i.session(c)
		i.pace.saw(time.Since(began))
		i.busy.Add(-1)
		i.wake.freed()
	}
}

// session works on one task in hand.
func (i *incarnation) session(c store.Claimed) {
	s := newSession(i.working, i.host, i.kinds[c.Kind], c)
	if c.Stalled && c.Attempts >= suspectAfter && s.control == workflow.None {
		s.trusted = i.suspect()
		defer s.trusted()
	}
	i.strays.ours(c.ID, false)
	switch {
	case i.working.Err() != nil:
	case i.host.isDraining() && s.control == "":
		s.release("interrupted: its worker shut down")
	default:
		s.run(c)
	}
}

// suspect waits until no other suspect runs here, and returns what to call when
// this one has been cleared, by a batch that went well. So the others that were in
// hand when a worker died do not die with the culprit again and again, and use up
// their tries with it.
func (i *incarnation) suspect() (cleared func()) {
	select {
	case i.alone <- struct{}{}:
		return sync.OnceFunc(func() { <-i.alone })
	case <-i.draining:
	case <-i.working.Done():
	}
	return func() {}
}

// newHost makes what the sessions share.
func (i *incarnation) newHost() *host {
	return &host{
		store: i.store, config: i.config, process: i.process, flush: i.flush,
		draining: i.draining, log: i.log, lease: i.lease,
		spawn: func(f func()) {
			i.spawned.Go(func() { ; f() })
		},
		waiting: func(ctx context.Context) bool {
			cctx, cancel := context.WithTimeout(ctx, i.config.Call)
			defer cancel()
			if len(i.work) > 0 {
				return true
			}
			waiting, err := i.store.Waiting(cctx, i.claim)
			return err == nil && waiting
		},
	}
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
