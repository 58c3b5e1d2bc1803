package sqlite

import (
	"context"
	"fmt"

	"taskkit.dev/internal/store"
)

// probeSize is how many bytes a probe of the disk writes: more than a file that could not grow by a batch is likely to have free.
const probeSize = 1 << 20

// Probe implements [store.Workers]. Before its COMMIT a transaction writes to the disk what its cache cannot hold, so a probe of the
// disk has a small one.
func (s *Store) Probe(ctx context.Context, disk bool) error {
	if !disk {
		return s.ProbeWrites(ctx, s.inTx, 0)
	}
	return s.ProbeWrites(ctx, func(ctx context.Context, f func(store.Querier) error) error {
		w, err := s.begin(ctx)
		if err != nil {
			return err
		}
		defer func() {
			_, _ = w.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			w.release(true) // with its small cache
		}()
		if _, err := w.conn.ExecContext(ctx, "PRAGMA cache_size = 10"); err != nil {
			return fmt.Errorf("set the size of the cache: %w", err)
		}
		return f(w)
	}, probeSize)
}
