package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/txguard"
)

// Step is one call of an executor: its transaction, and what it counts and
// records. The mutex is for executors that count from several goroutines, and
// for those that continue after they were abandoned: a closed step ignores them.
type Step struct {
	Task Task
	Env

	mu        sync.Mutex
	before    lifecycle.Progress // as committed
	taken     int64              // by Take, in this batch
	processed int64
	skipped   int64
	skip      bool // Take gives up the next element, see [session.skipItem]
	didSkip   bool // Take did
	exhausted bool // Take was called, and former batches had taken everything
	total     int64
	failures  []store.Failure
	savepoint int
	closed    bool
}

func newStep(t Task, env Env, committed lifecycle.Progress) *Step {
	return &Step{Task: t, Env: env, before: committed, total: committed.Total}
}

// Take returns the bounds of the next limit elements of a list of n, and
// counts them as processed. A second call in the same step returns the same. Name
// returns the text of an element.
//
// In a step that skips an element, Take records that one as failed and ends the
// goroutine.
func (s *Step) Take(n, limit int, name func(i int) string) (from, to int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = min(int(s.before.Taken), n)
	if s.skip && !s.closed && from < n {
		limit = 1
	}
	to = min(from+max(limit, 1), n)
	s.exhausted = from == to
	if s.taken == 0 && !s.closed {
		s.taken = int64(to - from)
		s.processed += s.taken
		s.total = int64(n)
	}
	if s.skip && !s.closed && from < n {
		s.closed, s.didSkip = true, true
		s.failures = append(s.failures, store.Failure{
			ID: newID(), Item: classify.Clean(name(from)), Code: classify.CodePoison, Attempt: s.Attempt,
			Detail: fmt.Sprintf("position %d of %d: its worker was lost each time that it was alone in a batch", from+1, n),
		})
		runtime.Goexit()
	}
	return from, to
}

// tookAll reports whether this step called Take after all elements had been taken.
func (s *Step) tookAll() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exhausted
}

// Fail records an item that will never work.
func (s *Step) Fail(item string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	f := store.Failure{ID: newID(), Item: classify.Clean(item), Code: classify.CodeItemFailed, Attempt: s.Attempt}
	var m *classify.MarkedError
	if errors.As(err, &m) && m.Code != "" {
		f.Code = classify.Clean(m.Code)
	}
	if err != nil {
		f.Detail = classify.Detail(err)
	}
	s.failures = append(s.failures, f)
}

// Advance counts items as processed.
func (s *Step) Advance(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processed = plus(s.processed, int64(n))
}

// Skip counts items that needed nothing.
func (s *Step) Skip(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skipped = plus(s.skipped, int64(n))
}

// Total sets the number of items of the task.
func (s *Step) Total(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total = plus(0, int64(n))
}

// countMost is where counters stop: the sum of all counters of a task still fits,
// and an executor that counts wrongly does not lose its task for that.
const countMost = 1 << 60

// plus adds to a counter, which never decreases.
func plus(counter, n int64) int64 {
	return min(counter+min(max(n, 0), countMost), countMost)
}

// Try calls f inside a savepoint.
func (s *Step) Try(ctx context.Context, f func() error) (err error) {
	s.mu.Lock()
	s.savepoint++
	name := fmt.Sprintf("taskkit_try_%d", s.savepoint)
	s.mu.Unlock()

	if err := s.Tx.savepoint(ctx, name); err != nil {
		return fmt.Errorf("begin savepoint: %w", err)
	}
	undo := func() error {
		// The caller's context may have ended; the transaction must be usable
		// all the same, or be known not to be.
		return s.Tx.rollbackTo(context.WithoutCancel(ctx), name)
	}
	finished := false
	defer func() {
		if !finished { // a panic, which continues
			_ = undo()
			s.Tx.closeSavepoint()
		}
	}()
	err = f()
	finished = true
	if err != nil {
		if uerr := undo(); uerr != nil {
			s.Tx.closeSavepoint()
			return errors.Join(err, fmt.Errorf("undo savepoint: %w", uerr))
		}
	}
	if rerr := s.Tx.releaseSavepoint(ctx, name); rerr != nil {
		spoiled, ok := errors.AsType[*txguard.SpoiledError](rerr)
		if ok && undo() == nil && s.Tx.releaseSavepoint(ctx, name) == nil {
			// f ignored a statement that failed: what it did is undone.
			return spoiled.First
		}
		s.Tx.closeSavepoint()
		return errors.Join(err, fmt.Errorf("release savepoint: %w", rerr))
	}
	return err
}

// finish closes the step and returns what to write.
func (s *Step) finish() (lifecycle.Progress, []store.Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.progress(), s.failures
}

// progress returns the task's progress with this step's counts. The caller has
// locked the step.
func (s *Step) progress() lifecycle.Progress {
	failed := int64(len(s.failures))
	processed := min(max(s.processed, failed), countMost)
	skipped := min(s.skipped, processed-failed)
	return lifecycle.Progress{
		Total:   s.total,
		Taken:   s.before.Taken + s.taken,
		Done:    plus(s.before.Done, processed-failed-skipped),
		Failed:  plus(s.before.Failed, failed),
		Skipped: plus(s.before.Skipped, skipped),
	}
}

// close makes the step ignore further calls.
func (s *Step) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// newID makes a UUIDv7. It fails only when the system has no randomness.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
