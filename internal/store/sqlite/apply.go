package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlrows"
)

// removeQuery ends a task that is to be deleted, however its holder ends it.
const removeQuery = `DELETE FROM taskkit_queued_task
WHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND workflow_status IN ('SCHEDULING', 'EXECUTING') AND control = 'DELETE'`

// Apply implements [store.Sessions]. It ignores the process, since the fences identify
// its claims.
func (s *Store) Apply(ctx context.Context, _ string, writes []*store.Write) ([]store.Applied, error) {
	if len(writes) == 0 {
		return nil, nil
	}
	var applied []store.Applied
	err := s.inTx(ctx, func(q store.Querier) (err error) {
		applied, err = s.apply(ctx, q, writes)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("write %d tasks: %w", len(writes), err)
	}
	return applied, nil
}

// apply makes writes one after another, in the caller's transaction.
func (s *Store) apply(ctx context.Context, q store.Querier, writes []*store.Write) ([]store.Applied, error) {
	// For a cancellable context the driver starts a goroutine per statement, which
	// costs more than the write of one row.
	detached := context.WithoutCancel(ctx)
	var now string
	if len(writes) > 1 {
		if _, err := sqlrows.Query(detached, q, "SELECT "+dialect.SQLiteNow, nil, func(rows *sql.Rows) error { return rows.Scan(&now) }); err != nil {
			return nil, err
		}
	}
	applied := make([]store.Applied, len(writes))
	for i := range writes {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		w := writes[i]
		open, err := s.OpenParents(ctx, q, []*store.Write{w})
		if err != nil {
			return nil, err
		}
		if len(open) > 0 {
			applied[i].Open = true
			continue
		}
		if applied[i], err = s.applyOne(detached, q, w, now); err != nil {
			return nil, err
		}
		if removed := w.To.Terminal() && applied[i].Control == lifecycle.Delete; applied[i].OK && !removed {
			if err := s.Record(ctx, q, []*store.Write{w}, []*store.Applied{&applied[i]}); err != nil {
				return nil, err
			}
		}
	}
	return applied, nil
}

// applyOne makes one write, at a time or, if it is "", now.
func (s *Store) applyOne(ctx context.Context, q store.Querier, w *store.Write, now string) (a store.Applied, err error) {
	statements, args := s.statements(newApplyPlan(w, now)), []any{
		w.ID.String(), w.Fence, w.Seq, int64(w.Revision), string(w.State),
		w.Progress.Total, w.Progress.Position, w.Progress.Done, w.Progress.Failed, w.Progress.Skipped,
		int64(max(w.Attempts, 0)), due(w), classify.Clean(w.StatusDetail), classify.Clean(w.Reason), w.Partial, now,
		int64(w.Progress.Round), w.Progress.Deferred,
	}
	if statements == nil {
		return a, nil
	}
	exec := func(query string, args ...any) error {
		r, err := q.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		n, err := r.RowsAffected()
		a.OK = n > 0
		return err
	}
	if err := exec(statements.free, args...); err != nil || a.OK {
		return a, err
	}
	// A request is pending, or the task lease is lost.
	if w.To.Terminal() {
		if err := exec(removeQuery, w.ID.String(), w.Fence, w.Seq); err != nil {
			return a, err
		}
		if a.OK {
			a.Control = lifecycle.Delete
			return a, s.RemoveFamilies(ctx, q, w)
		}
		return a, exec(statements.ending, args...)
	}
	rows, err := sqlrows.Query(ctx, q, statements.asking, args, func(rows *sql.Rows) error { return rows.Scan(&a.Control) })
	a.OK = rows > 0
	return a, err
}

// due is the parameter of not_before: a delay in milliseconds, or a time.
func due(w *store.Write) any {
	if w.At.IsZero() {
		return sqlbase.DelayMillis(w)
	}
	return w.At.UTC().Format("2006-01-02 15:04:05.000")
}
