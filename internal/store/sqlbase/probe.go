package sqlbase

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"taskkit.dev/internal/store"
)

// errUndo rolls a probe back.
var errUndo = errors.New("roll back")

// ProbeWrites begins a transaction that may write and rolls it back. In it, it writes so many bytes, if it is not 0.
func (b *Base) ProbeWrites(ctx context.Context, write Transact, size int) error {
	err := write(ctx, func(q store.Querier) error {
		if size > 0 {
			random := make([]byte, size/2)
			_, _ = rand.Read(random) // never fails, see its documentation
			if _, err := q.ExecContext(ctx, b.SQL(`INSERT INTO {s}taskkit_task_process (id, version, dead_after_ms, kinds, queues, slots, safe_mode)
VALUES ($1, $2, 1, '{}', '[]', 0, true)`), "probe-"+rand.Text(), hex.EncodeToString(random)); err != nil {
				return err
			}
		}
		return errUndo
	})
	if errors.Is(err, errUndo) {
		return nil
	}
	return fmt.Errorf("probe whether the database takes writes: %w", err)
}
