package sqlbase

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// parentOf is the parent of a task to which a request is made. The zero value is none.
type parentOf struct {
	id      uuid.UUID
	status  lifecycle.Status // "": it has been removed
	control lifecycle.Control
}

// lockParent keeps the parent of a task from ending until the transaction ends, for a retry
// that makes the task open again, and for a delete. On PostgreSQL it comes before the lock of
// the task, as everywhere.
func (b *Base) lockParent(ctx context.Context, q store.Querier, id uuid.UUID) (p parentOf, err error) {
	parents, err := sqlrows.IDs(ctx, q, b.SQL("SELECT parent_id FROM {s}taskkit_queued_task WHERE id = $1 AND parent_id IS NOT NULL"), id.String())
	if err != nil || len(parents) == 0 {
		return parentOf{}, err
	}
	p.id = parents[0]
	_, err = sqlrows.Query(ctx, q, b.SQL("SELECT workflow_status, control FROM {s}taskkit_queued_task q WHERE id = $1 "+b.lockRow("q")),
		[]any{p.id.String()}, func(rows *sql.Rows) error { return rows.Scan(&p.status, &p.control) })
	return p, err
}

// forbidsRetry returns why the task, a child of the parent, cannot be retried alone.
func (p parentOf) forbidsRetry(child uuid.UUID) error {
	if p.id == uuid.Nil || p.status.Live() {
		return nil
	}
	return &store.ParentError{ID: child, Parent: p.id, Status: p.status}
}

// forbidsDelete returns why the task, a child of the parent, cannot be deleted alone. A parent
// that is open or can be retried would do the work of a stage again, and leave out the work of a
// bucket.
func (p parentOf) forbidsDelete(child uuid.UUID) error {
	if p.id == uuid.Nil || p.status == "" || p.status == lifecycle.Completed || p.control == lifecycle.Delete {
		return nil
	}
	return &store.NeededError{ID: child, Parent: p.id, Status: p.status}
}
