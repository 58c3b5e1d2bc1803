package oracle_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/testkit/testdb"
)

// How long a check takes, of many small tasks and of one long one.
func BenchmarkCheck(b *testing.B) {
	for _, open := range []func(testing.TB, ...testdb.Option) *testdb.DB{testdb.Postgres, testdb.SQLite} {
		for _, shape := range []struct{ tasks, batches, items int }{{2000, 2, 10}, {1, 2000, 100}} {
			db := open(b)
			b.Run(fmt.Sprintf("%s/tasks=%d,batches=%d,items=%d", db.Dialect, shape.tasks, shape.batches, shape.items), func(b *testing.B) {
				o, _ := watched(b, db)
				lived(b, db, o, shape.tasks, shape.batches, shape.items)
				b.ResetTimer()
				for b.Loop() {
					if r := check(b, db, o, played); !r.OK() || r.Counts.Touches != int64(shape.tasks*shape.batches*shape.items) {
						b.Fatalf("read %+v, found %v", r.Counts, r.Violations)
					}
				}
				b.ReportMetric(float64(b.N*shape.tasks*shape.batches*shape.items)/b.Elapsed().Seconds(), "touches/s")
			})
		}
	}
}

// lived plays whole lives.
func lived(b *testing.B, db *testdb.DB, o *oracle.Oracle, tasks, batches, items int) {
	b.Helper()
	tx, err := db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer tx.Rollback()
	do := func(query string, args ...any) {
		b.Helper()
		if _, err := tx.ExecContext(b.Context(), query, args...); err != nil {
			b.Fatalf("%s: %v", query, err)
		}
	}
	do("INSERT INTO taskkit_task_process (id, version, dead_after_ms, kinds, queues, slots) VALUES ('w-1', '', 600000, '{}', '[]', 1)")
	const set = "UPDATE taskkit_queued_task SET %s WHERE id = $1"
	total := ""
	if db.Dialect == dialect.Postgres {
		total = "::bigint"
	}
	for range tasks {
		id, zero := uuid.NewString(), uuid.Nil.String()
		do(`INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name)
VALUES ($1, $2, $3, $4, $5, 'played')`, id, zero, zero, zero, zero)
		if err := o.Declare(b.Context(), tx, id, oracle.Range{First: 0, Past: int64(batches * items)}); err != nil {
			b.Fatal(err)
		}
		do(fmt.Sprintf(set, claim), id)
		do(fmt.Sprintf(set, start), id)
		for n := range batches {
			first := int64(n * items)
			if err := o.Touch(b.Context(), tx, id, "w", oracle.Range{First: first, Past: first + int64(items)}); err != nil {
				b.Fatal(err)
			}
			do(fmt.Sprintf(set, "checkpoint_seq = checkpoint_seq + 1, attempts = 0, items_done = items_done + $2"+total), id, items)
		}
		do(fmt.Sprintf(set, finish), id)
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}
