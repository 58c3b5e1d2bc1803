package postgres

import (
	"context"
	"fmt"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
)

// withReport makes the write of a checkpoint, and the report of a preview if that took
// effect, by one statement: so a batch of a preview has no more round trips than
// one that commits.
const withReport = `WITH applied(ord, control) AS (
%s
), reported AS (
UPDATE {s}taskkit_task_plan p SET report = $%d::text::json FROM applied WHERE p.task_id = $1::text::uuid
)
SELECT ord, control FROM applied`

// hasReportOnly reports whether writes are one checkpoint, with which nothing
// else is recorded than a report.
func hasReportOnly(writes []*store.Write) bool {
	if len(writes) != 1 || !writes[0].IsCheckpoint() || writes[0].Report == nil {
		return false
	}
	w := *writes[0]
	w.Report = nil
	return !sqlbase.HasRecords(&w)
}

// applyReport makes the write of a checkpoint with a report.
func (s *Store) applyReport(ctx context.Context, q store.Querier, w *store.Write) ([]store.Applied, error) {
	writes, applied := []*store.Write{w}, make([]store.Applied, 1)
	l := newUpdatePlan(writes)
	args := append(l.args(writes), string(w.Report))
	query := s.SQL(fmt.Sprintf(withReport, s.applySQL(l), len(args)))
	return applied, update(ctx, q, query, args, func(i int, a store.Applied) { applied[i] = a })
}
