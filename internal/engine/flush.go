package engine

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

const (
	// startDelay is how long a start waits for its task's end, whose write
	// includes it.
	startDelay = 5 * time.Millisecond
	// flushMax is the most writes that travel in one statement. A worker on two cores ends fewer tasks while the statement before
	// is under way, so that its time decides and not this bound. See ADR 28.
	flushMax = 2000
	// backlogMax is how many writes may wait before sessions wait too.
	backlogMax = 8 * flushMax
)

// flusher is the group commit: writes of many tasks that need no transaction of
// their own travel in one statement. One goroutine flushes, so the writes of a
// task keep their order; while a flush is under way the next one gathers.
//
// After an error from a flush its outcome is unknown. The flusher then reads the tasks
// back and tries again what has not happened, until it knows the outcome of each
// write or the worker has lost its tasks.
type flusher struct {
	store   store.Runtime
	process string
	call    time.Duration // timeout of one call
	events  *observe.Observer

	size *session.Sizer // of one statement; of the flushing goroutine

	mu     sync.Mutex
	room   *sync.Cond
	queue  []queued
	starts map[uuid.UUID]queuedStart
	closed bool
	wake   chan struct{}
}

// queued is a write that waits for its flush. done is called with its outcome.
type queued struct {
	write *store.Write
	done  func(store.Applied, error)
}

type queuedStart struct {
	lease    store.Lease
	attempts int
	at       time.Time
}

func newFlusher(s store.Runtime, process string, call time.Duration, o *observe.Observer) *flusher {
	f := &flusher{
		store: s, process: process, call: call, events: o,
		size: session.NewStatementSizer(flushMax, s.Dialect()), starts: make(map[uuid.UUID]queuedStart), wake: make(chan struct{}, 1),
	}
	f.room = sync.NewCond(&f.mu)
	return f
}

// QueueStart queues a start. Nobody waits for it: when a start is not applied, the
// next write of its task finds that the task lease is lost, or the task has ended.
func (f *flusher) QueueStart(h store.Lease, attempts int) {
	f.mu.Lock()
	f.starts[h.ID] = queuedStart{h, attempts, time.Now()}
	f.mu.Unlock()
	f.signal()
}

// CancelStart drops a start that has not been written: something else will write
// it.
func (f *flusher) CancelStart(id uuid.UUID) {
	f.mu.Lock()
	delete(f.starts, id)
	f.mu.Unlock()
}

// Add queues a write, which must not be changed any more; done is called from the flushing goroutine
// once its outcome is known. add waits while too many writes are queued.
func (f *flusher) Add(w *store.Write, done func(store.Applied, error)) {
	f.mu.Lock()
	for len(f.queue) >= backlogMax && !f.closed {
		f.room.Wait()
	}
	if f.closed {
		f.mu.Unlock()
		done(store.Applied{}, classify.ErrLost)
		return
	}
	delete(f.starts, w.ID)
	f.queue = append(f.queue, queued{w, done})
	f.mu.Unlock()
	f.signal()
}

// Apply queues a write and waits for its outcome.
func (f *flusher) Apply(w *store.Write) (store.Applied, error) {
	type result struct {
		a   store.Applied
		err error
	}
	c := make(chan result, 1)
	f.Add(w, func(a store.Applied, err error) { c <- result{a, err} })
	r := <-c
	return r.a, r.err
}

func (f *flusher) signal() { wake(f.wake) }

// close refuses further writes; run ends when the queue is empty.
func (f *flusher) close() {
	f.mu.Lock()
	f.closed = true
	f.room.Broadcast()
	f.mu.Unlock()
	f.signal()
}

// run flushes on one goroutine until the flusher is closed and empty, or ctx ends,
// which is when the worker may not write any more.
func (f *flusher) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		batch, due, empty := f.gather(ctx.Err() != nil)
		switch {
		case ctx.Err() != nil:
			f.close()
			for _, q := range batch {
				q.done(store.Applied{}, classify.ErrLost)
			}
			if empty {
				return
			}
		case len(batch) > 0:
			f.flush(ctx, batch)
		case empty:
			return
		default:
			timer.Reset(due)
			select {
			case <-f.wake:
			case <-timer.C:
			case <-ctx.Done():
			}
		}
	}
}

// gather takes from the queue what is to be flushed now, or, with all set, as much
// as one statement may hold. Due is when the next start must be flushed; empty
// reports that the flusher is closed and nothing is left.
func (f *flusher) gather(all bool) (batch []queued, due time.Duration, empty bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	most := flushMax
	if !all {
		most = f.size.Limit(flushMax)
	}
	n := min(len(f.queue), most)
	batch = append(batch, f.queue[:n]...)
	f.queue = f.queue[:copy(f.queue, f.queue[n:])]
	due = time.Hour
	for id, s := range f.starts {
		if len(batch) >= most {
			due = 0
			break
		}
		if wait := startDelay - time.Since(s.at); wait > 0 && !all && !f.closed {
			due = min(due, wait)
			continue
		}
		delete(f.starts, id)
		w := &store.Write{Lease: s.lease, To: lifecycle.Executing, Attempts: s.attempts}
		batch = append(batch, queued{w, func(store.Applied, error) {}})
	}
	f.room.Broadcast()
	return batch, due, f.closed && len(f.queue) == 0 && len(f.starts) == 0
}

// flush makes the writes of a batch and reports the outcome of each.
func (f *flusher) flush(ctx context.Context, batch []queued) {
	for n := 1; len(batch) > 0; n++ {
		err := f.applyAll(ctx, batch)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			for _, q := range batch {
				q.done(store.Applied{}, classify.ErrLost)
			}
			return
		}
		f.events.Report(taskevent.GroupCommitFailed{Worker: f.process, Writes: len(batch), Try: n, Err: err})
		batch = f.reconcile(ctx, batch)
		if len(batch) > 0 && isRefused(ctx, err) {
			batch = f.applyEach(ctx, batch)
		}
		if len(batch) > 0 {
			sleep(ctx, min(time.Duration(n)*100*time.Millisecond, time.Second))
		}
	}
}

// applyAll applies a batch and, when it knows the outcomes, reports them.
func (f *flusher) applyAll(ctx context.Context, batch []queued) error {
	writes := make([]*store.Write, len(batch))
	for i, q := range batch {
		writes[i] = q.write
	}
	cctx, cancel := context.WithTimeout(ctx, f.call)
	defer cancel()
	began := time.Now()
	applied, err := f.store.Apply(cctx, f.process, writes)
	if err != nil {
		return err
	}
	took := time.Since(began)
	f.size.Record(len(writes), took)
	observe.Measured(f.events, taskevent.GroupCommitted{Worker: f.process, Writes: len(writes), Duration: took})
	for i, q := range batch {
		q.done(applied[i], nil)
	}
	return nil
}

// reconcile reads the tasks of a batch back, reports the writes whose outcome that
// proves, and returns the others.
func (f *flusher) reconcile(ctx context.Context, batch []queued) []queued {
	ids := make([]uuid.UUID, len(batch))
	for i, q := range batch {
		ids[i] = q.write.ID
	}
	cctx, cancel := context.WithTimeout(ctx, f.call)
	defer cancel()
	at, err := f.store.Positions(cctx, ids)
	if err != nil {
		return batch // nothing is known yet
	}
	var rest []queued
	for _, q := range batch {
		p, exists := at[q.write.ID]
		outcome := lifecycle.ReadBack(q.write.Lifecycle(), session.PositionOf(p, exists))
		if outcome == lifecycle.Happened && q.write.Checkpoint && q.write.To == lifecycle.Executing {
			// It may have been the COMMIT of an earlier execution of the batch, which had no answer and was late. Only
			// the database knows which checkpoint was written, so the session reads it.
			outcome = lifecycle.Lost
		}
		switch outcome {
		case lifecycle.Happened:
			if !exists {
				p.Control = lifecycle.Delete
			}
			q.done(store.Applied{OK: true, Control: p.Control}, nil)
		case lifecycle.Lost:
			q.done(store.Applied{}, nil)
		case lifecycle.NotYet:
			rest = append(rest, q)
		}
	}
	return rest
}

// applyEach applies a batch's writes one by one, so that one that the database
// refuses does not hold up the others; the error is its outcome.
func (f *flusher) applyEach(ctx context.Context, batch []queued) []queued {
	var rest []queued
	for _, q := range batch {
		err := f.applyAll(ctx, []queued{q})
		switch {
		case err == nil:
		case isRefused(ctx, err):
			q.done(store.Applied{}, err)
		default:
			rest = append(rest, q)
		}
	}
	return rest
}

// isRefused reports whether the database refuses a write, which it may do because of one task's data.
func isRefused(ctx context.Context, err error) bool {
	c := classify.Classify(ctx, err).Class
	return c == lifecycle.Permanent || c == lifecycle.Refused
}
