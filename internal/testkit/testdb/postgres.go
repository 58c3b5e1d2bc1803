package testdb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb/cluster"
)

// adminTimeout bounds making and dropping a test's schema. A test that hangs
// here would say nothing before the run's own timeout.
const adminTimeout = time.Minute

// Postgres returns a handle whose connections have an empty schema of the
// test's own as search_path, in a database that it shares with other tests. At
// the end every connection to the schema, of child processes too, is ended, and
// the schema is dropped.
func Postgres(tb testing.TB, opts ...Option) *DB {
	tb.Helper()
	server, err := postgresServer()
	if err != nil {
		tb.Fatal(err)
	}
	return On(tb, server, opts...)
}

// OwnServer starts a PostgreSQL server for one test, which may stop and kill it, and ends it with the test. See [On].
func OwnServer(tb testing.TB) *cluster.Server {
	tb.Helper()
	server, err := cluster.StartPostgres(tb.Context(), cluster.Unsynced)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := server.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return server
}

// OwnDatabase creates a database on the server of the tests and returns its address, for [On]. It is dropped at the end of the test.
func OwnDatabase(tb testing.TB) *cluster.Server {
	tb.Helper()
	server, err := postgresServer()
	if err != nil {
		tb.Fatal(err)
	}
	name := unique()
	admin(tb, server.DSN, "CREATE DATABASE "+name)
	tb.Cleanup(func() { admin(tb, server.DSN, "DROP DATABASE "+name+" WITH (FORCE)") })
	return &cluster.Server{DSN: with(tb, server.DSN, name, nil)}
}

// On is [Postgres] on a server of the test's own, which must answer again when the
// test ends.
func On(tb testing.TB, server *cluster.Server, opts ...Option) *DB {
	tb.Helper()
	name := unique()
	admin(tb, server.DSN, "CREATE SCHEMA "+name)
	tb.Cleanup(func() {
		admin(tb, server.DSN,
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '"+name+"'",
			"DROP SCHEMA "+name+" CASCADE")
	})
	o := apply(opts)
	dsn := with(tb, server.DSN, "", map[string]string{
		"search_path":             name + o.path,
		"application_name":        name,
		"default_query_exec_mode": o.execMode,
	})
	return &DB{DB: open(tb, "pgx", dsn, o), Dialect: dialect.Postgres, Schema: name, DSN: dsn, Direct: dsn}
}

// PgBouncer returns a handle that goes through PgBouncer in transaction mode.
// Two statements outside a transaction may run on two connections, and what a
// session sets is lost or reaches another client.
//
// The test has a whole database of its own, so that a setting that leaks out of
// a session reaches no other test. A startup parameter does not pass PgBouncer:
// Schema is first in the search_path because it is the database's default.
func PgBouncer(tb testing.TB, opts ...Option) *DB {
	tb.Helper()
	bouncer, err := pgbouncerServer()
	if err != nil {
		tb.Fatal(err)
	}
	return through(tb, bouncer, opts)
}

// OwnPgBouncer is [PgBouncer] with one of the test's own, which it may restart. It
// is an error when there is none and none can be installed.
func OwnPgBouncer(tb testing.TB, opts ...Option) (*cluster.Server, *DB, error) {
	tb.Helper()
	server, err := postgresServer()
	if err != nil {
		tb.Fatal(err)
	}
	bouncer, err := cluster.StartPgBouncer(tb.Context(), server.DSN)
	if err != nil {
		return nil, nil, err
	}
	tb.Cleanup(func() {
		if err := bouncer.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return bouncer, through(tb, bouncer, opts), nil
}

func through(tb testing.TB, bouncer *cluster.Server, opts []Option) *DB {
	tb.Helper()
	server, err := postgresServer()
	if err != nil {
		tb.Fatal(err)
	}
	name := unique()
	admin(tb, server.DSN,
		"CREATE DATABASE "+name,
		"ALTER DATABASE "+name+" SET search_path = "+name)
	tb.Cleanup(func() {
		// FORCE ends the connections that PgBouncer keeps open.
		admin(tb, server.DSN, "DROP DATABASE "+name+" WITH (FORCE)")
	})
	direct := with(tb, server.DSN, name, nil)
	admin(tb, direct, "CREATE SCHEMA "+name)

	o := apply(opts)
	if o.execMode == "" {
		o.execMode = "exec"
	}
	dsn := with(tb, bouncer.DSN, name, map[string]string{"default_query_exec_mode": o.execMode})
	return &DB{DB: open(tb, "pgx", dsn, o), Dialect: dialect.Postgres, Schema: name, DSN: dsn, Direct: direct}
}

// unique names a schema or database that no other test, process or run uses,
// also on a server that has outlived an earlier run.
func unique() string {
	return "t_" + strings.ToLower(rand.Text()[:16])
}

// with returns the DSN with another database, unless that is "", and with these
// parameters, those that are "" left out.
func with(tb testing.TB, dsn, database string, params map[string]string) string {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatalf("read the DSN of the test server, which must be a URL: %v", err)
	}
	if database != "" {
		u.Path = "/" + database
	}
	q := u.Query()
	for k, v := range params {
		if v != "" {
			q.Set(k, v)
		}
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// admin runs statements, each on its own, as superuser. It opens a connection
// for them and closes it: a pool would live, with its goroutine, in every test
// that looks for leaked goroutines.
func admin(tb testing.TB, dsn string, statements ...string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		tb.Fatalf("reach the test server: %v", err)
	}
	for _, statement := range statements {
		if _, xerr := conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol); xerr != nil {
			err = fmt.Errorf("run %q on the test server: %w", statement, xerr)
			break
		}
	}
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		tb.Fatal(err)
	}
}
