package tasktest

import (
	"database/sql"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// Pooled lends databases behind PgBouncer, which are whole ones: this package works in the default schema.
var Pooled = testdb.NewLender(taskkit.DefaultSchema, testdb.PgBouncer)

// Databases opens a migrated database of each kind, that of PostgreSQL through PgBouncer.
var Databases = map[string]func(testing.TB) *sql.DB{
	"sqlite": Open,
	"postgres": func(tb testing.TB) *sql.DB {
		tb.Helper()
		return Pooled.Take(tb).DB
	},
}
