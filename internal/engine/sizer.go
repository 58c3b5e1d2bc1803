package engine

import "time"

// A sizer adapts how many items one operation takes to how long the last ones
// took, so that an operation takes about target. One goroutine uses it.
type sizer struct {
	size, max int
	target    time.Duration
	// An operation of full size that took less than growBelow doubles the size.
	growBelow time.Duration
	// shrink returns the size after an operation of n items that took more than
	// twice the target. It may return less than 1, which means 1.
	shrink func(size, n int, took, target time.Duration) int
	fixed  bool // the size does not depend on the time
}

// limit returns the size, at most n.
func (s *sizer) limit(n int) int { return min(n, s.size) }

// record adjusts the size after an operation of n items that took a time.
func (s *sizer) record(n int, took time.Duration) {
	switch {
	case s.fixed:
	case took > 2*s.target:
		s.size = max(s.shrink(s.size, n, took, s.target), 1)
	case took < s.growBelow && n >= s.size:
		s.size = min(s.size*2, s.max)
	}
}

// lowerMax sets the size to n, from where on it does not grow.
func (s *sizer) lowerMax(n int) { s.size, s.max = n, n }

const (
	// statementTarget is how long one statement over many tasks should take. On
	// SQLite it keeps everybody else from writing, heartbeats among them; on
	// PostgreSQL it holds its row locks.
	statementTarget = 50 * time.Millisecond
	// statementFirst is how many tasks the first statement takes.
	statementFirst = 100
	// batchGrowth bounds how far the size of batches may grow beyond what the
	// kind asked for.
	batchGrowth = 10
)

// newStatementSizer sizes statements over no more than most tasks. A statement's cost
// is proportional to its tasks, so it shrinks to what fits the target.
func newStatementSizer(most int) *sizer {
	return &sizer{
		size: min(statementFirst, most), max: most, target: statementTarget, growBelow: statementTarget,
		shrink: func(size, n int, took, target time.Duration) int {
			if n == 0 {
				return size // its time says nothing about tasks
			}
			return int(int64(n) * int64(target) / int64(took))
		},
	}
}

// newBatchSizer sizes the batches of one session: the Limit that an executor is
// given. The items of a kind may differ, so it changes by factors of two. A task
// that comes back from crashes begins with small batches, so that an item that
// kills its worker is soon alone.
func newBatchSizer(k *Kind, attempts int, c Config) *sizer {
	first, most := k.Limit, k.Limit*batchGrowth
	if k.MaxBatch > 0 {
		first, most = min(first, k.MaxBatch), min(most, k.MaxBatch)
	}
	s := &sizer{
		size: first, max: most, target: c.BatchTarget, growBelow: c.BatchTarget / 2,
		shrink: func(size, _ int, _, _ time.Duration) int { return size / 2 },
		fixed:  c.FixedLimit,
	}
	if attempts > 1 && !s.fixed {
		s.size = max(first>>min(attempts-1, 30), 1)
	}
	return s
}
