package sqlbase

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// Plan implements [store.Common]. A bucket has the spec of its parent.
func (b *Base) Plan(ctx context.Context, id uuid.UUID) (store.Plan, error) {
	var (
		p     store.Plan
		where sql.NullString
		field sql.NullString
		total sql.NullInt64
		text  json.RawMessage
		first sql.NullTime
		v     store.Versioned
		has   bool
	)
	n, err := sqlrows.Query(ctx, b.q, b.SQL(`SELECT coalesce(q.execution_spec, p.spec), p.targets, p.targets_field, p.targets_total, p.options, p.report, `+firstStart+`, {now},
  q.execution_component_name, coalesce(q.reference, ''), q.reference_version IS NOT NULL, coalesce(q.reference_version, 0), coalesce(q.traceparent, '')
FROM {s}taskkit_queued_task q LEFT JOIN {s}taskkit_task_plan p ON p.task_id = q.id
WHERE q.id = $1`), []any{id.String()},
		func(rows *sql.Rows) error {
			return rows.Scan(sqlrows.JSON(&p.Spec), &where, &field, &total, sqlrows.JSON(&text), sqlrows.JSON(&p.Report), nullTime{&first}, sqlrows.Time(&p.Now),
				&v.Kind, &v.Reference, &has, &v.Version, &p.Traceparent)
		})
	if err != nil {
		return store.Plan{}, fmt.Errorf("read the spec of task %s: %w", id, err)
	}
	if n == 0 {
		return store.Plan{}, store.ErrNotFound
	}
	p.FirstStarted = first.Time
	if has {
		p.Versioned = &v
	}
	if p.Options, err = store.DecodeOptions(text); err != nil {
		return store.Plan{}, fmt.Errorf("read the plan of task %s: %w", id, err)
	}
	if field.Valid {
		p.Frozen = &store.FrozenTargets{Field: field.String, Total: total.Int64, Finding: where.String == store.TargetsFinding}
	}
	if c := p.Options.Child; p.Spec == nil && c.Bucket() {
		parent, err := b.Plan(ctx, c.Parent)
		if err != nil && !errors.Is(err, store.ErrNotFound) { // an ended bucket may outlive its parent
			return store.Plan{}, err
		}
		if p.Spec = parent.Spec; c.Range != nil {
			p.Frozen = parent.Frozen
		}
	}
	return p, nil
}

// StoreTrace implements [store.Sessions].
func (b *Base) StoreTrace(ctx context.Context, l store.Lease, traceparent string) error {
	err := b.writeOne(ctx, func(q store.Querier) error {
		_, err := q.ExecContext(ctx, b.SQL("UPDATE {s}taskkit_queued_task SET traceparent = $3 WHERE id = $1 AND fence = $2 AND workflow_status IN ('SCHEDULING', 'EXECUTING')"), l.ID.String(), l.Fence, traceparent)
		return err
	})
	if err != nil {
		return fmt.Errorf("store the trace of task %s: %w", l.ID, err)
	}
	return nil
}

// Targets implements [store.Common].
func (b *Base) Targets(ctx context.Context, id uuid.UUID, first, last int) ([]store.TargetPage, error) {
	var pages []store.TargetPage
	_, err := sqlrows.Query(ctx, b.q, b.SQL(`SELECT page, keys FROM {s}taskkit_task_target
WHERE task_id = $1 AND page BETWEEN $2 AND $3 ORDER BY page`), []any{id.String(), int64(first), int64(last)},
		func(rows *sql.Rows) error {
			var p store.TargetPage
			err := rows.Scan(&p.Number, sqlrows.JSON(&p.Keys))
			pages = append(pages, p)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read the pages %d to %d of the targets of task %s: %w", first, last, id, err)
	}
	return pages, nil
}

// Deferred implements [store.Sessions].
func (b *Base) Deferred(ctx context.Context, id uuid.UUID, after int64, limit int) (positions []int64, all int64, err error) {
	_, err = sqlrows.Query(ctx, b.q, b.SQL(`SELECT position, count(*) OVER () FROM {s}taskkit_task_item
WHERE task_id = $1 AND outcome = 'deferred' AND position > $2 ORDER BY position LIMIT $3`), []any{id.String(), after, int64(limit)},
		func(rows *sql.Rows) error {
			var p int64
			err := rows.Scan(&p, &all)
			positions = append(positions, p)
			return err
		})
	if err != nil {
		return nil, 0, fmt.Errorf("read the deferred items of task %s: %w", id, err)
	}
	return positions, all, nil
}
