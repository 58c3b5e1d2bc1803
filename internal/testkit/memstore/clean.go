package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// expiry returns when a period ends that begins now; zero: never.
func expiry(now time.Time, period time.Duration) time.Time {
	if period <= 0 {
		return time.Time{}
	}
	return now.Add(period)
}

// EraseResults implements [store.Upkeep].
func (s *Store) EraseResults(ctx context.Context, limit int) (int, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	var old []*result
	for _, r := range s.results {
		if r.text != nil && !r.expiry.IsZero() && r.expiry.Before(s.now()) {
			old = append(old, r)
		}
	}
	slices.SortFunc(old, func(a, b *result) int { return a.expiry.Compare(b.expiry) })
	old = old[:min(len(old), limit)]
	for _, r := range old {
		r.text = nil
	}
	return len(old), nil
}

// RemoveTasks implements [store.Upkeep].
func (s *Store) RemoveTasks(ctx context.Context, p store.OldTasks) (removed store.RemovedTasks, err error) {
	if err := s.enter(ctx); err != nil {
		return removed, err
	}
	defer s.mu.Unlock()
	var (
		now    = s.now()
		items  int64
		looked int
		last   uuid.UUID
	)
	commit := s.commit()
	for _, id := range slices.Clone(s.order) {
		if compareIDs(id, p.After) <= 0 {
			continue
		}
		if looked == p.Limit {
			removed.Next = last
			break
		}
		looked++
		r := s.tasks[id]
		keep := p.Keep(r.Kind)
		recorded := r.Progress.Failed + r.Progress.Skipped
		ended := !r.Status.Live() && keep.Ended > 0 && now.Sub(*r.Stopped) > keep.Ended
		idle := r.Status == lifecycle.Queued && keep.Idle > 0 && min(now.Sub(r.Modified), now.Sub(r.NotBefore)) > keep.Idle
		if p := s.tasks[r.Parent]; p != nil && p.Status != lifecycle.Completed {
			ended, idle = false, false
		}
		if ended || idle {
			if items > 0 && items+recorded > p.Items {
				removed.Next = last
				break
			}
			items += recorded
			s.remove(commit, "RemoveTasks", r)
		}
		if ended {
			removed.Ended = append(removed.Ended, id)
		}
		if idle {
			removed.Idle = append(removed.Idle, id)
			s.events = append(s.events, event{task: id, Event: store.Event{
				Created: now, Action: string(lifecycle.ActDelete), Reason: store.EventReasonIdle, FromStatus: lifecycle.Queued,
			}})
		}
		last = id
		if now.Sub(r.Created) < p.Youngest {
			return removed, nil
		}
	}
	return removed, nil
}
