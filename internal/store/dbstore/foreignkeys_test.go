package dbstore_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/testkit/testdb"
)

// ownedTables are the tables whose rows belong to a task, with the columns that a row needs beside
// its id and its task, and their values.
var ownedTables = map[string][2]string{
	"taskkit_merged_key":   {"execution_component_name, idempotency_key", "'demo', 'k'"},
	"taskkit_task_attempt": {"process, fence, checkpoint_seq, attempt, class, code, detail", "'p', 1, 0, 1, 'transient', 'c', 'd'"},
	"taskkit_task_item":    {"attempt, outcome, code, item, detail", "1, 'failed', 'c', 'i', 'd'"},
	"taskkit_task_ledger":  {"batch, items, keys", "1, 1, 'k'"},
	"taskkit_task_parent":  {"", ""},
	"taskkit_task_plan":    {"", ""},
	"taskkit_task_rate":    {"execution_component_name, history", "'demo', '{}'"},
	"taskkit_task_result":  {"", ""},
	"taskkit_task_target":  {"page, keys", "1, '[]'"},
}

// A row belongs to a task that exists and goes with it, in each table that belongs to tasks; on SQLite whether or not
// the connection has foreign keys on.
func TestRowsBelongToTasks(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s, _ := opened(t, db)
		a := &attacked{T: t, s: s, db: db}
		if known := a.tablesOfTasks(); !slices.Equal(known, slices.Sorted(maps.Keys(ownedTables))) {
			t.Fatalf("these tables belong to tasks: %v; the test knows %v", known, slices.Sorted(maps.Keys(ownedTables)))
		}
		pragmas := []string{""}
		if db.Dialect == dialect.SQLite {
			pragmas = []string{"PRAGMA foreign_keys = ON", "PRAGMA foreign_keys = OFF"}
		}
		for _, pragma := range pragmas {
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			exec := func(query string, args ...any) error {
				_, err := conn.ExecContext(t.Context(), query, args...)
				return err
			}
			must := func(query string, args ...any) {
				t.Helper()
				if err := exec(query, args...); err != nil {
					t.Errorf("%s %s: %v", pragma, query, err)
				}
			}
			if pragma != "" {
				must(pragma)
			}
			id, nobody := a.bring(lifecycle.Queued).String(), uuid.NewString()
			for table, row := range ownedTables {
				insert := fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", table,
					strings.TrimSuffix("id, task_id, "+row[0], ", "), strings.TrimSuffix("$1, $2, "+row[1], ", "))
				if err := exec(insert, uuid.NewString(), nobody); err == nil {
					t.Errorf("%s %s has a row of no task", pragma, table)
				}
				must(insert, uuid.NewString(), id)
				if err := exec("UPDATE "+table+" SET task_id = $1 WHERE task_id = $2", nobody, id); err == nil {
					t.Errorf("%s %s gave a row to no task", pragma, table)
				}
			}
			other := a.insert().String()
			must("INSERT INTO taskkit_task_result (id, task_id) VALUES ($1, $2)", uuid.NewString(), other)
			must("DELETE FROM taskkit_queued_task WHERE id = $1", id)
			for table := range ownedTables {
				var rows, want int
				if table == "taskkit_task_result" {
					want = 1
				}
				if err := conn.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&rows); err != nil || rows != want {
					t.Errorf("%s %s has %d rows, %v, want %d", pragma, table, rows, err, want)
				}
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// tablesOfTasks lists the tables with rows that go with a task, as the database has them.
func (a *attacked) tablesOfTasks() []string {
	a.Helper()
	query := `SELECT c.relname FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND o.contype = 'f' AND o.confdeltype = 'c'`
	if a.db.Dialect == dialect.SQLite {
		query = `SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'task_id'
AND EXISTS (SELECT 1 FROM sqlite_master t WHERE t.name = 'taskkit_cascade' AND t.sql LIKE '%` + "`' || m.name || '`" + `%')`
	}
	rows, err := a.db.QueryContext(a.Context(), query)
	if err != nil {
		a.Fatal(err)
	}
	defer rows.Close()
	var tables []string
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			a.Fatal(err)
		}
		tables = append(tables, table)
	}
	if err := rows.Err(); err != nil {
		a.Fatal(err)
	}
	slices.Sort(tables)
	return tables
}
