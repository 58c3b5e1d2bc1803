package testdb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/migrate"
)

// EachMigrated is [Each] with databases that have taskkit's tables, which are empty. On PostgreSQL a test
// may get the schema and the connections of a test that has ended: they are as new, but the numbers that the database gives
// do not begin at 1. A test that changes taskkit's tables or the settings of a connection takes a database of its own.
func EachMigrated(t *testing.T, f func(t *testing.T, db *DB)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		f(t, lender.Take(t))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		db := SQLite(t)
		if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
			t.Fatal(err)
		}
		f(t, db)
	})
}

// Pooled returns a whole database behind PgBouncer for a test, with taskkit's tables in the default schema, as package
// tasktest needs it. It is lent like the databases of EachMigrated.
func Pooled(tb testing.TB) *DB {
	tb.Helper()
	return pooled.Take(tb)
}

// lender and pooled lend the databases of EachMigrated and Pooled. They are package state, against the rule, as the servers
// are: tests that know nothing of each other have nothing else in common.
var (
	lender = NewLender("", Postgres)
	pooled = NewLender(dialect.DefaultSchema, PgBouncer)
)

// Lender lends PostgreSQL databases that have taskkit's tables. A test has one to itself, and a later test gets it again: to
// create and drop the tables, to connect and to plan takes the server longer than most tests. The databases end after the
// tests of the process, in [LeakMain], which the package's TestMain must call. It is safe for concurrent use.
type Lender struct {
	schema string
	open   func(testing.TB, ...Option) *DB
	opts   []Option

	mu   sync.Mutex
	free []*loan
}

// NewLender returns a lender of the databases that open opens with these options. taskkit's tables are in schema, or, if
// it is "", in the schema of the database beside the tests' own.
func NewLender(schema string, open func(testing.TB, ...Option) *DB, opts ...Option) *Lender {
	l := &Lender{schema: schema, open: open, opts: opts}
	lenders.Lock()
	defer lenders.Unlock()
	lenders.all = append(lenders.all, l)
	return l
}

// Take returns a database for a test. Where the test fails or leaves something behind, nobody gets it again.
func (l *Lender) Take(tb testing.TB) *DB {
	tb.Helper()
	o := l.take()
	if o == nil {
		o = &loan{conns: apply(l.opts).maxConns}
		o.db = l.open(outlived{tb, o}, l.opts...)
		o.schema = cmp.Or(l.schema, o.db.Schema)
		if err := o.make(tb.Context()); err != nil {
			o.end()
			tb.Fatal(err)
		}
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			o.end()
			return
		}
		if err := o.clean(); err != nil {
			tb.Logf("schema %s is not used again: %v", o.db.Schema, err)
			o.end()
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.free = append(l.free, o)
	})
	return o.db
}

// take returns a database that no test has, or nil.
func (l *Lender) take() (o *loan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.free); n > 0 {
		o, l.free = l.free[n-1], l.free[:n-1]
	}
	return o
}

// lenders are the lenders of the process.
var lenders struct {
	sync.Mutex
	all []*Lender
}

// endLenders ends all databases that are not lent. After the tests none is.
func endLenders() {
	lenders.Lock()
	defer lenders.Unlock()
	for _, l := range lenders.all {
		for o := l.take(); o != nil; o = l.take() {
			o.end()
		}
	}
}

// loan is a database that is lent.
type loan struct {
	db     *DB
	schema string // of taskkit's tables
	conns  int    // that its pool may have
	shape  string // of its schemas
	ends   []func()
}

// outlived is the test for which a database is opened, which outlives it.
type outlived struct {
	testing.TB
	loan *loan
}

// Cleanup implements [testing.TB].
func (o outlived) Cleanup(f func()) { o.loan.ends = append(o.loan.ends, f) }

// end ends the database.
func (o *loan) end() {
	for _, f := range slices.Backward(o.ends) {
		f()
	}
}

// make makes taskkit's tables.
func (o *loan) make(ctx context.Context) error {
	if err := migrate.Migrate(ctx, o.db.DB, o.schema); err != nil {
		return err
	}
	l, err := o.inspect(ctx)
	o.shape = l.shape
	return err
}

// left is what is in a database.
type left struct {
	shape  string
	tables int // that are not taskkit's
	busy   int // connections to the schema that are busy or hold an advisory lock, except PgBouncer's
}

// shapeQuery describes the relations of a database's own schema, %[1]s, and of the schema of taskkit's tables, %[2]s, which may be the same.
const shapeQuery = `SELECT md5(string_agg(concat_ws(' ', relname, relkind, relnatts, relchecks, relhastriggers, reloptions, relacl), ',' ORDER BY relname)),
  count(*) FILTER (WHERE relkind = 'r' AND relname NOT LIKE 'taskkit\_%%'),
  (SELECT count(*) FROM pg_stat_activity WHERE application_name = '%[1]s'
    AND (state <> 'idle' AND pid <> pg_backend_pid() OR pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')))
FROM pg_class WHERE relnamespace IN ('%[1]s'::regnamespace, '%[2]s'::regnamespace)`

// inspect returns what is in the database.
func (o *loan) inspect(ctx context.Context) (l left, err error) {
	err = o.db.QueryRowContext(ctx, fmt.Sprintf(shapeQuery, o.db.Schema, o.schema)).Scan(&l.shape, &l.tables, &l.busy)
	return l, err
}

// clean makes the database as it was before it was lent, or says why it cannot.
func (o *loan) clean() error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	SetConns(o.db.DB, o.conns)
	now, err := o.inspect(ctx)
	// The server may yet have to notice the end of connections that were closed.
	for try := 0; err == nil && now.busy > 0; try++ {
		if try == 20 {
			return errors.New("a connection does something or holds an advisory lock")
		}
		<-time.After(10 * time.Millisecond)
		now, err = o.inspect(ctx)
	}
	if err != nil {
		return err
	}
	if err := Empty(ctx, o.db.DB, o.db.Schema, o.schema); err != nil {
		return err
	}
	if now.tables > 0 {
		// Connections know the types of what was dropped.
		o.db.SetMaxIdleConns(0)
		SetConns(o.db.DB, o.conns)
		if now, err = o.inspect(ctx); err != nil {
			return err
		}
	}
	if now.shape != o.shape {
		return errors.New("the tables are not as they were")
	}
	return nil
}

// Empty drops the tables of a schema of PostgreSQL that are not taskkit's, and removes all rows of taskkit's tables, which are in
// the second schema, or the same.
func Empty(ctx context.Context, db *sql.DB, own, taskkit string) error {
	_, err := db.ExecContext(ctx, fmt.Sprintf(emptyStatement, own, taskkit))
	return err
}

// emptyStatement is the statement of Empty, with the names of shapeQuery. The versions of the migrations stay. It deletes rows where
// they are few: TRUNCATE makes new files for each table and index, and every connection must plan its statements again.
const emptyStatement = `DO $$ DECLARE tables text[]; one text; BEGIN
  SET LOCAL lock_timeout = '5s';
  FOR one IN SELECT format('%%I.%%I', schemaname, tablename) FROM pg_tables WHERE schemaname = '%[1]s' AND tablename NOT LIKE 'taskkit\_%%' LOOP
    EXECUTE 'DROP TABLE ' || one || ' CASCADE';
  END LOOP;
  tables := (SELECT array_agg(format('%%I.%%I', schemaname, tablename)) FROM pg_tables
    WHERE schemaname = '%[2]s' AND tablename <> 'taskkit_goose_version');
  IF (SELECT max(pg_relation_size(name::regclass)) FROM unnest(tables) name) > 1000000 THEN
    EXECUTE 'TRUNCATE ' || array_to_string(tables, ', ') || ' RESTART IDENTITY CASCADE';
  ELSE
    SET LOCAL session_replication_role = replica; -- without triggers
    FOREACH one IN ARRAY tables LOOP
      EXECUTE 'DELETE FROM ' || one;
    END LOOP;
  END IF;
END $$`
