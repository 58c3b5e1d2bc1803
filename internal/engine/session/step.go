package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Step is one call of an executor: its transaction, and what it counts and
// records. The mutex is for executors that count from several goroutines, and
// for those that continue after they were abandoned: a closed step ignores them.
type Step struct {
	Task Task
	Env
	// Checked are the items that Take returns, as the package taskkit has them; nil: Take takes the next ones.
	Checked any

	mu     sync.Mutex
	before lifecycle.Progress // as committed
	counts
	outcomes  outcomes
	notes     []note // only in a preview
	skip      bool   // Take gives up the next element, see [poison]
	searching bool   // the step finds targets, and executes nothing
	didSkip   bool   // Take did
	misuse    error
	memo      json.RawMessage     // see [Step.Remember]
	sum       *lifecycle.Progress // see [Step.SetSum]
	leftOut   int64               // see [Step.SkipPart]
	savepoint int
	reporting bool // Execute has succeeded, and Report is called
	closed    bool
}

// counts are what a step has counted. Each restores them together with what was
// written.
type counts struct {
	taken     int64 // by Take, in this batch: by how much the position grows
	retried   int64 // deferred items that Take has taken in this batch
	processed int64
	exhausted bool // Take was called, and former batches had taken everything
	total     int64
	// key returns the key of an element of the list from which Take took those from
	// up to to, and in a pass over deferred items of those that it took.
	key       func(i int) string
	from, to  int
	positions map[string]int64 // of these elements, by key, from 1; made when one is asked for
	reaction  *reaction        // by the strategy; nil: nothing
}

func newStep(t Task, env Env, committed lifecycle.Progress) *Step {
	return &Step{Task: t, Env: env, before: committed, counts: counts{total: committed.Total}}
}

// Take returns the bounds of the next limit elements of a list of n, and
// counts them as processed. A second call in the same step returns the same. Key
// returns the key of an element, see package itemkey.
//
// In a step that skips an element, Take records that one as failed and ends the
// goroutine.
func (s *Step) Take(n, limit int, key func(i int) string) (from, to int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = int(min(s.before.Position, int64(n)))
	if s.skip && !s.closed && from < n {
		limit = 1
	}
	to = min(from+max(limit, 1), n)
	s.exhausted = from == to
	s.key, s.from, s.to = key, from, to
	if s.taken == 0 && !s.closed {
		s.taken = int64(to - from)
		s.processed += s.taken
		s.total = int64(n)
	}
	if from < n {
		s.skipTaken(from, int64(from)+1)
	}
	return from, to
}

// skipTaken records the element that Take has just taken as failed and ends the
// goroutine, if the step skips an element. The caller has locked the step.
func (s *Step) skipTaken(i int, position int64) {
	if !s.skip || s.closed {
		return
	}
	s.didSkip = true
	s.record(store.Item{
		Key: s.key(i), Outcome: store.ItemFailed, Code: classify.CodePoison,
		Detail: fmt.Sprintf("position %d of %d: its worker was lost each time that it was alone in a batch", position, s.total),
	})
	s.closed = true
	runtime.Goexit()
}

// Pass is Take for elements that are no items of the task: it moves the position and counts
// nothing.
func (s *Step) Pass(n, limit int, key func(i int) string) (from, to int) {
	from, to = s.Take(n, limit, key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processed, s.total = 0, s.before.Total
	return from, to
}

// SetSum makes the counters of the task the sum of its children's, when it is done.
func (s *Step) SetSum(p lifecycle.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum = &p
}

// isSum reports whether the counters of the task are the sum of its children's.
func (s *Step) isSum() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum != nil
}

// Position returns how many elements of a list of n have been taken.
func (s *Step) Position(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(min(s.before.Position, int64(n)))
}

// tookAll reports whether this step called Take after all elements had been taken.
func (s *Step) tookAll() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exhausted
}

// Fail records an item that will never work, by its key.
func (s *Step) Fail(key string, err error) {
	i := failure(key, classify.CodeItemFailed, err)
	if len(s.Strategy) > 0 {
		s.failed(i, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(i)
}

// failure returns a failed item. code is for an error without one.
func failure(key, code string, err error) store.Item {
	i := store.Item{Key: key, Outcome: store.ItemFailed, Code: code}
	var m *classify.MarkedError
	if errors.As(err, &m) && m.Code != "" {
		i.Code = classify.Clean(m.Code)
	}
	if err != nil {
		i.Detail = classify.Detail(err)
	}
	return i
}

// Skip records an item that needed nothing, by its key.
func (s *Step) Skip(key, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(store.Item{Key: key, Outcome: store.ItemSkipped, Code: cmp.Or(classify.Clean(code), classify.CodeSkipped)})
}

// SkipPart records a part of the work that is left out, by its key and its number. It is no item, and is not counted.
func (s *Step) SkipPart(key string, number int64, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.leftOut++
	s.outcomes.record(store.Item{
		Key: key, Outcome: store.ItemSkipped, Code: cmp.Or(classify.Clean(code), classify.CodeSkipped), Detail: fmt.Sprintf("bucket %d", number),
		Position: number, Attempt: s.Attempt,
	})
}

// Succeed records an item, by its key, that was processed.
func (s *Step) Succeed(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(store.Item{Key: key, Outcome: store.ItemSucceeded})
}

// record adds an outcome, or replaces the one that the step has of the same item.
// The caller has locked the step.
func (s *Step) record(i store.Item) {
	if s.closed {
		return
	}
	if i.Outcome == store.ItemSucceeded {
		s.outcomes.record(i)
		return
	}
	i.Attempt, i.Position = s.Attempt, s.position(i.Key)
	if i.Outcome == store.ItemDeferred {
		i.Attempt = s.before.Round + 1
	}
	s.outcomes.record(i)
}

// position returns the position in the list of an element that Take has taken, or
// 0. Of elements with the same key it is the last.
func (s *Step) position(key string) int64 {
	if s.key == nil {
		return 0
	}
	if s.positions == nil {
		s.positions = make(map[string]int64, s.to-s.from)
		for i := s.from; i < s.to; i++ {
			at := int64(i) + 1
			if s.Deferred != nil {
				at = s.Deferred.Positions[i]
			}
			s.positions[s.key(i)] = at
		}
	}
	return s.positions[key]
}

// Advance counts items as processed.
func (s *Step) Advance(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processed = plus(s.processed, int64(n))
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

// Try calls f inside a savepoint. Unless f succeeds, the items that it recorded with
// [Step.Succeed] have not succeeded; what else it recorded stays.
func (s *Step) Try(ctx context.Context, f func() error) error {
	before, kept := s.mark(), false
	defer func() { s.unmarkSucceeded(before, kept) }()
	failed, broken := s.try(ctx, f)
	kept = failed == nil && broken == nil
	switch {
	case broken == nil:
		return failed
	case failed == nil:
		return broken
	default:
		return errors.Join(failed, broken)
	}
}

// Remember sets what the task remembers of its children, which comes back in Family.Memo.
func (s *Step) Remember(memo json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.memo = memo
	}
}

// finish closes the step and returns what to write: the rows of items, and the keys of
// those that succeeded.
func (s *Step) finish() (p lifecycle.Progress, rows []store.Item, succeeded []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	rows, succeeded = s.outcomes.split()
	return s.progress(), rows, succeeded
}

// progress returns the task's progress with this step's counts. The caller has
// locked the step.
func (s *Step) progress() lifecycle.Progress {
	failed, skipped, deferred, succeeded := s.outcomes.count()
	skipped -= s.leftOut
	processed := max(s.processed, failed+skipped+deferred+succeeded)
	p := s.before
	p.Position += s.taken
	p.Deferred = p.Deferred || deferred > 0
	if sum := s.sum; sum != nil {
		p.Total, p.Done, p.Failed, p.Skipped = sum.Total, sum.Done, sum.Failed, sum.Skipped
		return p
	}
	p.Total = s.total
	p.Done = plus(p.Done, processed-failed-skipped-deferred)
	p.Failed = plus(p.Failed, failed)
	p.Skipped = plus(p.Skipped, skipped)
	return p
}

// close makes the step ignore further calls.
func (s *Step) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}
