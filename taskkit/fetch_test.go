package taskkit_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// Only Fetch records that a result was fetched; a read writes nothing, and works in
// a transaction that cannot write.
func TestReadingIsNotFetching(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("count", 10)
		x := &aborting[countSpec, countState]{
			funcs: funcs[countSpec, countState]{execute: func(context.Context, *countBatch) (taskkit.Next, error) {
				return taskkit.Done, nil
			}},
			abort:  func(context.Context, *countBatch) error { return nil },
			report: func(context.Context, *countBatch) (string, error) { return "result", nil },
		}
		started(t, db, registered[countSpec, countState](k, x), quick(t, db))
		id := submitted(t, db, k, countSpec{})
		ended(t, db, id)
		fetched := func() (n int) {
			t.Helper()
			query := "SELECT count(*) FROM " + table(db, "taskkit_task_result") + " WHERE fetched_date IS NOT NULL"
			if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		read := func(c *taskkit.Client) {
			t.Helper()
			if _, err := c.Task(t.Context(), id); err != nil {
				t.Error(err)
			}
			if raw, err := c.Result(t.Context(), id); err != nil || string(raw) != `"result"` {
				t.Errorf("result %s, %v", raw, err)
			}
			if got, err := taskkit.Get(t.Context(), c, k, id); err != nil || got.Result == nil || *got.Result != "result" {
				t.Errorf("got %+v, %v", got, err)
			}
			if _, err := c.Explain(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
		read(clientOf(db))
		if db.Dialect == dialect.Postgres {
			tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			read(taskkit.NewClient(tx, taskkit.WithSchema(schemaOf(db))))
		}
		if n := fetched(); n != 0 {
			t.Errorf("%d results are fetched after reads, want 0", n)
		}
		if r, err := taskkit.Fetch(t.Context(), clientOf(db), k, id); err != nil || r != "result" {
			t.Errorf("fetch: %q, %v", r, err)
		}
		if n := fetched(); n != 1 {
			t.Errorf("%d results are fetched after a fetch, want 1", n)
		}
		again := submitted(t, db, k, countSpec{})
		if _, err := clientOf(db).FetchJSON(t.Context(), submitted(t, db, k, countSpec{}, taskkit.WithQueue("unserved"))); !errors.Is(err, taskkit.ErrNoResult) {
			t.Errorf("fetch before the end: %v", err)
		}
		ended(t, db, again)
		if raw, err := clientOf(db).FetchJSON(t.Context(), again); err != nil || string(raw) != `"result"` {
			t.Errorf("fetch as JSON: %s, %v", raw, err)
		}
		if n := fetched(); n != 2 {
			t.Errorf("%d results are fetched after two fetches, want 2", n)
		}
	})
}

// Of a repeated request both keys are taken, by the task of the first one: it is told
// as a repetition.
func TestRepetitionWithBothKeys(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("count", 10)
		keys := []taskkit.SubmitOption{taskkit.WithUniqueKey("u"), taskkit.WithIdempotencyKey("i")}
		first := submitted(t, db, k, countSpec{}, keys...)
		keys = append(keys, taskkit.System(), taskkit.WithSchema(schemaOf(db)))
		_, err := taskkit.Submit(t.Context(), db.DB, k, countSpec{}, keys...)
		if dup, ok := errors.AsType[*taskkit.DuplicateError](err); !ok || dup.By != "idempotency key" || dup.ID != first {
			t.Errorf("repeated: %v, want the idempotency key of %s", err, first)
		}
	})
}
