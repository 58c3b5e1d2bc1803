package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"taskkit.dev/internal/errclass"
	"taskkit.dev/internal/store"
)

// Step is one call of an executor: its transaction, and what it counts and
// records. The mutex is for executors that count from several goroutines, and
// for those that go on after they were abandoned; a sealed step ignores them.
type Step struct {
	Task Task
	Env

	mu        sync.Mutex
	before    store.Progress // as committed
	taken     int64          // by Take, in this batch
	dealt     int64
	skipped   int64
	total     int64
	failures  []store.Failure
	savepoint int
	sealed    bool
}

func newStep(t Task, env Env, committed store.Progress) *Step {
	return &Step{Task: t, Env: env, before: committed, total: committed.Total}
}

// Take returns the bounds of the next limit elements of a list of n, and
// counts them as dealt with. A second call in the same step returns the same.
func (s *Step) Take(n, limit int) (from, to int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = min(int(s.before.Taken), n)
	to = min(from+max(limit, 1), n)
	if s.taken == 0 && !s.sealed {
		s.taken = int64(to - from)
		s.dealt += s.taken
		s.total = int64(n)
	}
	return from, to
}

// Fail records an item that will never work.
func (s *Step) Fail(item string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed {
		return
	}
	f := store.Failure{ID: newID(), Item: errclass.Clean(item), Code: errclass.CodeItemFailed, Attempt: s.Attempt}
	var m *errclass.Mark
	if errors.As(err, &m) && m.Code != "" {
		f.Code = errclass.Clean(m.Code)
	}
	if err != nil {
		f.Detail = errclass.Detail(err)
	}
	s.failures = append(s.failures, f)
}

// Advance counts items as dealt with.
func (s *Step) Advance(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dealt = plus(s.dealt, int64(n))
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

// countMost is where counters stop: the sum of all of a task's can be counted,
// and an executor that counts wrongly does not lose its task for it.
const countMost = 1 << 60

// plus adds to a counter, which never goes down.
func plus(counter, n int64) int64 {
	return min(counter+min(max(n, 0), countMost), countMost)
}

// Try calls f inside a savepoint.
func (s *Step) Try(ctx context.Context, f func() error) (err error) {
	s.mu.Lock()
	s.savepoint++
	name := fmt.Sprintf("taskkit_try_%d", s.savepoint)
	s.mu.Unlock()

	if _, err := s.Tx.ExecContext(ctx, "SAVEPOINT "+name); err != nil {
		return fmt.Errorf("begin savepoint: %w", err)
	}
	undo := func() error {
		// The caller's context may have ended; the transaction must be usable
		// all the same, or be known not to be.
		_, err := s.Tx.ExecContext(context.WithoutCancel(ctx), "ROLLBACK TO SAVEPOINT "+name)
		return err
	}
	finished := false
	defer func() {
		if !finished { // a panic, which goes on
			_ = undo()
		}
	}()
	err = f()
	finished = true
	if err != nil {
		if uerr := undo(); uerr != nil {
			return errors.Join(err, fmt.Errorf("undo savepoint: %w", uerr))
		}
	}
	if _, rerr := s.Tx.ExecContext(ctx, "RELEASE SAVEPOINT "+name); rerr != nil {
		return errors.Join(err, fmt.Errorf("release savepoint: %w", rerr))
	}
	return err
}

// outcome seals the step and returns what to write.
func (s *Step) outcome() (store.Progress, []store.Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
	failed := int64(len(s.failures))
	dealt := min(max(s.dealt, failed), countMost)
	skipped := min(s.skipped, dealt-failed)
	return store.Progress{
		Total:   s.total,
		Taken:   s.before.Taken + s.taken,
		Done:    plus(s.before.Done, dealt-failed-skipped),
		Failed:  plus(s.before.Failed, failed),
		Skipped: plus(s.before.Skipped, skipped),
	}, s.failures
}

// seal makes the step deaf.
func (s *Step) seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
}

// newID makes a UUIDv7. It fails only when the system has no randomness.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
