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
			l := testdb.NewLender("", testdb.Postgres)
			var schemas []string
			for range 2 {
				t.Run("", func(t *testing.T) {
					db := l.Take(t)
					schemas = append(schemas, db.Schema)
					if got := query[int](t, db.DB, "SELECT count(*) FROM taskkit_queue"); got != 0 {
						t.Errorf("there are %d rows", got)
					}
					c.f(t, db)
				})
			}
			if again := schemas[0] == schemas[1]; again != c.again {
				t.Errorf("the second test has the database of the first: %t, want %t", again, c.again)
			}
		})
	}
}

// A whole database, with taskkit's tables in a schema beside that of the tests, is lent again as empty as a schema is.
func TestLenderOfWholeDatabases(t *testing.T) {
	t.Parallel()
	l := testdb.NewLender("taskkit", testdb.PgBouncer)
	var schemas []string
	for range 2 {
		t.Run("", func(t *testing.T) {
			db := l.Take(t)
			schemas = append(schemas, db.Schema)
			if got := query[int](t, db.DB, "SELECT count(*) FROM taskkit.taskkit_queue"); got != 0 {
				t.Errorf("there are %d rows", got)
			}
			exec(t, db.DB, "INSERT INTO taskkit.taskkit_queue (name) VALUES ('left')")
			exec(t, db.DB, "CREATE TABLE box (a integer)") // an error if it is still there
		})
	}
	if schemas[0] != schemas[1] {
		t.Error("the second test has another database, want the first one again")
	}
}
