package tasktest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"
)

// openPostgres makes a database with taskkit's tables on a server. The end of the test drops it.
func openPostgres(tb testing.TB, server string) *sql.DB {
	tb.Helper()
	config, err := pgx.ParseConfig(server)
	if err != nil {
		tb.Fatal(err)
	}
	admin := stdlib.OpenDB(*config)
	config.Database = fmt.Sprintf("test_%x", rand.Uint64())
	db := stdlib.OpenDB(*config)
	tb.Cleanup(func() {
		_ = db.Close()
		_, err := admin.ExecContext(context.WithoutCancel(tb.Context()), "DROP DATABASE IF EXISTS "+config.Database)
		if err := errors.Join(err, admin.Close()); err != nil {
			tb.Error(err)
		}
	})
	if _, err := admin.ExecContext(tb.Context(), "CREATE DATABASE "+config.Database); err != nil {
		tb.Fatal(err)
	}
	if err := taskkit.Migrate(tb.Context(), db, taskkit.DefaultSchema); err != nil {
		tb.Fatal(err)
	}
	return db
}

// Each run of a task may have a database of its own on a PostgreSQL server.
func TestDatabasePerRun(t *testing.T) {
	t.Parallel()
	server := testdb.Pooled(t).Direct
	c := greetCase()
	c.Open = func(tb testing.TB) *sql.DB {
		tb.Helper()
		return openPostgres(tb, server)
	}
	tasktest.TestExecutor(t, c)
}
