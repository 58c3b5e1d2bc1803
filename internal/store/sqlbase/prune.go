package sqlbase

import (
	"context"
	"fmt"
	"time"

	"taskkit.dev/internal/store"
)

// PruneEvents implements [store.Common]. The guard of the events lets a
// transaction delete the events that are older than a row it has inserted into
// taskkit_event_prune. The row is removed before the commit, so that no other
// transaction ever sees it.
func (b *Base) PruneEvents(ctx context.Context, olderThan time.Duration, limit int) (deleted int, err error) {
	err = b.write(ctx, func(q store.Querier) (err error) {
		deleted, err = b.pruneEvents(ctx, q, olderThan, limit)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("delete events older than %v: %w", olderThan, err)
	}
	return deleted, nil
}

func (b *Base) pruneEvents(ctx context.Context, q store.Querier, olderThan time.Duration, limit int) (deleted int, err error) {
	marker := store.NewID().String()
	_, err = q.ExecContext(ctx, b.SQL("INSERT INTO {s}taskkit_event_prune (id, before_date) VALUES ($1, ")+b.ago("$2")+")", marker, Millis(olderThan))
	if err != nil {
		return 0, err
	}
	// A caller's transaction may be committed after an error or after the end of
	// ctx: the marker must not stay.
	defer func() {
		detached, cancel := Detached(ctx, RollbackWithin)
		defer cancel()
		_, removeErr := q.ExecContext(detached, b.SQL("DELETE FROM {s}taskkit_event_prune WHERE id = $1"), marker)
		if err == nil {
			err = removeErr
		}
	}()
	// The ids are of version 7: they are in the order of time.
	r, err := q.ExecContext(ctx, b.SQL(`WITH old AS MATERIALIZED (
  SELECT id FROM {s}taskkit_task_event
  WHERE created_date < (SELECT before_date FROM {s}taskkit_event_prune WHERE id = $1)
  ORDER BY id LIMIT $2 `)+b.skipLocked()+b.SQL(`
)
DELETE FROM {s}taskkit_task_event WHERE id IN (SELECT id FROM old)`), marker, int64(limit))
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	return int(n), err
}
