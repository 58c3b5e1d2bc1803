package vitals

import (
	"context"
	"database/sql"
	"fmt"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

const statusesQuery = `SELECT u.status, (c.reltuples::float8 * u.freq::float8)::bigint
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = 'workflow_status'::name
CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(s.most_common_vals::text::text[]), pg_catalog.unnest(s.most_common_freqs)) AS u (status, freq)
WHERE n.nspname = $1::text::name AND c.relname = 'taskkit_queued_task'::name AND c.reltuples > 0::real`

// ReadStatuses returns about how many tasks have each status, by the statistics of the planner. A status that is rare may be missing, and all are
// when the table has never been analyzed.
func ReadStatuses(ctx context.Context, q store.Querier, schema string) (map[lifecycle.Status]int64, error) {
	found := make(map[lifecycle.Status]int64)
	_, err := sqlrows.Query(ctx, q, statusesQuery, []any{schema}, func(rows *sql.Rows) error {
		var (
			status lifecycle.Status
			n      int64
		)
		err := rows.Scan(&status, &n)
		found[status] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the statistics of the tasks: %w", err)
	}
	return found, nil
}
