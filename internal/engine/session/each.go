package session

import (
	"cmp"
	"context"
	"fmt"

	"taskkit.dev/internal/classify"
)

// Each calls call over n items, in parts that [bisect] chooses. They share a savepoint,
// which is renewed after a part that succeeds. An item whose error is its own is passed
// to fail. When Each returns an error, the step has counted and recorded what it had
// before, and the error counts as the error of a failed statement: the parts that had
// succeeded are not committed unless a savepoint around Each is rolled back.
func (s *Step) Each(ctx context.Context, n int, call func(from, to int) error, fail func(i int, err error)) error {
	if n == 0 {
		return nil
	}
	before, finished := s.mark(), false
	defer func() { s.unmark(before, finished) }() // not finished: an error, or a panic, which continues
	if err := s.each(ctx, n, call, fail); err != nil {
		s.Tx.Record("", err)
		return err
	}
	finished = true
	return nil
}

// each is Each without what its error undoes and records.
func (s *Step) each(ctx context.Context, n int, call func(from, to int) error, fail func(i int, err error)) error {
	p, err := s.openSavepoint(ctx)
	if err != nil {
		return err
	}
	err = bisect(n, func(from, to int) (bool, error) {
		keep := p.renew
		if to == n {
			keep = p.release
		}
		own, err := s.part(ctx, to-from, func() (failed, broken error) {
			return p.call(ctx, func() error { return call(from, to) }, keep)
		})
		if own != nil && to-from == 1 {
			fail(from, own)
		}
		return own == nil, err
	})
	if p.closed {
		return err
	}
	return cmp.Or(err, p.release(ctx))
}

// part calls try, which runs n items inside a savepoint. The first error is one of the
// items, and nothing of the call is left. The second ends the batch.
func (s *Step) part(ctx context.Context, n int, try func() (failed, broken error)) (own, err error) {
	before, kept := s.mark(), false
	defer func() { s.unmark(before, kept) }()
	failed, broken := try()
	switch {
	case broken != nil && failed != nil:
		return nil, fmt.Errorf("%w, after %v", broken, failed) //nolint:errorlint // the first error says what to do with the batch
	case broken != nil:
		return nil, broken
	case failed == nil:
		kept = true
		return nil, nil
	}
	c := classified(ctx, failed)
	switch {
	case c.TooLarge && n > 1:
		return nil, failed // the runtime halves the batch
	case ctx.Err() != nil && !c.TooLarge:
		// A marked error would end the task although only its item failed.
		return nil, fmt.Errorf("%w; the last call returned: %v", context.Cause(ctx), failed) //nolint:errorlint // see above
	case !c.OfItem && !c.TooLarge && s.ofItem(c):
		return &classify.MarkedError{Class: c.Class, Code: c.Code, Err: failed}, nil
	case !c.OfItem && !c.TooLarge, c.Outage != classify.NoOutage:
		return nil, failed
	}
	return failed, nil
}

// stepMark is what a step has counted and recorded at a point.
type stepMark struct {
	counts   counts
	outcomes outcomesMark
	notes    int
}

// mark begins what unmark ends. Marks are nested.
func (s *Step) mark() stepMark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return stepMark{s.counts, s.outcomes.mark(), len(s.notes)}
}

// unmark keeps what the step has counted and recorded since the mark, or forgets it. A
// closed step keeps what it has, which is being written.
func (s *Step) unmark(m stepMark, keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
	case keep:
		s.outcomes.keep(m.outcomes)
	default:
		s.counts = m.counts
		s.outcomes.undo(m.outcomes)
		s.notes = s.notes[:m.notes]
	}
}

// unmarkSucceeded is unmark for what forgets only which items have succeeded.
func (s *Step) unmarkSucceeded(m stepMark, keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
	case keep:
		s.outcomes.keep(m.outcomes)
	default:
		s.outcomes.undoSucceeded(m.outcomes)
	}
}
