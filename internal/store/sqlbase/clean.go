package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
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

// endedTask is the condition that a task has ended and is kept as long as its kind, in the words of the index taskkit_ended.
const endedTask = "workflow_stopped_date IS NOT NULL AND keep_ms IS NULL"

// RemoveEnded implements [store.Upkeep]. What it reads decides nothing: the statement
// that removes a task repeats the conditions. Children stay while their parent is
// open or can be retried: it would do the work of a stage again that is gone. The children of a parent that is removed are removed when they are old enough themselves.
func (b *Base) RemoveEnded(ctx context.Context, p store.EndedTasks) (removed store.RemovedEnded, err error) {
	var (
		ids   []uuid.UUID
		items int64
		last  store.EndedCursor
		full  bool
		// A volatile function does not bound the scan of an index.
		old = strings.ReplaceAll(b.ago("$2"), "clock_timestamp", "statement_timestamp")
	)
	query, args := "", []any{p.Kind, Millis(p.Period), int64(p.Limit)}
	if p.After != (store.EndedCursor{}) {
		query = " AND (workflow_stopped_date, id) > (" + b.instant("$4") + ", " + b.id("$5") + ")"
		args = append(args, optionalTime(p.After.Ended), p.After.ID.String())
	}
	n, err := sqlrows.Query(ctx, b.q, b.SQL("SELECT id, workflow_stopped_date, items_failed + items_skipped FROM {s}taskkit_queued_task\nWHERE "+endedTask+
		" AND execution_component_name = $1 AND workflow_stopped_date < "+old+query+"\nORDER BY workflow_stopped_date, id LIMIT $3"), args, func(rows *sql.Rows) error {
		var (
			at  store.EndedCursor
			has int64
		)
		if err := rows.Scan(&at.ID, sqlrows.Time(&at.Ended), &has); err != nil || full {
			return err
		}
		if full = items > 0 && items+has > p.Items; !full {
			ids, items, last = append(ids, at.ID), items+has, at
		}
		return nil
	})
	if err != nil {
		return removed, fmt.Errorf("look for old tasks: %w", err)
	}
	if full || n == p.Limit {
		removed.Next = last
	}
	if len(ids) == 0 {
		return removed, nil
	}
	err = b.write(ctx, func(q store.Querier) (err error) {
		// The expression keeps the planner from the index: the tasks are read by their ids.
		removed.IDs, err = b.remove(ctx, q, "IN ("+TerminalStatuses()+") AND coalesce(workflow_stopped_date, {now}) < "+b.ago("$2"), ids, p.Period)
		return err
	})
	if err != nil {
		return store.RemovedEnded{}, fmt.Errorf("remove old tasks: %w", err)
	}
	return removed, nil
}

// RemoveIdle implements [store.Upkeep]. What it reads decides nothing, as in RemoveEnded.
func (b *Base) RemoveIdle(ctx context.Context, p store.WaitingTasks) (removed store.RemovedIdle, err error) {
	page := waitingPage{WaitingTasks: p, old: make(map[time.Duration][]uuid.UUID)}
	n, err := sqlrows.Query(ctx, b.q, b.SQL(`SELECT id, execution_component_name, workflow_status, items_failed + items_skipped,
  modified_date, not_before, {now}
FROM {s}taskkit_queued_task WHERE id > $1 ORDER BY id LIMIT $2`), []any{p.After.String(), int64(p.Limit)}, page.add)
	if err != nil {
		return removed, fmt.Errorf("look for idle tasks: %w", err)
	}
	if page.full || n == p.Limit {
		removed.Next = page.last
	}
	if len(page.old) == 0 {
		return removed, nil
	}
	err = b.write(ctx, func(q store.Querier) error {
		removed.IDs = nil
		for period, ids := range page.old {
			gone, err := b.remove(ctx, q, "= 'QUEUED' AND modified_date < "+b.ago("$2")+" AND not_before < "+b.ago("$2")+" AND NOT "+b.hasOpenChildren(), ids, period)
			if err != nil {
				return err
			}
			for _, id := range gone { // such a task may never have been read
				if err := b.recordEvent(ctx, q, id, store.Request{Action: lifecycle.ActDelete, Reason: store.EventReasonIdle}, lifecycle.Queued); err != nil {
					return err
				}
			}
			removed.IDs = append(removed.IDs, gone...)
		}
		return nil
	})
	if err != nil {
		return store.RemovedIdle{}, fmt.Errorf("remove idle tasks: %w", err)
	}
	return removed, nil
}

// waitingPage is a page of tasks, and the tasks of it that seem to be idle, by their period.
type waitingPage struct {
	store.WaitingTasks
	old   map[time.Duration][]uuid.UUID
	items int64     // recorded, of those
	full  bool      // what follows is left for the next page
	last  uuid.UUID // that was read, or need not be
}

// add reads a row.
func (p *waitingPage) add(rows *sql.Rows) error {
	var (
		id                       uuid.UUID
		kind, status             string
		items                    int64
		modified, notBefore, now time.Time
	)
	if err := rows.Scan(&id, &kind, &status, &items, sqlrows.Time(&modified),
		sqlrows.Time(&notBefore), sqlrows.Time(&now)); err != nil || p.full {
		return err
	}
	if last, young := p.Skip(id, now); young {
		p.last, p.full = last, true
		return nil
	}
	period := p.Keep(kind).Idle
	if lifecycle.Status(status) == lifecycle.Queued && period > 0 && min(now.Sub(modified), now.Sub(notBefore)) > period {
		if p.items > 0 && p.items+items > p.Items {
			p.full = true
			return nil
		}
		p.items += items
		p.old[period] = append(p.old[period], id)
	}
	p.last = id
	return nil
}

// remove removes the tasks whose status is still this and that are still old enough, by the period $2.
func (b *Base) remove(ctx context.Context, q store.Querier, status string, ids []uuid.UUID, period time.Duration) ([]uuid.UUID, error) {
	return sqlrows.IDs(ctx, q, b.SQL("DELETE FROM {s}taskkit_queued_task WHERE id IN (\n  SELECT id FROM {s}taskkit_queued_task q WHERE id "+
		b.anyID("$1")+" AND workflow_status"+AsExpression+" "+status+"\n  AND (parent_id IS NULL OR NOT EXISTS (SELECT 1 FROM {s}taskkit_queued_task p WHERE p.id = q.parent_id AND p.workflow_status <> 'COMPLETED')) "+b.skipLocked()+") RETURNING id"), b.idsArg(ids), Millis(period))
}
