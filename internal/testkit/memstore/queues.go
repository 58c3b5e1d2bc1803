package memstore

import (
	"context"
	"slices"
	"strings"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/store"
)

// PauseQueue implements [store.Requests].
func (s *Store) PauseQueue(ctx context.Context, c store.QueueChange) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	p, now, reason := s.queues[c.Queue], s.now(), classify.Clean(c.Reason)
	switch {
	case p == nil && !c.Paused, p != nil && p.Paused == c.Paused:
		return nil
	case c.Paused:
		if p == nil {
			p = &store.QueuePause{Queue: c.Queue}
			s.queues[c.Queue] = p
		}
		p.Paused, p.PausedBy, p.PausedReason, p.PausedDate = true, c.Actor, reason, now
	default:
		p.Paused, p.ResumedBy, p.ResumedReason, p.ResumedDate = false, c.Actor, reason, &now
		s.wake()
	}
	s.recordSetting(c.Change())
	return nil
}

// PausedQueues implements [store.Ops].
func (s *Store) PausedQueues(ctx context.Context) ([]store.QueuePause, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var found []store.QueuePause
	for _, p := range s.queues {
		q := *p
		q.SincePaused = s.now().Sub(q.PausedDate)
		found = append(found, q)
	}
	slices.SortFunc(found, func(a, b store.QueuePause) int { return strings.Compare(a.Queue, b.Queue) })
	return found, nil
}

// isPaused reports whether a queue is paused.
func (s *Store) isPaused(queue string) bool {
	p := s.queues[queue]
	return p != nil && p.Paused
}
