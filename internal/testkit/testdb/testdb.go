package testdb

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"taskkit.dev/internal/dialect"
)

// DB is a database handle for one test. It is closed, and what it reaches is
// dropped, when the test ends.
type DB struct {
	*sql.DB

	// Dialect is which of the two databases it is.
	Dialect dialect.Name
	// Schema is the test's own schema on PostgreSQL. It exists, is empty, and
	// is first in the search_path of every connection to DSN. It is "" on
	// SQLite.
	Schema string
	// DSN opens another handle to the same, also from a child process: with
	// the driver "pgx" on PostgreSQL and "sqlite" on SQLite.
	DSN string
	// Direct is a DSN to the same that goes past PgBouncer, for what needs a
	// session, as LISTEN does. Without PgBouncer it is DSN.
	Direct string
}

// Short is the database's short name, as subtests and records have it:
// "postgres" or "sqlite".
func (d *DB) Short() string {
	if d.Dialect == dialect.SQLite {
		return "sqlite"
	}
	return string(d.Dialect)
}

// Option changes how a test's database is opened.
type Option func(*options)

type options struct {
	execMode string
	maxConns int
	unsynced bool
	dir      string
	path     string // after the test's own schema
}

// sqliteFile is the name of an SQLite database in its directory.
const sqliteFile = "test.db"

// defaultConns bounds a test's pool. Eight tests at a time, each with some child
// processes of the same size, stay below the server's 600 connections.
const defaultConns = 16

// ExecMode sets pgx's default_query_exec_mode in the DSN: cache_statement,
// cache_describe, describe_exec, exec or simple_protocol. Defaults to pgx's own
// default, cache_statement; through PgBouncer to exec, since cache_statement
// names prepared statements on a connection that is another one the next time.
// SQLite ignores it.
func ExecMode(mode string) Option {
	return func(o *options) { o.execMode = mode }
}

// MaxConns bounds the pool of the handle. Defaults to 16.
func MaxConns(n int) Option {
	return func(o *options) { o.maxConns = n }
}

// And adds a schema to the search_path, after the test's own. PgBouncer and SQLite ignore it.
func And(schema string) Option {
	return func(o *options) { o.path += "," + schema }
}

// Unsynced lets SQLite not wait for the disk, for a test that makes so many
// commits that it would do little else. PostgreSQL ignores it.
func Unsynced() Option {
	return func(o *options) { o.unsynced = true }
}

// Dir puts the file of an SQLite database into a directory. Defaults to a temporary
// one of the test's. PostgreSQL ignores it.
func Dir(dir string) Option {
	return func(o *options) { o.dir = dir }
}

func apply(opts []Option) options {
	o := options{maxConns: defaultConns}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// Each runs f as the parallel subtests "postgres" and "sqlite" of t. A subtest
// marks itself parallel; whether t is, its test decides.
func Each(t *testing.T, f func(t *testing.T, db *DB)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		f(t, Postgres(t))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, SQLite(t))
	})
}

// SQLite returns an empty SQLite file in a directory of the test's, opened as
// the documentation advises. A transaction takes the write lock when it begins,
// for one that only later finds it wants to write cannot wait for it.
func SQLite(tb testing.TB, opts ...Option) *DB {
	tb.Helper()
	o := apply(opts)
	sync := "FULL"
	if o.unsynced {
		sync = "OFF"
	}
	if o.dir == "" {
		o.dir = tb.TempDir()
	}
	// The directory of a subtest whose name another one has too contains "#", which would end the path.
	path := url.URL{Path: filepath.ToSlash(filepath.Join(o.dir, sqliteFile))}
	// busy_timeout comes first: to switch to WAL takes a lock too.
	dsn := "file:" + path.EscapedPath() +
		"?_txlock=immediate" +
		"&_pragma=busy_timeout(60000)" +
		"&_pragma=journal_mode(WAL)" +
		"&_pragma=foreign_keys(ON)" +
		"&_pragma=synchronous(" + sync + ")"
	db := open(tb, "sqlite", dsn, o)
	return &DB{DB: db, Dialect: dialect.SQLite, DSN: dsn, Direct: dsn}
}

// SetConns bounds a pool to n connections and lets it keep them: by default database/sql closes idle ones but two. A new
// connection starts a server process and plans every statement again, which takes many times as long as most statements.
func SetConns(db *sql.DB, n int) {
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
}

// open opens a handle, sees that it works, and closes it when the test ends.
func open(tb testing.TB, driver, dsn string, o options) *sql.DB {
	tb.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		tb.Fatalf("open the test's database %s: %v", dsn, err)
	}
	SetConns(db, o.maxConns)
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close the test's database: %v", err)
		}
	})
	// Not the test's context: it ends before the clean-up, and a test that
	// fails here has not begun.
	if err := db.PingContext(context.Background()); err != nil {
		tb.Fatalf("reach the test's database %s: %v", dsn, err)
	}
	return db
}
