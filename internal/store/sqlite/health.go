package sqlite

import (
	"context"

	"taskkit.dev/internal/store"
)

// ReadHealth implements [store.Workers]. SQLite has no autovacuum and no standbys, and one writer at
// a time: there is nothing to read.
func (s *Store) ReadHealth(context.Context, store.HealthQuery) (store.HealthReading, error) {
	return store.HealthReading{}, nil
}
