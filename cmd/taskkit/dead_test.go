package main_test

import (
	"strings"
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
)

// A kind with more dead letters than are read has numbers that are lower bounds.
func TestDeadNumbersAreLowerBounds(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("inserts 10,000 tasks")
	}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		args := func(args ...string) []string {
			args = append(args, "-d", db.DSN)
			if db.Schema != "" {
				args = append(args, "--schema", db.Schema)
			}
			return args
		}
		insert := `INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name)
SELECT gen_random_uuid(), o, o, o, o, 'broken' FROM (SELECT gen_random_uuid() o) x, generate_series(1, 10001)`
		if db.Dialect == dialect.SQLite {
			insert = `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10001)
INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name)
SELECT printf('00000000-0000-0000-0000-%012x', n), o, o, o, o, 'broken' FROM (SELECT '01890a5d-ac96-774b-bcce-b302099a8057' o) x, n`
		}
		for _, statement := range []string{
			insert,
			"UPDATE taskkit_queued_task SET workflow_status = 'SCHEDULING', fence = 1, scheduled_by_process = 'w'",
			"UPDATE taskkit_queued_task SET workflow_status = 'ERROR', scheduled_by_process = NULL, workflow_status_desc = 'gone: x', workflow_stopped_date = '2020-01-01 00:00:00.000'",
		} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		expect(t, 0, "10,000+", args("dead")...)
		expect(t, 0, `"truncated"`, args("dead", "-o", "json")...)
		expect(t, 2, "10,000 or more dead letters would be deleted", args("dead", "drop")...)
		if _, out, errs := ran(t, args("dead", "--code", "other")...); strings.Contains(errs, "no dead letters") || !strings.Contains(errs, "of kind broken") {
			t.Errorf("without a group: %s%s", out, errs)
		}
	})
}
