package shapes_test

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

const (
	plantedBuckets = 65_536
	plantedItems   = 16 // of each bucket: 1,048,576 in all
)

// BenchmarkItemsOfBuckets reads the failed items of a task with 65,536 buckets: the first page of 100 when each bucket has 16, when
// the last bucket alone has some, and all of them as lines. Heap is the most that all needed, in MB.
func BenchmarkItemsOfBuckets(b *testing.B) {
	for _, open := range []func(testing.TB, ...testdb.Option) *testdb.DB{testdb.Postgres, testdb.SQLite} {
		db := open(b)
		schema := cmp.Or(db.Schema, taskkit.DefaultSchema)
		if err := taskkit.Migrate(b.Context(), db.DB, schema); err != nil {
			b.Fatal(err)
		}
		client := taskkit.NewClient(db.DB, taskkit.WithSchema(schema))
		dense, sparse := planted(b, db, schema, "fffffff0", 1), planted(b, db, schema, "fffffff1", plantedBuckets)
		for name, id := range map[string]taskkit.ID{"dense": dense, "sparse": sparse} {
			b.Run(fmt.Sprintf("%s/first page/%s", db.Short(), name), func(b *testing.B) {
				for b.Loop() {
					page, _, err := client.ItemsPage(b.Context(), id, taskkit.OutcomeFailed, "", 100)
					if err != nil || len(page) < plantedItems {
						b.Fatalf("%d items: %v", len(page), err)
					}
				}
			})
		}
		b.Run(db.Short()+"/all", func(b *testing.B) {
			for b.Loop() {
				most, n := uint64(0), 0
				for i, err := range client.Items(b.Context(), dense, taskkit.OutcomeFailed) {
					if err != nil {
						b.Fatal(err)
					}
					fmt.Fprintf(io.Discard, "%s,%s\n", i.Key, i.Code)
					if n++; n%100_000 == 0 {
						var m runtime.MemStats
						runtime.ReadMemStats(&m)
						most = max(most, m.HeapInuse)
					}
				}
				if n != plantedBuckets*plantedItems {
					b.Fatalf("%d items", n)
				}
				b.ReportMetric(float64(most)/1e6, "heap-MB")
			}
		})
	}
}

// planted writes the rows of a task with buckets that has ended. Those from the bucket first on have failed items.
func planted(b *testing.B, db *testdb.DB, schema, prefix string, first int) taskkit.ID {
	b.Helper()
	id, err := taskkit.Submit(b.Context(), db.DB, shapeKind, shapeSpec{}, taskkit.System(), taskkit.WithSchema(schema))
	if err != nil {
		b.Fatal(err)
	}
	table, number, uuidOf := "main.", "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d) SELECT n FROM s", "printf('%s-0000-7000-8000-%%012x', %s)"
	if db.Dialect == dialect.Postgres {
		table, number, uuidOf = schema+".", "SELECT n FROM generate_series(1, %d) s(n)", "('%s-0000-7000-8000-' || lpad(to_hex(%s), 12, '0'))::uuid"
	}
	exec := func(query string, args ...any) {
		b.Helper()
		if _, err := db.ExecContext(b.Context(), query, args...); err != nil {
			b.Fatalf("%s: %v", query, err)
		}
	}
	if _, err := taskkit.NewClient(db.DB, taskkit.WithSchema(schema)).Stop(b.Context(), id); err != nil { // it ends
		b.Fatal(err)
	}
	withoutTriggers(b, db, exec)
	// A bucket is a copy of the task's row, with another id, the task as its parent, and counters.
	rows, err := db.QueryContext(b.Context(), "SELECT * FROM "+table+"taskkit_queued_task LIMIT 0") //nolint:unqueryvet // it reads the names of all columns
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err := cmp.Or(err, rows.Err(), rows.Close()); err != nil {
		b.Fatal(err)
	}
	values := slices.Clone(columns)
	for i, c := range columns {
		switch c {
		case "id":
			values[i] = fmt.Sprintf(uuidOf, prefix, "s.n")
		case "parent_id":
			values[i] = "q.id"
		case "items_failed":
			values[i] = fmt.Sprintf("CASE WHEN s.n >= %d THEN %d ELSE 0 END", first, plantedItems)
		case "items_total":
			values[i] = fmt.Sprint(plantedItems)
		case "items_done":
			values[i] = fmt.Sprintf("CASE WHEN s.n >= %d THEN 0 ELSE %d END", first, plantedItems)
		default:
			values[i] = "q." + c
		}
	}
	numbers := func(n int) string { return fmt.Sprintf(number, n) }
	exec(fmt.Sprintf("INSERT INTO %[1]staskkit_queued_task (%[2]s) SELECT %[3]s FROM %[1]staskkit_queued_task q, (%[4]s) s WHERE q.id = $1",
		table, strings.Join(columns, ", "), strings.Join(values, ", "), numbers(plantedBuckets)), id.String())
	exec(fmt.Sprintf("INSERT INTO %staskkit_task_parent (id, task_id) VALUES ($1, $1)", table), id.String())
	began := time.Now()
	exec(fmt.Sprintf(`INSERT INTO %staskkit_task_item (id, task_id, position, attempt, outcome, code, item, detail)
		SELECT %s, %s, i.n, 1, 'failed', 'planned', CAST(s.n * 16 + i.n AS text), '' FROM (%s) s, (%s) i WHERE s.n >= %d`,
		table, fmt.Sprintf(uuidOf, strings.Replace(prefix, "f", "e", 1), "s.n * 16 + i.n"), fmt.Sprintf(uuidOf, prefix, "s.n"), numbers(plantedBuckets), numbers(plantedItems), first))
	b.Logf("%s: rows planted in %s", db.Short(), time.Since(began))
	if db.Dialect == dialect.Postgres {
		exec("ANALYZE " + table + "taskkit_queued_task")
		exec("ANALYZE " + table + "taskkit_task_item")
	}
	return id
}

// withoutTriggers lets rows be written in any status.
func withoutTriggers(b *testing.B, db *testdb.DB, exec func(string, ...any)) {
	b.Helper()
	if db.Dialect == dialect.Postgres {
		exec("ALTER TABLE " + db.Schema + ".taskkit_queued_task DISABLE TRIGGER USER")
		return
	}
	var names string
	if err := db.QueryRowContext(b.Context(), "SELECT coalesce(group_concat(name), '') FROM sqlite_master WHERE type = 'trigger'").Scan(&names); err != nil {
		b.Fatal(err)
	}
	for name := range strings.SplitSeq(names, ",") {
		if name != "" {
			exec("DROP TRIGGER " + name)
		}
	}
}
