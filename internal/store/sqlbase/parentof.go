package sqlbase

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// lockParent keeps the parent of a task from ending until the transaction ends, for a retry
// that makes the task open again, and for a delete. On PostgreSQL it comes before the lock of
// the task, as everywhere.
func (b *Base) lockParent(ctx context.Context, q store.Querier, id uuid.UUID) (store.ParentState, error) {
	return b.parentOf(ctx, q, id, b.lockRow("q"))
}

// parentOf reads the parent of a task with a lock, or without.
func (b *Base) parentOf(ctx context.Context, q store.Querier, id uuid.UUID, lock string) (p store.ParentState, err error) {
	parents, err := sqlrows.IDs(ctx, q, b.SQL("SELECT parent_id FROM {s}taskkit_queued_task WHERE id = $1 AND parent_id IS NOT NULL"), id.String())
	if err != nil || len(parents) == 0 {
		return store.ParentState{}, err
	}
	p.ID = parents[0]
	_, err = sqlrows.Query(ctx, q, b.SQL("SELECT workflow_status, control FROM {s}taskkit_queued_task q WHERE id = $1 "+lock),
		[]any{p.ID.String()}, func(rows *sql.Rows) error { return rows.Scan(&p.Status, &p.Control) })
	return p, err
}
