package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// endingsMax is how many tasks with a request to end may run beside the slots:
// no task waits for a slot to stop.
const endingsMax = 4

// pool runs sessions: one in each slot, on a goroutine per slot, and a few beside
// them for tasks with a request to end. Claimed tasks wait in its buffer. It is
// safe for concurrent use.
type pool struct {
	kinds   map[string]*session.Kind
	config  Config
	claim   store.Claim // of this worker, to ask whether tasks wait
	store   store.Runtime
	wakeups *wakeups
	outage  *outage
	deps    *session.Deps

	// ctx is the context of all sessions, set by start.
	ctx        context.Context //nolint:containedctx // it is the life of the sessions, and no call's
	buffer     chan store.ClaimedTask
	ready      chan *session.Session // sessions that have their permits and wait for a slot
	draining   chan struct{}         // closed when sessions must end at their next batch boundary
	quarantine chan struct{}         // full while a suspected poison task runs

	sessions  sync.WaitGroup // slots, and sessions beside them
	detached  sync.WaitGroup // sessions that continue outside a slot
	busy      atomic.Int64   // slots that run a session
	endings   atomic.Int64   // sessions beside the slots that end their tasks
	waiting   atomic.Int64   // sessions that wait for permits beside the slots, or for a slot after that
	permitted atomic.Int64   // of these, the sessions that have their permits
	specs     atomic.Int64   // bytes of the specs of the sessions in waiting
	taken     atomic.Int64   // when a slot last took a task from the buffer, as Unix nanoseconds
	filled    atomic.Int64   // when the empty buffer last received a task, as Unix nanoseconds
	average   sessionAverage
	share     *fairShare
	queues    *queueSlots // nil: no queue has slots of its own

	mu       sync.Mutex
	buffered map[uuid.UUID]uuid.UUID // tasks that wait for a slot, and their owners
}

func newPool(s store.Runtime, kinds map[string]*session.Kind, c Config, claim store.Claim, w *wakeups, o *outage, d *session.Deps) *pool {
	p := &pool{
		kinds: kinds, config: c, claim: claim, store: s, wakeups: w, outage: o,
		buffer:   make(chan store.ClaimedTask, prefetchMax+2*c.Slots),
		ready:    make(chan *session.Session),
		draining: make(chan struct{}), quarantine: make(chan struct{}, 1),
		buffered: make(map[uuid.UUID]uuid.UUID), queues: newQueueSlots(c.QueueSlots),
	}
	p.share = newFairShare(p.waitingOwners)
	d.Pool, d.Outage = p, o
	p.deps = d
	return p
}

// start starts the slots. ctx is the context of all sessions. It is called before the
// claimer starts.
func (p *pool) start(ctx context.Context) {
	p.ctx = ctx
	for range p.config.Slots {
		p.sessions.Go(p.slot)
	}
}

// close lets the slots end when the buffer is empty, and every session at its next
// batch boundary. The claimer must have ended.
func (p *pool) close() {
	close(p.buffer)
	close(p.draining)
}

// slot runs sessions, one at a time, until the buffer is closed. What is left in
// the buffer by then is released unstarted.
func (p *pool) slot() {
	readyFirst := false
	for {
		s, t, open := p.next(readyFirst)
		if !open {
			return
		}
		began, ended := time.Now(), true
		p.taken.Store(began.UnixNano())
		p.busy.Add(1)
		lease := t.Lease
		if readyFirst = false; s != nil {
			lease = s.Lease() // read here: the session may continue outside the slot
			s.Restart()       // the wait uses up nothing of the quantum
			s.Execute()
		} else {
			s = p.newSession(t)
			ended = p.run(s, t)
			readyFirst = ended
		}
		if ended {
			p.average.record(s.SlotTime() + time.Since(began))
			p.queues.exit(lease)
		}
		p.busy.Add(-1)
		p.wakeups.slotFreed()
	}
}

// next returns what a free slot runs next: a task of the buffer, or a session that has its permits. The task goes first, so
// that all tasks of a claim request their permits together, and while others execute; but not after a task that has ended in
// its slot, since a session that waits keeps permits. Not open: the buffer is closed.
func (p *pool) next(readyFirst bool) (s *session.Session, t store.ClaimedTask, open bool) {
	if readyFirst {
		select {
		case s = <-p.ready:
			return s, t, true
		default:
		}
	} else {
		select {
		case t, open = <-p.buffer:
			return nil, t, open
		default:
		}
	}
	select {
	case s = <-p.ready:
		return s, t, true
	case t, open = <-p.buffer:
		return nil, t, open
	}
}

// newSession returns the session of a claimed task.
func (p *pool) newSession(t store.ClaimedTask) *session.Session {
	return session.New(p.ctx, p.deps, p.kinds[t.Kind], t)
}

// run runs the session of a claimed task, and reports whether it has ended. A session that needs permits gets them beside the
// slots, and continues in a slot when it has them.
func (p *pool) run(s *session.Session, t store.ClaimedTask) (ended bool) {
	if p.outage.lasts() && p.ctx.Err() == nil {
		p.removeFromBuffer(t.ID)
		s.ReleaseInPlace(session.ReasonOutage)
		return true
	}
	if lifecycle.Quarantined(t.Stalled, t.Attempts) && t.Control == lifecycle.None {
		exit := p.enterQuarantine()
		defer exit()
		s.Quarantine(exit)
		s.Restart() // the wait uses up nothing of the quantum
	}
	p.removeFromBuffer(t.ID)
	switch {
	case p.ctx.Err() != nil:
	case p.IsDraining() && t.Control == lifecycle.None:
		s.Release(session.ReasonShutdown)
	case !s.Prepare(t):
	case s.NeedsPermits() && p.specs.Load() < waitingBytes:
		p.waitForPermits(s)
		return false
	case s.Enter():
		s.Execute()
	}
	return true
}

// endBesideSlots ends a task beside the slots, and reports whether there is room
// for that. Only the claimer calls it.
func (p *pool) endBesideSlots(t store.ClaimedTask) bool {
	if p.freeEndings() <= 0 {
		return false
	}
	p.endings.Add(1)
	p.sessions.Go(func() {
		defer func() {
			p.endings.Add(-1)
			p.wakeups.taskWaiting()
		}()
		p.run(p.newSession(t), t)
	})
	return true
}

// freeEndings returns how many more sessions may run beside the slots.
func (p *pool) freeEndings() int { return endingsMax - int(p.endings.Load()) }

// add puts a claimed task into the buffer.
func (p *pool) add(t store.ClaimedTask) {
	p.addToBuffer(t.ID, t.Owner)
	if len(p.buffer) == 0 {
		p.filled.Store(time.Now().UnixNano())
	}
	p.buffer <- t
}

// addToBuffer records that a task of an owner waits for a slot.
func (p *pool) addToBuffer(id, owner uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.buffered[id] = owner
}

// removeFromBuffer records that a task does not wait for a slot any more.
func (p *pool) removeFromBuffer(id uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.buffered, id)
}

// isBuffered reports whether a task waits here for a slot.
func (p *pool) isBuffered(id uuid.UUID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.buffered[id]
	return ok
}

// running returns how many slots run a session.
func (p *pool) running() int { return int(p.busy.Load()) }

// free returns how many slots run none.
func (p *pool) free() int { return p.config.Slots - p.running() }

// sinceTaken returns how long ago a slot last took a task from the buffer.
func (p *pool) sinceTaken() time.Duration { return time.Since(time.Unix(0, p.taken.Load())) }

// stalled returns for how long tasks have waited in the buffer without any slot
// taking one.
func (p *pool) stalled() time.Duration {
	return min(p.sinceTaken(), time.Since(time.Unix(0, p.filled.Load())))
}

// IsDraining reports whether sessions must end at their next batch boundary.
func (p *pool) IsDraining() bool {
	select {
	case <-p.draining:
		return true
	default:
		return false
	}
}

// OthersWaiting reports whether other tasks wait for a slot.
func (p *pool) OthersWaiting(ctx context.Context) bool {
	cctx, cancel := context.WithTimeout(ctx, p.config.Call)
	defer cancel()
	if len(p.buffer) > 0 || p.permitted.Load() > 0 {
		return true
	}
	waiting, err := p.store.Waiting(cctx, p.claim)
	return err == nil && waiting
}

// waitingOwners returns the owners of the tasks that wait for a slot, see [store.Store].
func (p *pool) waitingOwners(ctx context.Context) (map[uuid.UUID]int, error) {
	cctx, cancel := context.WithTimeout(ctx, p.config.Call)
	defer cancel()
	owners, err := p.store.WaitingOwners(cctx, p.claim)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, owner := range p.buffered {
		owners[owner] = -1 // it is claimed already
	}
	return owners, nil
}

// TurnOver reports whether a task must yield to one of another owner, see [fairShare].
func (p *pool) TurnOver(ctx context.Context, t session.Task, order func() int, began time.Time, executed bool) bool {
	return p.free() <= 0 && p.share.turnOver(ctx, t, order, began, executed)
}

// Processed counts items of an owner.
func (p *pool) Processed(owner uuid.UUID, items int64) { p.share.add(owner, items) }

// Returned makes the claimer find out when a task is due that was given back.
func (p *pool) Returned() { p.wakeups.taskReturned() }

// Detach runs f on a goroutine that the shutdown waits for. Only the flusher's
// goroutine calls it.
func (p *pool) Detach(f func()) { p.detached.Go(f) }
