package tasktest

import (
	"database/sql"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

// Databases opens a migrated SQLite database, and a PostgreSQL database through PgBouncer.
var Databases = map[string]func(testing.TB) *sql.DB{
	"sqlite": Open,
	"postgres": func(tb testing.TB) *sql.DB {
		tb.Helper()
		return testdb.Pooled(tb).DB
	},
}
