package taskkit_test

import (
	"errors"
	"strings"
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// The end of an id is looked for among the newest 100,000 tasks. An older task is found by its whole id, and an end that
// many tasks have is refused with some of them.
func TestResolveLooksAmongTheNewestTasks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("inserts 100,000 tasks")
	}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		const more = `(id, created_by, modified_by, owner_id, run_as_id, execution_component_name)
SELECT %id, o, o, o, o, 'demo' FROM (SELECT '01890a5d-ac96-774b-bcce-b302099a8057'%uuid o) x, n`
		insert := func(first, last string) {
			t.Helper()
			query := "WITH n(n) AS (SELECT g FROM generate_series(" + first + ", " + last + ") g) INSERT INTO " + table(db, "taskkit_queued_task") +
				strings.NewReplacer("%id", "lpad(to_hex(n), 32, '0')::uuid", "%uuid", "::uuid").Replace(more)
			if db.Dialect == dialect.SQLite {
				query = "WITH RECURSIVE n(n) AS (SELECT " + first + " UNION ALL SELECT n + 1 FROM n WHERE n < " + last + ") INSERT INTO " + table(db, "taskkit_queued_task") +
					strings.NewReplacer("%id", "printf('00000000-0000-0000-0000-%012x', n)", "%uuid", "").Replace(more)
			}
			if _, err := db.ExecContext(t.Context(), query); err != nil {
				t.Fatalf("insert tasks: %v", err)
			}
		}
		const old, newest = "00000000-0000-0000-0000-0000000fffff", "00000000-0000-0000-0000-000000200000"
		c := clientOf(db)
		insert("1048575", "1048575") // old
		insert("1997153", "2097151")
		if id, err := c.Resolve(t.Context(), old[24:]); err != nil || id.String() != old {
			t.Fatalf("of 100,000 tasks the oldest: %v, %v", id, err)
		}
		insert("2097152", "2097152") // newest
		var unknown *taskkit.IDError
		if id, err := c.Resolve(t.Context(), old[24:]); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "newest 100000 tasks") || !strings.Contains(err.Error(), "whole id") {
			t.Errorf("of 100,001 tasks the oldest: %v, %v", id, err)
		}
		for text, want := range map[string]string{old: old, newest[24:]: newest} {
			if id, err := c.Resolve(t.Context(), text); err != nil || id.String() != want {
				t.Errorf("resolve %s: %v, %v", text, id, err)
			}
		}
		if id, err := c.Resolve(t.Context(), "0000"); !errors.As(err, &unknown) || len(unknown.Matches) != 2 || unknown.Matches[0].String() != newest {
			t.Errorf("the end of several ids: %v, %v", id, err)
		}
	})
}
