package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
)

// The cleaner reads a page of versions and one task of each that has some, however many versions and tasks there are.
func TestPruneVersionsReadsOnePage(t *testing.T) {
	t.Parallel()
	const (
		day   = 24 * time.Hour
		limit = 100
		// Versions of references that begin with $1, so many days old. One has no number.
		versions = `INSERT INTO taskkit_reference_version (id, execution_component_name, reference, version, unused, checked_date)
SELECT gen_random_uuid(), 'demo', $1::text || CASE WHEN $4::int > 1 THEN n::text ELSE '' END, 1, $2::boolean, clock_timestamp() - $3::int * interval '1 day'
FROM generate_series(1, $4::int) n`
	)
	for _, state := range listStates {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			db, exec := listTables(t, state)
			versioned := strings.NewReplacer("unique_key)", "unique_key, reference_version)", "$5::text\nFROM", "$5::text, 1\nFROM").Replace(listed)
			exec(versioned, 20_001, 25_000, "demo", "COMPLETED", "often")
			exec(versioned, 25_001, 25_003, "demo", "FAILURE", "few")
			exec("ALTER TABLE taskkit_reference_version SET (autovacuum_enabled = false)")
			if state == "taken when empty" {
				exec("ANALYZE taskkit_reference_version")
			}
			exec(versions, "gone", true, 20, 5000)
			exec(versions, "kept", true, 10, 10_000)
			exec(versions, "due", false, 40, 5000)
			exec(versions, "young", false, 20, 10_000)
			exec(versions, "often", false, 35, 1)
			exec(versions, "few", false, 35, 1)
			if state == "statistics" {
				exec("ANALYZE taskkit_reference_version")
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
				for what, unused := range map[string]time.Duration{"forgets": 14 * day, "looks for tasks": 1000 * day} {
					tasks, rows := tasksRead(t, tx), rowsRead(t, tx, "taskkit_reference_version")
					n, err := b.PruneVersions(t.Context(), store.OldVersions{Check: func(string) time.Duration { return 31 * day }, Unused: unused, Limit: limit})
					if err != nil || n != limit {
						t.Fatalf("%s: %s: %d rows, %v", mode, what, n, err)
					}
					tasks, rows = tasksRead(t, tx)-tasks, rowsRead(t, tx, "taskkit_reference_version")-rows
					if tasks > 2*limit || rows > 10*limit {
						t.Errorf("%s: %s: read %d tasks and %d versions with the entries of their indexes, want at most %d and %d", mode, what, tasks, rows, 2*limit, 10*limit)
					}
				}
				var used int
				if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM taskkit_reference_version WHERE reference IN ('often', 'few') AND NOT unused AND checked_date > clock_timestamp() - interval '1 day'").Scan(&used); err != nil || used != 2 {
					t.Errorf("%s: %d versions have tasks, want 2: %v", mode, used, err)
				}
				if err := tx.Rollback(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
