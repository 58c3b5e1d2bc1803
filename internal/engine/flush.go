package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/errclass"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

const (
	// startDelay is how long a start waits for its task's end, which would
	// write both.
	startDelay = 5 * time.Millisecond
	// flushMax is the most writes that travel in one statement.
	flushMax = 1000
	// backlogMax is how many writes may wait before sessions wait too.
	backlogMax = 8 * flushMax
)

// flusher is the group commit: writes of many tasks that need no transaction of
// their own travel in one statement. One goroutine flushes, so the writes of a
// task keep their order; while a flush is under way the next one gathers.
//
// An error from a flush says neither yes nor no. The flusher then reads back
// where the tasks stand, and tries again what has not happened, until it has an
// answer for each write or the worker has lost its tasks.
type flusher struct {
	store   store.Store
	process string
	call    time.Duration // deadline of one call
	retry   func(n int) time.Duration
	log     *slog.Logger

	bite *bite

	mu     sync.Mutex
	room   *sync.Cond
	queue  []queued
	starts map[uuid.UUID]queuedStart
	closed bool
	wake   chan struct{}
}

type queued struct {
	write store.Write
	done  func(store.Applied, error)
}

type queuedStart struct {
	write store.Write
	at    time.Time
}

func newFlusher(s store.Store, process string, call time.Duration, retry func(int) time.Duration, log *slog.Logger) *flusher {
	f := &flusher{
		store: s, process: process, call: call, retry: retry, log: log,
		bite: newBite(flushMax), starts: make(map[uuid.UUID]queuedStart), wake: make(chan struct{}, 1),
	}
	f.room = sync.NewCond(&f.mu)
	return f
}

// begin hands over a start. Nobody waits for it: a start that is not applied
// belongs to a hold that the next write will find lost, or that has ended.
func (f *flusher) begin(h store.Hold, attempts int) {
	f.mu.Lock()
	f.starts[h.ID] = queuedStart{store.Write{Hold: h, To: workflow.Executing, Attempts: attempts}, time.Now()}
	f.mu.Unlock()
	f.signal()
}

// forget drops a start that has not been written: something else will write it.
func (f *flusher) forget(id uuid.UUID) {
	f.mu.Lock()
	delete(f.starts, id)
	f.mu.Unlock()
}

// add hands over a write; done is called from the flushing goroutine once its
// outcome is known. add waits while too many writes are ahead.
func (f *flusher) add(w store.Write, done func(store.Applied, error)) {
	f.mu.Lock()
	for len(f.queue) >= backlogMax && !f.closed {
		f.room.Wait()
	}
	if f.closed {
		f.mu.Unlock()
		done(store.Applied{}, errclass.ErrLost)
		return
	}
	delete(f.starts, w.ID)
	f.queue = append(f.queue, queued{w, done})
	f.mu.Unlock()
	f.signal()
}

// apply hands over a write and waits for its outcome.
func (f *flusher) apply(w store.Write) (store.Applied, error) {
	type outcome struct {
		a   store.Applied
		err error
	}
	c := make(chan outcome, 1)
	f.add(w, func(a store.Applied, err error) { c <- outcome{a, err} })
	o := <-c
	return o.a, o.err
}

func (f *flusher) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// close refuses further writes; run ends when the queue is empty.
func (f *flusher) close() {
	f.mu.Lock()
	f.closed = true
	f.room.Broadcast()
	f.mu.Unlock()
	f.signal()
}

// run flushes until the flusher is closed and empty, or ctx ends, which is when
// the worker may not write any more.
func (f *flusher) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		batch, due, empty := f.gather(ctx.Err() != nil)
		switch {
		case ctx.Err() != nil:
			f.close()
			for _, q := range batch {
				q.done(store.Applied{}, errclass.ErrLost)
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

// gather takes what is to be flushed now. Due is when the next start is; empty
// says that the flusher is closed and nothing is left.
func (f *flusher) gather(all bool) (batch []queued, due time.Duration, empty bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	most := flushMax
	if !all {
		most = f.bite.size(flushMax)
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
		batch = append(batch, queued{s.write, func(store.Applied, error) {}})
	}
	f.room.Broadcast()
	return batch, due, f.closed && len(f.queue) == 0 && len(f.starts) == 0
}

// flush writes a batch and answers each of its writes.
func (f *flusher) flush(ctx context.Context, batch []queued) {
	for n := 1; len(batch) > 0; n++ {
		err := f.try(ctx, batch)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			for _, q := range batch {
				q.done(store.Applied{}, errclass.ErrLost)
			}
			return
		}
		f.log.Warn("group commit failed; reading back what happened", "writes", len(batch), "try", n, "error", err)
		batch = f.settle(ctx, batch)
		if len(batch) > 0 && errclass.Judge(ctx, err).Class == errclass.Permanent {
			batch = f.single(ctx, batch)
		}
		if len(batch) > 0 {
			sleep(ctx, f.retry(n))
		}
	}
}

// try applies a batch and, when it knows the outcome, answers.
func (f *flusher) try(ctx context.Context, batch []queued) error {
	writes := make([]store.Write, len(batch))
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
	f.bite.saw(len(writes), time.Since(began))
	for i, q := range batch {
		q.done(applied[i], nil)
	}
	return nil
}

// settle answers the writes that turn out to have happened, and returns those
// that have not.
func (f *flusher) settle(ctx context.Context, batch []queued) []queued {
	ids := make([]uuid.UUID, len(batch))
	for i, q := range batch {
		ids[i] = q.write.ID
	}
	cctx, cancel := context.WithTimeout(ctx, f.call)
	defer cancel()
	at, err := f.store.Positions(cctx, ids)
	if err != nil {
		return batch // no answer yet
	}
	var rest []queued
	for _, q := range batch {
		p, exists := at[q.write.ID]
		switch happened(q.write, p, exists) {
		case yes:
			q.done(store.Applied{OK: true, Control: p.Control}, nil)
		case never:
			q.done(store.Applied{}, nil)
		default:
			rest = append(rest, q)
		}
	}
	return rest
}

// single applies a batch's writes one by one, so that one that the database
// refuses does not keep the others; it is answered with the error.
func (f *flusher) single(ctx context.Context, batch []queued) []queued {
	var rest []queued
	for _, q := range batch {
		err := f.try(ctx, []queued{q})
		switch {
		case err == nil:
		case errclass.Judge(ctx, err).Class == errclass.Permanent:
			q.done(store.Applied{}, err)
		default:
			rest = append(rest, q)
		}
	}
	return rest
}

type answer int

const (
	notYet answer = iota // the write may still be made
	yes                  // the write has been made
	never                // the hold is gone: it can never be made
)

// happened reads from a task's position whether a write took effect. With the
// fence of the write on the row, only the writer can have moved checkpoint_seq
// or the status.
func happened(w store.Write, p store.Position, exists bool) answer {
	switch {
	case !exists:
		// Only an end with a delete standing, or a delete after the end,
		// removes a row.
		if w.To.Terminal() {
			return yes
		}
		return never
	case p.Fence != w.Fence:
		return never
	case w.Checkpoint && p.Seq == w.Seq+1:
		return yes
	case !w.Checkpoint && p.Seq == w.Seq && p.Status == w.To:
		return yes
	case p.Seq == w.Seq && p.Status.InFlight():
		return notYet
	default:
		return never
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
