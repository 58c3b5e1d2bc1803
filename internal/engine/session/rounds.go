package session

import (
	"errors"
	"fmt"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Deferred are the deferred items that one batch can take: their positions in the
// list, from 1, in ascending order.
type Deferred struct {
	Positions []int64
	All       int64 // deferred items not yet taken in this round
}

// deferredSpan bounds the pages of frozen targets that the deferred items of one batch
// are in.
const deferredSpan = 8

// rounds is the [feature] of a task in a round over its deferred items.
type rounds struct {
	noFeature
	c      *current
	frozen bool // the task has frozen targets
}

// begin reads the deferred items that the next batch can take, before the batch begins its transaction.
func (f *rounds) begin(step *Step) (err error) {
	ctx, cancel := f.c.short()
	defer cancel()
	d := &Deferred{}
	if d.Positions, d.All, err = f.c.Store.Deferred(ctx, f.c.task.ID, f.c.progress.Position, max(f.c.limit.size, 1)); err != nil {
		return err
	}
	step.Deferred = d
	for i, p := range d.Positions {
		if f.frozen && page(p)-page(d.Positions[0]) >= deferredSpan { // the offset of a range changes this by one page at most
			d.Positions = d.Positions[:i]
			break
		}
	}
	return nil
}

// finish implements [feature].
func (f *rounds) finish(step *Step, r *result) error {
	f.c.retryDeferred(&r.Write, step, r.next.Done)
	return nil
}

// page returns the page of frozen targets with a position that counts from 1.
func page(position int64) int { return int(position-1) / store.TargetsPerPage }

// TakeDeferred is Take in a round over the deferred items: it returns how many of the
// next ones the batch takes, and whether there are more.
func (s *Step) TakeDeferred(limit int, key func(i int) string) (n int, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, d := s.before, s.Deferred
	n = min(max(limit, 1), len(d.Positions))
	if s.skip && !s.closed {
		n = min(n, 1)
	}
	s.exhausted = n == 0
	s.key, s.from, s.to = key, 0, n
	if s.taken == 0 && !s.closed && n > 0 {
		s.taken = d.Positions[n-1] - at.Position
		s.processed += int64(n)
		s.retried = int64(n)
	}
	if n > 0 {
		s.skipTaken(0, d.Positions[0])
	}
	return n, int64(n) < d.All
}

// errNotTaken is the error of a batch that defers what cannot be taken again.
var errNotTaken = errors.New("Defer was given an item that Take did not return in this batch: pass an element as Take returned it; " +
	"an executor that does not use Take cannot defer items: use a list in the spec or taskkit.WithTargets, or remember them in b.State")

// Defer records an item, by its key, that is tried again in the next round. In the last
// round it fails.
func (s *Step) Defer(key string, err error) {
	i := failure(key, classify.CodeDeferred, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.position(key) == 0 {
		if !s.closed && s.misuse == nil {
			s.misuse = &classify.MarkedError{Class: lifecycle.Permanent, Code: classify.CodeMisuse, Err: errNotTaken}
		}
		return
	}
	i.Outcome = store.ItemDeferred
	if s.LastRound {
		i.Outcome = store.ItemFailed
	}
	s.record(i)
}

// misused returns the error of a batch that used a method wrongly.
func (s *Step) misused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.misuse
}

// endsRound reports whether another round follows this step, the last of its round.
func (s *Step) endsRound() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.LastRound && (s.progress().Deferred || s.restDeferred() > 0)
}

// restDeferred returns how many deferred items this round has not taken. The caller has
// locked the step.
func (s *Step) restDeferred() int64 {
	if s.Deferred == nil {
		return 0
	}
	return s.Deferred.All - s.retried
}

// retryDeferred adds the deferred items that a finished step has retried to its write.
func (c *current) retryDeferred(w *store.Write, step *Step, done bool) {
	from := c.progress
	if from.Round == 0 {
		return
	}
	w.Retried = store.Retried{Round: from.Round, After: from.Position, Upto: w.Progress.Position}
	if rest := step.restDeferred(); done && step.LastRound && rest > 0 {
		w.Retried.FailRest = true
		w.Progress.Failed = plus(w.Progress.Failed, rest)
	}
}

// nextRound makes the write of the last batch of a round wait for the next round.
func (c *current) nextRound(w *store.Write) {
	p, delays := &w.Progress, c.deferDelays()
	p.Round, p.Position, p.Deferred = p.Round+1, 0, false
	w.To, w.Delay, w.Attempts = lifecycle.Queued, delays[p.Round-1], 0
	w.Reason = fmt.Sprintf("tries its deferred items again: try %d of %d, %v after the one before",
		p.Round+1, len(delays)+1, w.Delay.Round(time.Millisecond))
}

// isLastRound reports whether no round follows. A preview has one round.
func (c *current) isLastRound() bool {
	return c.isPreview() || c.progress.Round >= len(c.deferDelays())
}
