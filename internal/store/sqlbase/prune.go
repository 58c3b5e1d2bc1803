package sqlbase

import (
	"context"
	"fmt"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
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
	// The ids are of version 7, in the order of time but for the clocks of the
	// clients: the page with the lowest ids has the oldest events, and nothing
	// behind it is read.
	old, err := sqlrows.IDs(ctx, q, b.SQL(`SELECT id FROM (
  SELECT id, created_date FROM {s}taskkit_task_event ORDER BY id LIMIT $1
) page WHERE created_date < `)+b.ago("$2"), int64(limit), Millis(olderThan))
	if err != nil || len(old) == 0 {
		return 0, err
	}
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
	r, err := q.ExecContext(ctx, b.SQL("DELETE FROM {s}taskkit_task_event WHERE id IN (\n  SELECT id FROM {s}taskkit_task_event WHERE id "+
		b.anyID("$1")+" "+b.skipLocked()+")"), b.idsArg(old))
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	return int(n), err
}
