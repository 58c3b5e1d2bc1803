package tasktest

import (
	"database/sql"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// Databases opens a migrated database of each kind, that of PostgreSQL through PgBouncer.
var Databases = map[string]func(testing.TB) *sql.DB{
	"sqlite": Open,
	"postgres": func(tb testing.TB) *sql.DB {
		tb.Helper()
		db := testdb.PgBouncer(tb)
		if err := taskkit.Migrate(tb.Context(), db.DB, taskkit.DefaultSchema); err != nil {
			tb.Fatal(err)
		}
		return db.DB
	},
}
