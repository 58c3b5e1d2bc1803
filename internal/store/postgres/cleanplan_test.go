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

// ended inserts tasks of a kind that ended so many days ago.
const ended = `INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, workflow_status, execution_started_date, workflow_stopped_date, fence)
SELECT gen_random_uuid(), o, o, o, o, $1::text, 'COMPLETED', clock_timestamp(), clock_timestamp() - $2::int * interval '1 day', 1
FROM (SELECT gen_random_uuid() o) x, generate_series(1, $3::int)`

// The cleaner reads the ended tasks of a kind that are due, and no other: neither those of kinds that are kept for longer,
// nor younger ones of the kind. Nor does it read the kinds' tasks to see which are due.
func TestCleanReadsWhatIsDue(t *testing.T) {
	t.Parallel()
	for name, analyzed := range map[string]string{"no statistics": "", "taken when empty": "empty", "taken when waiting": "waiting", "statistics": "all"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testdb.Postgres(t)
			planStore(t, db)
			exec := execOn(t, db)
			analyze := func(when string) {
				t.Helper()
				if when == analyzed {
					exec("ANALYZE taskkit_queued_task")
				}
			}
			exec("ALTER TABLE taskkit_queued_task SET (autovacuum_enabled = false)")
			exec("ALTER TABLE taskkit_queued_task DISABLE TRIGGER USER") // of the lifecycle
			analyze("empty")
			exec(`INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name)
SELECT gen_random_uuid(), o, o, o, o, 'waiting' FROM (SELECT gen_random_uuid() o) x, generate_series(1, 10000)`)
			analyze("waiting")
			exec(ended, "long", 20, 20000)
			exec(ended, "short", 2, 30)
			exec(ended, "short", 0, 10000)
			analyze("all")
			for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
				tx, err := db.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.ExecContext(t.Context(), "SET LOCAL plan_cache_mode = "+mode); err != nil {
					t.Fatal(err)
				}
				b := sqlbase.New(tx, db.Schema, dialect.Postgres, func(_ context.Context, f func(store.Querier) error) error { return f(tx) })
				before := tasksRead(t, tx) // of a transaction before, on this connection
				read := func(what string, most int) {
					t.Helper()
					now := tasksRead(t, tx)
					if now-before > most {
						t.Errorf("%s: %s: read %d rows and entries of indexes, want at most %d", mode, what, now-before, most)
					}
					before = now
				}
				kinds, err := b.EndedKinds(t.Context())
				if err != nil || len(kinds) != 2 || kinds[0].Kind != "long" || kinds[0].Age < 19*24*time.Hour || kinds[1].Kind != "short" {
					t.Fatalf("kinds: %v, %v", kinds, err)
				}
				read("kinds", 20)
				r, err := b.RemoveEnded(t.Context(), store.EndedTasks{Kind: "long", Period: 30 * 24 * time.Hour, Limit: 500, Items: 500})
				if err != nil || len(r.IDs) != 0 {
					t.Fatalf("removed %d, %v", len(r.IDs), err)
				}
				read("nothing is due", 2)
				r, err = b.RemoveEnded(t.Context(), store.EndedTasks{Kind: "short", Period: 24 * time.Hour, Limit: 10, Items: 10})
				if err != nil || len(r.IDs) != 10 {
					t.Fatalf("removed %d, %v", len(r.IDs), err)
				}
				// All of them ended in the same moment, so all are read to find the first.
				read("a page", 200)
				r, err = b.RemoveEnded(t.Context(), store.EndedTasks{Kind: "short", Period: 24 * time.Hour, After: r.Next, Limit: 100, Items: 100})
				if err != nil || len(r.IDs) != 20 || r.Next != (store.EndedCursor{}) {
					t.Fatalf("removed %d, %v", len(r.IDs), err)
				}
				read("the last page", 200)
				if err := tx.Rollback(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// tasksRead returns how many rows of the tasks and entries of their indexes the transaction has read.
func tasksRead(t *testing.T, q store.Querier) int {
	t.Helper()
	return rowsRead(t, q, "taskkit_queued_task")
}

// rowsRead is tasksRead for any table.
func rowsRead(t *testing.T, q store.Querier, table string) (n int) {
	t.Helper()
	rows, err := q.QueryContext(t.Context(), `SELECT pg_stat_get_xact_tuples_returned(c.oid) + sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) + pg_stat_get_xact_tuples_fetched(c.oid)
FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid WHERE c.oid = $1::regclass GROUP BY c.oid`, table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if !rows.Next() {
		t.Fatal("no statistics of ", table, rows.Err())
	}
	if err := rows.Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
