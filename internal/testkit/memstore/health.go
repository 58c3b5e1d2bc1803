package memstore

import (
	"context"

	"taskkit.dev/internal/store"
)

// SetHealth sets what ReadHealth returns. It returns nothing at first.
func (s *Store) SetHealth(r store.HealthReading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.health = r
}

// Probe implements [store.Workers].
func (s *Store) Probe(ctx context.Context, _ bool) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	s.mu.Unlock()
	return nil
}

// ReadHealth implements [store.Workers].
func (s *Store) ReadHealth(ctx context.Context, _ store.HealthQuery) (store.HealthReading, error) {
	if err := s.enter(ctx); err != nil {
		return store.HealthReading{}, err
	}
	defer s.mu.Unlock()
	return s.health, nil
}
