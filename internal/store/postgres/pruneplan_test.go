package postgres

import (
	"context"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/testkit/testdb"
)

// The cleaner reads a page of events, however many there are: those that are due
// to be deleted, and none of them.
func TestPruneReadsOnePage(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	planStore(t, db)
	const limit = 100
	for _, statement := range []string{
		"ALTER TABLE taskkit_task_event SET (autovacuum_enabled = false)",
		"ANALYZE taskkit_task_event",
		// The ids are in the order of time.
		`INSERT INTO taskkit_task_event (id, task_id, created_date, action, was)
SELECT lpad(to_hex(n), 32, '0')::uuid, gen_random_uuid(), now() - interval '1 day' + n * interval '0.5 second', 'pause', 'QUEUED'
FROM generate_series(1, 100000) n`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for _, olderThan := range []time.Duration{48 * time.Hour, time.Hour} {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.ExecContext(t.Context(), "SET LOCAL plan_cache_mode = "+mode); err != nil {
				t.Fatal(err)
			}
			before := eventsRead(t.Context(), t, tx) // of a transaction before, on this connection
			deleted, err := sqlbase.NewClient(tx, db.Schema, dialect.Postgres).PruneEvents(t.Context(), olderThan, limit)
			if err != nil {
				t.Fatal(err)
			}
			read := eventsRead(t.Context(), t, tx) - before
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			// The page is read three times: to find it, to lock it, to delete it.
			if want := min(limit, limit*int(48-olderThan/time.Hour)); deleted != want || read > 3*limit+1 {
				t.Errorf("%s: deleted %d events older than %v, want %d, and read %d, want at most %d", mode, deleted, olderThan, want, read, 3*limit+1)
			}
		}
	}
}

// eventsRead returns how many events the transaction has read.
func eventsRead(ctx context.Context, t *testing.T, q store.Querier) (n int) {
	t.Helper()
	rows, err := q.QueryContext(ctx, "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relid = 'taskkit_task_event'::regclass")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if !rows.Next() {
		t.Fatal("no statistics of the events", rows.Err())
	}
	if err := rows.Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
