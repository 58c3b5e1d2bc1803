package postgres

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/internal/testkit/testdb"
)

// A page of items is read from the index in its order, without a sort, also with
// statistics that were taken when there were none.
func TestItemsPlan(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	s := planStore(t, db)
	after := store.ItemCursor{Position: 10_000, ID: uuid.Max}
	calls := map[string]func(c store.Client) error{
		"taskkit_item_outcome": func(c store.Client) error {
			_, err := c.Items(t.Context(), uuid.Max, store.ItemFailed, after, 1000)
			return err
		},
		"taskkit_item_failed": func(c store.Client) error {
			_, err := c.FailedItems(t.Context(), time.Unix(0, 0), store.FailedItem{Created: time.Unix(1<<32, 0)}, 1000)
			return err
		},
		"taskkit_item_history": func(c store.Client) error {
			_, err := c.ItemRecords(t.Context(), "7", time.Hour, store.ItemRecord{}, 100)
			return err
		},
	}
	for _, statement := range []string{
		"ALTER TABLE taskkit_task_item SET (autovacuum_enabled = false)",
		"ANALYZE taskkit_task_item",
		`INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, execution_spec)
SELECT 'ffffffff-ffff-ffff-ffff-ffffffffffff', o, o, o, o, 'demo', '{}' FROM (SELECT gen_random_uuid() o) x`,
		`INSERT INTO taskkit_task_item (id, task_id, item, outcome, code, detail, position, attempt)
SELECT gen_random_uuid(), 'ffffffff-ffff-ffff-ffff-ffffffffffff', n::text, 'failed', '', '', n, 1 FROM generate_series(1, 30000) n`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for index, call := range calls {
		var r recorder
		if err := call(sqlbase.NewClient(&r, db.Schema, dialect.Postgres)); !errors.Is(err, errRecorded) {
			t.Fatal(err)
		}
		var lines []string
		if _, err := sqlrows.Query(t.Context(), s.db, "EXPLAIN "+r.query, r.args, func(rows *sql.Rows) error {
			var line string
			err := rows.Scan(&line)
			lines = append(lines, line)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(lines, "\n")
		if !strings.Contains(plan, index) || strings.Contains(plan, "Sort") || strings.Contains(plan, "Seq Scan") {
			t.Errorf("a page of items does not come from the index %s:\n%s", index, plan)
		}
	}
}
