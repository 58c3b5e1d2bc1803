package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// Subjects implements [store.Reader].
func (b *Base) Subjects(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]*store.Subject, error) {
	found := make(map[uuid.UUID]*store.Subject, len(ids))
	key := func(prefix string) string { return "'" + prefix + "' || CAST(q.id AS text)" }
	_, err := sqlrows.Query(ctx, b.q, b.SQL("SELECT q.id, "+subjectColumns+", "+b.surroundings(key(store.ContinuationPrefix))+`,
  `+b.withKey(key(store.RetryPrefix))+", "+b.withKey(key(store.ApplicationPrefix))+`,
  (SELECT c.id FROM {s}taskkit_queued_task c WHERE c.execution_component_name = q.execution_component_name AND c.unique_key = q.unique_key
    AND c.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING') AND c.id <> q.id), parent_id,
  coalesce((SELECT p.workflow_status FROM {s}taskkit_queued_task p WHERE p.id = q.parent_id), ''),
  coalesce((SELECT p.control FROM {s}taskkit_queued_task p WHERE p.id = q.parent_id), '')
FROM {s}taskkit_queued_task q WHERE q.id `+b.anyID("$1")), []any{b.idsArg(ids)}, func(rows *sql.Rows) error {
		var (
			r                               subjectRow
			id                              uuid.UUID
			retried, applied, keyed, parent uuid.NullUUID
		)
		to := append([]any{&id}, r.own()...)
		to = append(append(to, r.around()...), &retried, &applied, &keyed, &parent, &r.Parent.Status, &r.Parent.Control)
		if err := rows.Scan(to...); err != nil {
			return err
		}
		row, err := r.subject(id)
		if err != nil {
			return err
		}
		row.Retried, row.Applied, row.KeyHolder, row.Parent.ID = retried.UUID, applied.UUID, keyed.UUID, parent.UUID
		if row.Abandoned() { // a request releases it first
			row.Status = lifecycle.Queued
		}
		found[id] = &row.Subject
		return nil
	})
	if err == nil {
		err = b.sumProgress(ctx, b.q, slices.Collect(maps.Values(found))...)
	}
	if err != nil {
		return nil, fmt.Errorf("read what decides about requests of %d tasks: %w", len(ids), err)
	}
	return found, nil
}
