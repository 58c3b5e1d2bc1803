package dbstore_test

import (
	"regexp"
	"strings"
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
)

// What a heartbeat or a checkpoint changes is in no index, nor in the condition
// of one: PostgreSQL then writes the new version of the row beside the old one
// and touches no index, and vacuum has next to nothing to do. The one exception are the attempts in
// the index of claims: only the first checkpoint after a claim changes them, see ADR 28.
func TestWhatChangesOftenIsInNoIndex(t *testing.T) {
	t.Parallel()
	often := regexp.MustCompile(`\b(last_heartbeat_date|busy|draining|checkpoint_seq|execution_state|items_\w+|attempts|modified_date|modified_by)\b`)
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		opened(t, db)
		query := "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name LIKE 'taskkit_%'"
		if db.Dialect == dialect.Postgres {
			query = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema() AND tablename LIKE 'taskkit_%'"
		}
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		n := 0
		for ; rows.Next(); n++ {
			var name, definition string
			if err := rows.Scan(&name, &definition); err != nil {
				t.Fatal(err)
			}
			column := often.FindString(definition)
			if name == "taskkit_claim" {
				column = often.FindString(strings.ReplaceAll(definition, "attempts", ""))
			}
			if column != "" {
				t.Errorf("index %s has %s, which changes all the time: %s", name, column, definition)
			}
		}
		if err := rows.Err(); err != nil || n < 10 {
			t.Errorf("checked %d indexes, %v; want at least 10", n, err)
		}
	})
}
