package taskkit_test

import (
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// Of a kind with more than 10,000 dead letters the newest are grouped, and the answer says so. The other kinds are exact, and
// lists have all.
func TestDeadGroupsAreBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("inserts 10,000 tasks")
	}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		exec := func(query string, args ...any) {
			t.Helper()
			query = strings.ReplaceAll(query, "{table}", table(db, "taskkit_queued_task"))
			if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
		// insert brings tasks into FAILURE whose ids have the numbers from first to last.
		insert := func(kind, desc string, first, last int) {
			t.Helper()
			numbers, id, owner, now := "SELECT g FROM generate_series($1::int, $2::int) g", "lpad(to_hex(n), 32, '0')::uuid", "'01890a5d-ac96-774b-bcce-b302099a8057'::uuid", "clock_timestamp()"
			if db.Dialect == dialect.SQLite {
				numbers, id = "SELECT $1 UNION ALL SELECT n + 1 FROM n WHERE n < $2", "printf('00000000-0000-0000-0000-%012x', n)"
				owner, now = "'01890a5d-ac96-774b-bcce-b302099a8057'", "strftime('%Y-%m-%d %H:%M:%f', 'now')"
			}
			exec("WITH RECURSIVE n(n) AS ("+numbers+") INSERT INTO {table} (id, created_by, modified_by, owner_id, run_as_id, execution_component_name)\nSELECT "+
				id+", o, o, o, o, '"+kind+"' FROM (SELECT "+owner+" o) x, n", first, last)
			exec("UPDATE {table} SET workflow_status = 'SCHEDULING', fence = 1, scheduled_by_process = 'p', scheduling_started_date = " + now + " WHERE workflow_status = 'QUEUED'")
			exec("UPDATE {table} SET workflow_status = 'EXECUTING', execution_started_date = " + now + " WHERE workflow_status = 'SCHEDULING'")
			exec("UPDATE {table} SET workflow_status = 'FAILURE', scheduled_by_process = NULL, workflow_stopped_date = "+now+", workflow_status_desc = $1 WHERE workflow_status = 'EXECUTING'", desc)
		}
		ops := taskops.New(clientOf(db))
		groups := func(f taskops.DeadFilter) *taskops.DeadGroups {
			t.Helper()
			g, err := ops.Dead(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		insert("many", "gone: away", 1, 2)
		insert("few", "gone: away", 3, 5)
		insert("many", "other: it says so", 6, 10_003)
		if g := groups(taskops.DeadFilter{Kinds: []string{"few"}}); len(g.Truncated) != 0 || len(g.Groups) != 1 || g.Groups[0].Tasks != 3 {
			t.Errorf("of the kind with few: %+v", g)
		}
		insert("many", "other: it says so", 10_004, 10_004)
		g := groups(taskops.DeadFilter{})
		if !slices.Equal(g.Truncated, []string{"many"}) || len(g.Groups) != 3 || g.Groups[0].Tasks != 3 || g.Groups[1].Tasks != 1 || g.Groups[2].Tasks != 9999 {
			t.Errorf("of all kinds: %+v", g)
		}
		if g := groups(taskops.DeadFilter{Most: 1000}); !slices.Equal(g.Truncated, []string{"many"}) || len(g.Groups) != 2 || g.Groups[0].Tasks != 3 || g.Groups[1].Tasks > 1000 || g.Groups[1].Tasks < 100 {
			t.Errorf("of 1,000 in all: %+v", g)
		}
		if _, err := ops.Dead(t.Context(), taskops.DeadFilter{Most: -1}); err == nil || !strings.Contains(err.Error(), "DeadFilter.Most") {
			t.Errorf("of a negative number: %v", err)
		}
		insert("many", "other: it says so", 10_005, 10_005)
		for code, want := range map[string]int{"gone": 0, "other": 1, "none": 0} {
			if g := groups(taskops.DeadFilter{Kinds: []string{"many"}, Code: code}); !slices.Equal(g.Truncated, []string{"many"}) || len(g.Groups) != want || want > 0 && g.Groups[0].Tasks != 10_000 {
				t.Errorf("with the code %s: %+v", code, g)
			}
		}
		for code, want := range map[string]int{"gone": 5, "other": 10_000} {
			found, parts := 0, 0
			for before, more := (taskkit.ID{}), true; more; more = before != (taskkit.ID{}) {
				var page []*taskkit.Task
				var err error
				if page, before, err = ops.DeadTasks(t.Context(), taskops.DeadFilter{Code: code}, before, 1000); err != nil {
					t.Fatal(err)
				}
				found, parts = found+len(page), parts+1
			}
			if found != want || parts > 44 { // of 250 each, since no kind is named
				t.Errorf("lists with the code %s have %d tasks in %d parts, want %d in at most 44", code, found, parts, want)
			}
		}
	})
}
