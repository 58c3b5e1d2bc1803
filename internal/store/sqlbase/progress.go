package sqlbase

import "taskkit.dev/internal/lifecycle"

// ProgressColumns is the SQL of the progress of the task q, in the order of [scanProgress].
const ProgressColumns = "coalesce(q.items_total, -1), q.position, q.round, q.deferred, q.items_done, q.items_failed, q.items_skipped"

// scanProgress returns the scan targets of [ProgressColumns].
func scanProgress(p *lifecycle.Progress) []any {
	return []any{&p.Total, &p.Position, &p.Round, &p.Deferred, &p.Done, &p.Failed, &p.Skipped}
}
