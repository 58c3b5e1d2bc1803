package tasktest

import (
	"database/sql"
	"testing"
	"time"

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

// OpenImpatient is Open with connections that wait for a lock for a second only.
func OpenImpatient(tb testing.TB) *sql.DB {
	tb.Helper()
	return open(tb, time.Second)
}
