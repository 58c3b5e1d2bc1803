package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// EraseResults implements [store.Upkeep]. The row stays as long as its task, so that
// a reader learns that there was a result.
func (b *Base) EraseResults(ctx context.Context, limit int) (erased int, err error) {
	err = b.writeOne(ctx, func(q store.Querier) error {
		r, err := q.ExecContext(ctx, b.SQL(`UPDATE {s}taskkit_task_result SET result = NULL WHERE id IN (
  SELECT id FROM {s}taskkit_task_result WHERE expiry_date < {now} AND expiry_date IS NOT NULL AND result IS NOT NULL
  ORDER BY expiry_date LIMIT $1 `)+b.skipLocked()+")", int64(limit))
		if err != nil {
			return err
		}
		n, err := r.RowsAffected()
		erased = int(n)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("erase expired results: %w", err)
	}
	return erased, nil
}

// RemoveTasks implements [store.Upkeep]. What it reads decides nothing: the statement
// that removes a task repeats the conditions. Children stay while their parent is
// open or can be retried: it would do the work of a stage again that is gone. The children of a parent that is removed are removed when they are old enough themselves.
func (b *Base) RemoveTasks(ctx context.Context, p store.OldTasks) (removed store.RemovedTasks, err error) {
	page := oldPage{OldTasks: p, old: make(map[oldGroup][]uuid.UUID)}
	n, err := sqlrows.Query(ctx, b.q, b.SQL(`SELECT id, execution_component_name, workflow_status, items_failed + items_skipped,
  created_date, modified_date, not_before, workflow_stopped_date, {now}
FROM {s}taskkit_queued_task WHERE id > $1 ORDER BY id LIMIT $2`), []any{p.After.String(), int64(p.Limit)}, page.add)
	if err != nil {
		return removed, fmt.Errorf("look for old tasks: %w", err)
	}
	if page.full || n == p.Limit && !page.young {
		removed.Next = page.last
	}
	if len(page.old) == 0 {
		return removed, nil
	}
	err = b.write(ctx, func(q store.Querier) error {
		removed.Ended, removed.Idle = nil, nil
		for g, ids := range page.old {
			gone, err := b.removeGroup(ctx, q, g, ids)
			if err != nil {
				return err
			}
			if g.idle {
				removed.Idle = append(removed.Idle, gone...)
			} else {
				removed.Ended = append(removed.Ended, gone...)
			}
		}
		return nil
	})
	if err != nil {
		return store.RemovedTasks{}, fmt.Errorf("remove old tasks: %w", err)
	}
	return removed, nil
}

// oldGroup is which tasks one statement removes.
type oldGroup struct {
	idle   bool
	period time.Duration
}

// oldPage is a page of tasks, and the tasks of it that seem to be old enough.
type oldPage struct {
	store.OldTasks
	old   map[oldGroup][]uuid.UUID
	items int64     // recorded, of those
	full  bool      // what follows is left for the next page
	last  uuid.UUID // that was read
	young bool      // it was too young, as all that follow are
}

// add reads a row.
func (p *oldPage) add(rows *sql.Rows) error {
	var (
		id                                       uuid.UUID
		kind, status                             string
		items                                    int64
		created, modified, notBefore, ended, now time.Time
	)
	if err := rows.Scan(&id, &kind, &status, &items, sqlrows.Time(&created), sqlrows.Time(&modified),
		sqlrows.Time(&notBefore), sqlrows.Time(&ended), sqlrows.Time(&now)); err != nil || p.full {
		return err
	}
	var (
		keep = p.Keep(kind)
		g    oldGroup
		age  time.Duration
	)
	switch s := lifecycle.Status(status); {
	case !s.Live():
		g, age = oldGroup{false, keep.Ended}, now.Sub(ended)
	case s == lifecycle.Queued:
		g, age = oldGroup{true, keep.Idle}, min(now.Sub(modified), now.Sub(notBefore))
	}
	if g.period > 0 && age > g.period {
		if p.items > 0 && p.items+items > p.Items {
			p.full = true
			return nil
		}
		p.items += items
		p.old[g] = append(p.old[g], id)
	}
	p.last, p.young = id, now.Sub(created) < p.Youngest
	return nil
}

// removeGroup removes the tasks that are still old enough.
func (b *Base) removeGroup(ctx context.Context, q store.Querier, g oldGroup, ids []uuid.UUID) ([]uuid.UUID, error) {
	old := "workflow_status IN (" + TerminalStatuses() + ") AND workflow_stopped_date < " + b.ago("$2")
	if g.idle {
		old = "workflow_status = 'QUEUED' AND modified_date < " + b.ago("$2") + " AND not_before < " + b.ago("$2")
	}
	gone, err := sqlrows.IDs(ctx, q, b.SQL("DELETE FROM {s}taskkit_queued_task WHERE id IN (\n  SELECT id FROM {s}taskkit_queued_task q WHERE id "+
		b.anyID("$1")+" AND "+old+"\n  AND (parent_id IS NULL OR NOT EXISTS (SELECT 1 FROM {s}taskkit_queued_task p WHERE p.id = q.parent_id AND p.workflow_status <> 'COMPLETED')) "+b.skipLocked()+") RETURNING id"), b.idsArg(ids), Millis(g.period))
	if err != nil || !g.idle {
		return gone, err
	}
	for _, id := range gone { // such a task may never have been read
		if err := b.recordEvent(ctx, q, id, store.Request{Action: lifecycle.ActDelete, Reason: store.EventReasonIdle}, lifecycle.Queued); err != nil {
			return nil, err
		}
	}
	return gone, nil
}
