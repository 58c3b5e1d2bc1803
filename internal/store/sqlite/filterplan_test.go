package sqlite

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/internal/testkit/filters"
	"taskkit.dev/internal/testkit/testdb"
)

// Each filter and each pair of filters reads the tasks in the order of an index, without and with statistics. How many is bounded by a
// LIMIT, as the plans of PostgreSQL show.
func TestFiltersReadByAnIndex(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	if err := migrate.Migrate(t.Context(), db.DB, ""); err != nil {
		t.Fatal(err)
	}
	tasks := filters.Tasks{
		IDs: []uuid.UUID{uuid.Max}, Kind: "demo", Queue: "default", Key: "key", Code: "gone", Statuses: []lifecycle.Status{lifecycle.Executing},
		Owner: uuid.Max, Parent: uuid.Max, Before: uuid.Max, EndedFor: time.Hour,
	}
	ended := tasks
	ended.Statuses = lifecycle.Statuses()
	check := func(name string, f store.Filter) {
		query := recordedQuery(t, func(o store.Client) error {
			_, _, err := o.Tasks(t.Context(), f)
			return err
		})
		var scans []string
		args := slices.Repeat([]any{""}, strings.Count(query, "?"))
		if _, err := sqlrows.Query(t.Context(), db, "EXPLAIN QUERY PLAN "+query, args, func(rows *sql.Rows) error {
			var (
				a, b, n int
				step    string
			)
			err := rows.Scan(&a, &b, &n, &step)
			if strings.HasPrefix(step, "SCAN q") && !strings.Contains(step, "USING") {
				scans = append(scans, step)
			}
			return err
		}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(scans) > 0 {
			t.Errorf("%s: %v", name, scans)
		}
	}
	filters.Pairs(filters.Values(tasks, ended, tasks), check)
	if _, err := db.ExecContext(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	filters.Pairs(filters.Values(tasks, ended, tasks), check)
}
