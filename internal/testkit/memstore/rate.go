package memstore

import (
	"context"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workrate"
)

// rate is the rate of a task.
type rate struct {
	kind string
	store.Rate
}

// addRate adds to the rate of a task.
func (s *Store) addRate(id uuid.UUID, w *store.Worked) {
	if w == nil {
		return
	}
	r, exists := s.rates[id]
	if !exists {
		r.kind = w.Kind
	}
	r.History, r.Measured = r.Add(w.Sample), s.now()
	s.rates[id] = r
}

// Rate implements [store.Reader].
func (s *Store) Rate(ctx context.Context, id uuid.UUID) (store.Rate, error) {
	if err := s.enter(ctx); err != nil {
		return store.Rate{}, err
	}
	defer s.mu.Unlock()
	return s.rates[id].Rate, nil
}

// KindRates implements [store.Ops].
func (s *Store) KindRates(ctx context.Context, kind string, n int) (all []workrate.History, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for i := len(s.order) - 1; i >= 0 && len(all) < limit(n); i-- {
		if r, exists := s.rates[s.order[i]]; exists && r.kind == kind {
			all = append(all, r.History)
		}
	}
	return all, nil
}
