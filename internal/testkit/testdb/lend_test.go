package testdb_test

import (
	"context"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

// What a test leaves behind does not reach the next one that gets its database.
func TestLender(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f     func(t *testing.T, db *testdb.DB)
		again bool // the database is lent again
	}{
		"rows": {func(t *testing.T, db *testdb.DB) {
			t.Helper()
			exec(t, db.DB, "INSERT INTO taskkit_queue (name) VALUES ('left')")
		}, true},
		"a table": {func(t *testing.T, db *testdb.DB) {
			t.Helper()
			exec(t, db.DB, "CREATE TABLE box (a integer)")
			exec(t, db.DB, "INSERT INTO box VALUES ($1)", 1)
		}, true},
		"a table of taskkit's under another name": {func(t *testing.T, db *testdb.DB) {
			t.Helper()
			exec(t, db.DB, "ALTER TABLE taskkit_queue RENAME TO taskkit_hidden")
		}, false},
		"a lock": {func(t *testing.T, db *testdb.DB) {
			t.Helper()
			conn, err := db.Conn(context.WithoutCancel(t.Context()))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.ExecContext(t.Context(), "SELECT pg_advisory_lock(1)"); err != nil {
				t.Error(err)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if again := lentAgain(t, testdb.NewLender("", testdb.Postgres), "taskkit_queue", c.f); again != c.again {
				t.Errorf("the second test has the database of the first: %t, want %t", again, c.again)
			}
		})
	}
}

// A whole database, with taskkit's tables in a schema beside the tests' schema, is lent again empty, like a schema.
func TestLenderOfWholeDatabases(t *testing.T) {
	t.Parallel()
	l := testdb.NewLender("taskkit", testdb.PgBouncer)
	if !lentAgain(t, l, "taskkit.taskkit_queue", func(t *testing.T, db *testdb.DB) {
		t.Helper()
		exec(t, db.DB, "INSERT INTO taskkit.taskkit_queue (name) VALUES ('left')")
		exec(t, db.DB, "CREATE TABLE box (a integer)") // an error if it is still there
	}) {
		t.Error("the second test has another database, want the first one again")
	}
}

// lentAgain lets two tests borrow a database one after the other, each of which finds a table empty and calls f, and
// reports whether they had the same one.
func lentAgain(t *testing.T, l *testdb.Lender, table string, f func(*testing.T, *testdb.DB)) bool {
	t.Helper()
	var schemas []string
	for range 2 {
		t.Run("", func(t *testing.T) {
			db := l.Take(t)
			schemas = append(schemas, db.Schema)
			if got := query[int](t, db.DB, "SELECT count(*) FROM "+table); got != 0 {
				t.Errorf("there are %d rows", got)
			}
			f(t, db)
		})
	}
	return schemas[0] == schemas[1]
}
