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

// The cleaner reads a bounded number of tasks to see which kinds are unknown, however many of them wait, and ends what has
// waited for too long without reading the others.
func TestUnknownKindsReadsFewTasks(t *testing.T) {
	t.Parallel()
	for name, analyzed := range map[string]string{"no statistics": "", "taken when empty": "empty", "statistics": "all"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testdb.Postgres(t)
			planStore(t, db)
			exec := execOn(t, db)
			exec("ALTER TABLE taskkit_queued_task SET (autovacuum_enabled = false)")
			if analyzed == "empty" {
				exec("ANALYZE taskkit_queued_task")
			}
			const waiting = `INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, not_before)
SELECT gen_random_uuid(), o, o, o, o, $1::text, clock_timestamp() - $2::int * interval '1 minute'
FROM (SELECT gen_random_uuid() o) x, generate_series(1, $3::int)`
			exec(waiting, "lost", 60, 100)
			exec(waiting, "lost", 10, 30000)
			exec(waiting, "demo", 5, 10000)
			exec(waiting, "new", 1, 10)
			if analyzed == "all" {
				exec("ANALYZE taskkit_queued_task")
			}
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
				kinds, some, err := b.SeeUnknownKinds(t.Context())
				if err != nil || !some || len(kinds) != 2 {
					t.Fatalf("unknown kinds: %v, %v", kinds, err)
				}
				// An entry and its row.
				read("which are unknown", store.UnknownCounted*3+300)
				if _, err := tx.ExecContext(t.Context(), "UPDATE taskkit_unknown_kind SET first_seen_date = first_seen_date - interval '1 hour'"); err != nil {
					t.Fatal(err)
				}
				for _, want := range []int{60, 40, 0} {
					ids, err := b.EndUnknownKinds(t.Context(), "p", 30*time.Minute, 60)
					if err != nil || len(ids) != want {
						t.Fatalf("ended %d, %v, want %d", len(ids), err, want)
					}
					read("the end of some", 2000)
				}
				if err := tx.Rollback(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
