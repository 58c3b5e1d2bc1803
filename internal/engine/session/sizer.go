package session

import (
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
)

// A Sizer adapts how many items one operation takes to how long the last ones
// took, so that an operation takes about target. One goroutine uses it.
type Sizer struct {
	size, max int
	target    time.Duration
	// An operation of full size that took less than growBelow doubles the size.
	growBelow time.Duration
	// shrink returns the size after an operation of n items that took more than
	// twice the target. It may return less than 1, which means 1.
	shrink func(size, n int, took, target time.Duration) int
	fixed  bool // the size does not depend on the time
	// Below normal the size doubles after every operation of full size that was not
	// slow: it is small because of attempts that failed, not because of the time.
	normal int
	// alone is how many more items are run one at a time.
	alone int
	// narrowed is the size to which the size grows back, after batches that failed because of one of their items; 0: none did.
	narrowed int
}

// Limit returns the size, at most n.
func (s *Sizer) Limit(n int) int { return min(n, s.size) }

// Record adjusts the size after an operation of n items that took a time.
func (s *Sizer) Record(n int, took time.Duration) {
	switch {
	case s.narrowed > 0:
		if s.size = min(2*s.size, s.narrowed); s.size == s.narrowed {
			s.narrowed = 0
		}
	case s.fixed:
	case s.alone > 0:
		s.alone = max(s.alone-max(n, 1), 0)
	case took > 2*s.target:
		s.size, s.normal = max(s.shrink(s.size, n, took, s.target), 1), 0
	case n < s.size:
	case took < s.growBelow:
		s.size = min(s.size*2, s.max)
	case s.size < s.normal:
		s.size = min(s.size*2, s.normal, s.max)
	}
}

// narrow halves the size after a batch of n items that failed because of one of them.
func (s *Sizer) narrow(n int) {
	s.narrowed = max(s.narrowed, s.size)
	s.size = max(min(n, s.size)/2, 1)
}

// lowerMax sets the size to n, from where on it does not grow.
func (s *Sizer) lowerMax(n int) { s.size, s.max = n, n }

const (
	// statementTarget is how long one statement over many tasks should take on SQLite, where it keeps everybody else from writing,
	// heartbeats among them. On PostgreSQL it holds the locks of its own rows alone, and its time is mostly that for which it
	// waits for a processor where many workers share them.
	statementTarget         = 50 * time.Millisecond
	statementTargetPostgres = 250 * time.Millisecond
	// statementFirst is how many tasks the first statement takes.
	statementFirst = 100
	// batchGrowth bounds how far the size of batches may grow beyond what the
	// kind asked for.
	batchGrowth = 10
)

// NewStatementSizer sizes statements over no more than most tasks. A statement's cost
// is proportional to its tasks, so it shrinks to what fits the target.
func NewStatementSizer(most int, d dialect.Name) *Sizer {
	target := statementTarget
	if d == dialect.Postgres {
		target = statementTargetPostgres
	}
	return &Sizer{
		size: min(statementFirst, most), max: most, target: target, growBelow: target,
		shrink: func(size, n int, took, target time.Duration) int {
			if n == 0 {
				return size // its time does not depend on tasks
			}
			return int(int64(n) * int64(target) / int64(took))
		},
	}
}

// newBatchSizer sizes the batches of one session of a claimed task: the Limit that
// an executor is given. The items of a kind may differ, so it changes by factors of
// two.
//
// A task in quarantine runs its items one at a time until it has passed all that the
// batch of its second attempt can have taken: the item that kills its worker, if
// there is one, is among them.
func newBatchSizer(k *Kind, stalled bool, attempts int, c Config) *Sizer {
	normal := k.batchLimit(k.Limit)
	s := &Sizer{
		size: firstBatch(k, attempts, c), max: k.batchLimit(k.Limit * batchGrowth), normal: normal,
		target: c.BatchTarget, growBelow: c.BatchTarget / 2,
		shrink: func(size, _ int, _, _ time.Duration) int { return size / 2 },
		fixed:  c.FixedLimit,
	}
	if !s.fixed && lifecycle.Quarantined(stalled, attempts) {
		s.alone = max(normal/2, 1)
	}
	return s
}

// firstBatch is the Limit of the first batch after a claim. It depends on nothing
// but the number of the attempt, so that a later session computes the same.
func firstBatch(k *Kind, attempts int, c Config) int {
	normal := k.batchLimit(k.Limit)
	switch {
	case c.FixedLimit || attempts <= 1:
		return normal
	case lifecycle.RunsAlone(attempts):
		return 1
	default:
		return max(normal/2, 1)
	}
}

// batchLimit returns n, or the upper bound of the kind's batches if that is less.
func (k *Kind) batchLimit(n int) int {
	if k.MaxBatch > 0 {
		return min(n, k.MaxBatch)
	}
	return n
}
