package memstore

import (
	"cmp"
	"context"
	"maps"
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

// EndedKinds implements [store.Upkeep].
func (s *Store) EndedKinds(ctx context.Context) (found []store.EndedKind, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	ages := make(map[string]time.Duration)
	for _, r := range s.tasks {
		if !r.Status.Live() && s.options(r.ID).Keep == 0 {
			ages[r.Kind] = max(ages[r.Kind], s.now().Sub(*r.Stopped))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(ages)) {
		found = append(found, store.EndedKind{Kind: kind, Age: ages[kind]})
	}
	return found, nil
}

// hasUnfinishedParent reports whether the task's parent is open or can be retried.
func (s *Store) hasUnfinishedParent(r *row) bool {
	p := s.tasks[r.Parent]
	return p != nil && p.Status != lifecycle.Completed
}

// RemoveEnded implements [store.Upkeep].
func (s *Store) RemoveEnded(ctx context.Context, p store.EndedTasks) (removed store.RemovedEnded, err error) {
	if err := s.enter(ctx); err != nil {
		return removed, err
	}
	defer s.mu.Unlock()
	order := func(a, b store.EndedCursor) int {
		return cmp.Or(a.Ended.Compare(b.Ended), compareIDs(a.ID, b.ID))
	}
	var old []store.EndedCursor
	for id, r := range s.tasks {
		if r.Kind != p.Kind || r.Status.Live() || s.options(id).Keep != 0 || s.now().Sub(*r.Stopped) <= p.Period {
			continue
		}
		if at := (store.EndedCursor{Ended: *r.Stopped, ID: id}); order(at, p.After) > 0 {
			old = append(old, at)
		}
	}
	slices.SortFunc(old, order)
	var (
		commit = s.commit()
		items  int64
		last   store.EndedCursor
	)
	for i, at := range old {
		r := s.tasks[at.ID]
		recorded := r.Progress.Failed + r.Progress.Skipped
		if i == p.Limit || items > 0 && items+recorded > p.Items {
			removed.Next = last
			break
		}
		items, last = items+recorded, at
		if !s.hasUnfinishedParent(r) {
			s.remove(commit, "RemoveEnded", r)
			removed.IDs = append(removed.IDs, at.ID)
		}
	}
	return removed, nil
}

// RemoveIdle implements [store.Upkeep].
func (s *Store) RemoveIdle(ctx context.Context, p store.WaitingTasks) (removed store.RemovedIdle, err error) {
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
		if last, young := p.Skip(id, now); young {
			removed.Next = last
			break
		}
		looked++
		r := s.tasks[id]
		period := p.Keep(r.Kind).Idle
		recorded := r.Progress.Failed + r.Progress.Skipped
		if r.Status == lifecycle.Queued && period > 0 && min(now.Sub(r.Modified), now.Sub(r.NotBefore)) > period && !s.hasUnfinishedParent(r) && !s.hasOpenChildren(id) {
			if items > 0 && items+recorded > p.Items {
				removed.Next = last
				break
			}
			items += recorded
			s.remove(commit, "RemoveIdle", r)
			removed.IDs = append(removed.IDs, id)
			s.events = append(s.events, event{task: id, Event: store.Event{
				Created: now, Action: string(lifecycle.ActDelete), Reason: store.EventReasonIdle, FromStatus: lifecycle.Queued,
			}})
		}
		last = id
	}
	return removed, nil
}
