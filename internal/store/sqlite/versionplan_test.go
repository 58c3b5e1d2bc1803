package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/internal/testkit/testdb"
)

// Versions to forget, and the tasks of others, are looked for in indexes.
func TestPlansOfPruneVersions(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	if err := migrate.Migrate(t.Context(), db.DB, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO taskkit_reference_version (id, execution_component_name, reference, checked_date) VALUES ('01890a5d-ac96-774b-bcce-b302099a8057', 'demo', 'r', '2001-02-03')"); err != nil {
		t.Fatal(err)
	}
	handle, rec := testdb.Recorded(t, db)
	b := sqlbase.New(handle, "", dialect.SQLite, func(_ context.Context, f func(store.Querier) error) error { return f(handle) })
	for range 2 { // the first marks the row, the second deletes it
		if n, err := b.PruneVersions(t.Context(), store.OldVersions{Check: func(string) time.Duration { return time.Nanosecond }, Limit: 10}); err != nil || n != 1 {
			t.Fatalf("%d rows, %v", n, err)
		}
	}
	found := map[string]bool{}
	for _, query := range rec.Take() {
		verb, _, _ := strings.Cut(query, " ")
		index := map[string]string{
			"SELECT": "taskkit_reference_version_", "UPDATE": "taskkit_listed_reference (<expr>>? AND <expr><?)", "DELETE": "sqlite_autoindex_taskkit_reference_version_1 (id=?)",
		}[verb]
		found[verb] = true
		var steps []string
		if _, err := sqlrows.Query(t.Context(), db, "EXPLAIN QUERY PLAN "+query, make([]any, 3), func(rows *sql.Rows) error {
			var (
				a, b, n int
				step    string
			)
			err := rows.Scan(&a, &b, &n, &step)
			steps = append(steps, step)
			return err
		}); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		plan := strings.Join(steps, "\n")
		if !strings.Contains(plan, index) || strings.Contains(plan, "SCAN taskkit") || strings.Contains(plan, "TEMP B-TREE FOR ORDER BY") {
			t.Errorf("%s\nwant %s in the plan:\n%s", query, index, plan)
		}
	}
	if len(found) != 3 {
		t.Errorf("statements of %v, want SELECT, UPDATE and DELETE", found)
	}
}
