package taskkit_test

import (
	"strings"
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/taskops"
)

// Of a limit at most 300 waiting tasks are counted, and the list says that more wait, also where rows of removed tasks come first.
func TestLimitsAreBounded(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		exec := func(query string, args ...any) {
			t.Helper()
			for _, name := range []string{"taskkit_queued_task", "taskkit_task_limit", "taskkit_limit"} {
				query = strings.ReplaceAll(query, "{"+name+"}", table(db, name))
			}
			if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
		numbers, id := "SELECT g FROM generate_series(1, 301) g", "lpad(to_hex(n), 32, '0')::uuid"
		if db.Dialect == dialect.SQLite {
			numbers, id = "SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 301", "printf('00000000-0000-0000-0000-%012x', n)"
		}
		with := "WITH RECURSIVE n(n) AS (" + numbers + ") "
		exec(with + "INSERT INTO {taskkit_queued_task} (id, created_by, modified_by, owner_id, run_as_id, execution_component_name) SELECT " + strings.Repeat(id+", ", 5) + "'demo' FROM n")
		exec("INSERT INTO {taskkit_limit} (id, limit_key) SELECT id, 'key' FROM {taskkit_queued_task} LIMIT 1")
		exec(with + "INSERT INTO {taskkit_task_limit} (id, task_id, limit_key, fence, at_most, waiting) SELECT " + id + ", " + id + ", 'key', 0, 5, true FROM n")
		check := func(waiting int64, more bool) {
			t.Helper()
			limits, err := taskops.New(clientOf(db)).Limits(t.Context(), "", 10)
			if err != nil || len(limits) != 1 || limits[0].AtMost != 5 || limits[0].Waiting != waiting || limits[0].MoreWaiting != more {
				t.Errorf("%+v, %v, want %d that wait, and more: %t", limits, err, waiting, more)
			}
		}
		check(300, true)
		exec("DELETE FROM {taskkit_queued_task} WHERE id IN (SELECT id FROM {taskkit_queued_task} ORDER BY id LIMIT 250)")
		check(51, true)
		exec("DELETE FROM {taskkit_task_limit} WHERE id IN (SELECT id FROM {taskkit_task_limit} ORDER BY id LIMIT 1)")
		check(51, false)
		exec("DELETE FROM {taskkit_queued_task}")
		check(0, false)
	})
}
