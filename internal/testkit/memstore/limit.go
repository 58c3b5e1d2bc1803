package memstore

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// limited is a task under one of its limits.
type limited struct {
	fence   int64
	atMost  int
	waiting bool
}

// limits are the tasks under limits, and what was set of these, by key.
type limits struct {
	tasks map[string]map[uuid.UUID]limited
	set   map[string]int
}

func newLimits() limits {
	return limits{make(map[string]map[uuid.UUID]limited), make(map[string]int)}
}

// executing returns the tasks with a permit of a key.
func (s *Store) executing(key string) map[uuid.UUID]bool {
	found := make(map[uuid.UUID]bool)
	for id, l := range s.limits.tasks[key] {
		if r := s.tasks[id]; r != nil && !l.waiting && r.Fence == l.fence && r.Status.InFlight() {
			found[id] = true
		}
	}
	return found
}

// permits returns the number of permits of a limit.
func (s *Store) permits(l store.Limit) int {
	if n, ok := s.limits.set[l.Key]; ok {
		return n
	}
	return l.AtMost
}

// TakePermits implements [store.Sessions].
func (s *Store) TakePermits(ctx context.Context, tasks []store.PermitRequest) ([]store.PermitAnswer, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	answers := make([]store.PermitAnswer, len(tasks))
	for i, a := range tasks {
		if v := a.Versioned; v != nil {
			if newest := s.versions[reference{v.Kind, v.Reference}].n; newest > v.Version {
				answers[i] = store.PermitAnswer{Newest: newest}
				continue
			}
		}
		answers[i] = store.PermitAnswer{OK: true}
		for _, l := range a.Limits {
			if h := s.executing(l.Key); !h[a.ID] && len(h) >= s.permits(l) {
				answers[i] = store.PermitAnswer{Full: store.Limit{Key: l.Key, AtMost: s.permits(l)}}
				break
			}
		}
		for _, l := range a.Limits {
			if !answers[i].OK && l.Key != answers[i].Full.Key {
				continue
			}
			of := s.limits.tasks[l.Key]
			if of == nil {
				of = make(map[uuid.UUID]limited)
				s.limits.tasks[l.Key] = of
			}
			if of[a.ID].fence <= a.Fence {
				of[a.ID] = limited{a.Fence, l.AtMost, !answers[i].OK}
			}
		}
	}
	return answers, nil
}

// WakeWaiting implements [store.Upkeep].
func (s *Store) WakeWaiting(ctx context.Context, keys []string) ([]uuid.UUID, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.wakeWaiting(s.commit(), keys), nil
}

func (s *Store) wakeWaiting(commit int64, keys []string) (woken []uuid.UUID) {
	keys = slices.Sorted(slices.Values(keys))
	for _, key := range slices.Compact(keys) {
		of := s.limits.tasks[key]
		executing := s.executing(key)
		n := 0
		for _, id := range slices.SortedFunc(maps.Keys(of), compareIDs) {
			l, r := of[id], s.tasks[id]
			switch {
			case r == nil || r.Fence != l.fence || !r.Status.Live(), !l.waiting && !executing[id]:
				delete(of, id)
			case !l.waiting || r.Status != lifecycle.Queued || !r.NotBefore.After(s.now()) || n >= s.permits(store.Limit{Key: key, AtMost: l.atMost})-len(executing):
			default:
				t := r.Task
				due := s.now()
				if r.Created.Before(due) {
					due = r.Created
				}
				t.Row = t.Wake(due, lifecycle.ReasonPermitFree)
				if s.change(commit, "WakeWaiting", r, &t) == nil {
					if r.Control != lifecycle.Pause && !s.isPaused(r.Queue) {
						n++
					}
					woken = append(woken, id)
				}
			}
		}
	}
	if len(woken) > 0 {
		s.wake()
	}
	return woken
}

// Limited implements [store.Ops].
func (s *Store) Limited(ctx context.Context, after string, limit int) ([]store.LimitUse, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	keys := make(map[string]struct{})
	open := func(id uuid.UUID) bool { r := s.tasks[id]; return r != nil && r.Status.Live() }
	for key, tasks := range s.limits.tasks {
		if slices.ContainsFunc(slices.Collect(maps.Keys(tasks)), open) {
			keys[key] = struct{}{}
		}
	}
	for key := range s.limits.set {
		keys[key] = struct{}{}
	}
	var uses []store.LimitUse
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if strings.Compare(key, after) <= 0 || strings.HasPrefix(key, lifecycle.ReservedLimit) || len(uses) == limit {
			continue
		}
		u := store.LimitUse{Key: key, Executing: int64(len(s.executing(key)))}
		for id, l := range s.limits.tasks[key] {
			if !open(id) {
				continue
			}
			if u.AtMost == 0 || l.atMost < u.AtMost {
				u.AtMost = l.atMost
			}
			if r := s.tasks[id]; l.waiting && r != nil && r.Fence == l.fence && r.Status == lifecycle.Queued {
				u.Waiting++
			}
		}
		if n, ok := s.limits.set[key]; ok {
			u.AtMost, u.Set = n, true
		}
		uses = append(uses, u)
	}
	return uses, nil
}

// SetLimit implements [store.Requests].
func (s *Store) SetLimit(ctx context.Context, key string, atMost int, by uuid.UUID, reason string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.recordSetting(store.LimitChange(key, s.limits.set[key], atMost, by, reason))
	delete(s.limits.set, key)
	if atMost > 0 {
		s.limits.set[key] = atMost
	}
	s.wakeWaiting(s.commit(), []string{key})
	return nil
}
