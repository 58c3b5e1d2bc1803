package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// firstEnded is a query of a column of the first entry in the index taskkit_ended that meets a condition.
func firstEnded(column, where string) string { // min(column) may read all that meets the condition
	return "(SELECT " + column + " FROM {s}taskkit_queued_task WHERE " + endedTask + where + "\n    ORDER BY execution_component_name, workflow_stopped_date LIMIT 1)"
}

// withEndedKinds makes the kinds of ended tasks a table, kinds, of the query that follows. The last kind is NULL. It reads the first entry of each kind.
var withEndedKinds = `WITH RECURSIVE kinds(kind) AS (
  SELECT ` + firstEnded("execution_component_name", "") + `
  UNION ALL
  SELECT ` + firstEnded("execution_component_name", " AND execution_component_name > k.kind") + `
  FROM kinds k WHERE k.kind IS NOT NULL
)`

// EndedKinds implements [store.Upkeep].
func (b *Base) EndedKinds(ctx context.Context) (found []store.EndedKind, err error) {
	_, err = sqlrows.Query(ctx, b.q, b.SQL(withEndedKinds+`
SELECT k.kind, `+firstEnded("workflow_stopped_date", " AND execution_component_name = k.kind")+`, {now}
FROM kinds k WHERE k.kind IS NOT NULL`), nil, func(rows *sql.Rows) error {
		var (
			k          store.EndedKind
			ended, now time.Time
		)
		err := rows.Scan(&k.Kind, sqlrows.Time(&ended), sqlrows.Time(&now))
		if !ended.IsZero() { // the last one may be gone
			k.Age = now.Sub(ended)
			found = append(found, k)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for kinds of ended tasks: %w", err)
	}
	return found, nil
}

// EndedBetween implements [store.Ops].
func (b *Base) EndedBetween(ctx context.Context, from, until time.Time, read int) (n int64, exact bool, err error) {
	var most int64
	// The order keeps the planner to the index, which has it; without MATERIALIZED it would count for each use of n.
	_, err = sqlrows.Query(ctx, b.q, b.SQL(withEndedKinds+`, counted(n) AS MATERIALIZED (
  SELECT (SELECT count(*) FROM (
    SELECT 1 FROM {s}taskkit_queued_task WHERE `+endedTask+` AND execution_component_name = k.kind
      AND workflow_stopped_date >= `+b.instant("$1")+` AND workflow_stopped_date < `+b.instant("$2")+` ORDER BY workflow_stopped_date LIMIT $3
  ) ended) FROM kinds k WHERE k.kind IS NOT NULL
)
SELECT CAST(coalesce(sum(n), 0) AS bigint), coalesce(max(n), 0) FROM counted`), []any{instantArg(from), instantArg(until), int64(read)}, func(rows *sql.Rows) error { return rows.Scan(&n, &most) })
	if err != nil {
		return 0, false, fmt.Errorf("count the tasks that ended between %v and %v: %w", from, until, err)
	}
	return n, most < int64(read), nil
}
