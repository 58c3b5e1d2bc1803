package testdb_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

// kinds are the ways to come by a database.
var kinds = []struct {
	name    string
	dialect dialect.Name
	open    func(tb testing.TB, opts ...testdb.Option) *testdb.DB
}{
	{"postgres", dialect.Postgres, testdb.Postgres},
	{"pgbouncer", dialect.Postgres, testdb.PgBouncer},
	{"sqlite", dialect.SQLite, testdb.SQLite},
}

func TestEachTestHasItsOwn(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			one, two := k.open(t), k.open(t)
			for i, db := range []*testdb.DB{one, two} {
				got, err := dialect.Detect(t.Context(), db)
				if err != nil || got != k.dialect || db.Dialect != k.dialect {
					t.Errorf("the database is %q (%v), the handle says %q, want %q", got, err, db.Dialect, k.dialect)
				}
				exec(t, db.DB, "CREATE TABLE box (a integer)")
				exec(t, db.DB, "INSERT INTO box VALUES ($1)", i)
			}
			for i, db := range []*testdb.DB{one, two} {
				if got := query[int](t, db.DB, "SELECT sum(a) FROM box"); got != i {
					t.Errorf("database %d holds %d, want its own row only", i, got)
				}
			}
		})
	}
}

func TestDSNReachesTheSame(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			db := k.open(t)
			exec(t, db.DB, "CREATE TABLE box (a integer)")
			driver := "pgx"
			if k.dialect == dialect.SQLite {
				driver = "sqlite"
			}
			for _, dsn := range []string{db.DSN, db.Direct} {
				other, err := sql.Open(driver, dsn)
				if err != nil {
					t.Fatal(err)
				}
				defer other.Close()
				exec(t, other, "INSERT INTO box VALUES (1)")
			}
			if got := query[int](t, db.DB, "SELECT count(*) FROM box"); got != 2 {
				t.Errorf("the handle sees %d rows, want the 2 that came by its DSNs", got)
			}
		})
	}
}

func TestSchemaIsFirstInSearchPath(t *testing.T) {
	t.Parallel()
	for _, k := range kinds[:2] {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			db := k.open(t)
			if got := query[string](t, db.DB, "SELECT current_schema()"); got != db.Schema {
				t.Errorf("a new table would go to %q, want %q", got, db.Schema)
			}
		})
	}
}

func TestSchemaIsDroppedWithItsConnections(t *testing.T) {
	t.Parallel()
	var (
		name, dsn string
		forgotten *sql.DB
		tx        *sql.Tx
	)
	t.Run("test", func(t *testing.T) {
		db := testdb.Postgres(t)
		name, dsn = db.Schema, db.DSN
		exec(t, db.DB, "CREATE TABLE box (a integer)")
		// A child process that outlives the test and holds a lock.
		var err error
		if forgotten, err = sql.Open("pgx", db.DSN); err != nil {
			t.Fatal(err)
		}
		if tx, err = forgotten.Begin(); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("LOCK TABLE box"); err != nil {
			t.Fatal(err)
		}
	})
	defer forgotten.Close()
	if err := tx.Commit(); err == nil {
		t.Error("the forgotten transaction could still commit")
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if n := query[int](t, db, "SELECT count(*) FROM pg_namespace WHERE nspname = $1", name); n != 0 {
		t.Errorf("the schema %s is still there after its test", name)
	}
}

func TestPgBouncerPoolsByTransaction(t *testing.T) {
	t.Parallel()
	db := testdb.PgBouncer(t)
	one, two := conn(t, db), conn(t, db)
	// Two clients, one after the other, and the second has what the first set:
	// there is one connection behind them.
	for _, c := range []*sql.Conn{one, two} {
		if _, err := c.ExecContext(t.Context(), "SELECT 1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := one.ExecContext(t.Context(), "SET my.setting = 'leaked'"); err != nil {
		t.Fatal(err)
	}
	var got sql.NullString
	if err := two.QueryRowContext(t.Context(), "SELECT current_setting('my.setting', true)").Scan(&got); err != nil {
		t.Fatal(err)
	}
	if got.String != "leaked" {
		t.Errorf("the second client reads %q: the clients do not share a connection, so the pool is not by transaction", got.String)
	}
}

func TestExecMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			db := testdb.Postgres(t, testdb.ExecMode(mode), testdb.MaxConns(1))
			if got := query[int](t, db.DB, "SELECT $1::integer", 7); got != 7 {
				t.Errorf("got %d, want 7", got)
			}
			// Only the default mode leaves prepared statements behind.
			prepared := query[int](t, db.DB, "SELECT count(*) FROM pg_prepared_statements")
			if (prepared > 0) != (mode == "cache_statement") {
				t.Errorf("%d prepared statements in mode %s", prepared, mode)
			}
			if got := db.Stats().MaxOpenConnections; got != 1 {
				t.Errorf("the pool holds %d connections, want 1", got)
			}
		})
	}
}

// The name of a directory may contain what has a meaning in the DSN.
func TestSQLiteInOddDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a#b?c%20d e")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	db := testdb.SQLite(t, testdb.Dir(dir))
	exec(t, db.DB, "CREATE TABLE box (a integer)")
	if names, err := os.ReadDir(dir); err != nil || len(names) == 0 {
		t.Errorf("the directory holds %v (%v), want the database", names, err)
	}
}

func TestSQLiteSettings(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	for pragma, want := range map[string]string{
		"journal_mode": "wal",
		"synchronous":  "2", // FULL
		"foreign_keys": "1",
		"busy_timeout": "60000",
	} {
		if got := query[string](t, db.DB, "PRAGMA "+pragma); got != want {
			t.Errorf("%s is %s, want %s", pragma, got, want)
		}
	}
}

func TestEach(t *testing.T) {
	t.Parallel()
	var names []string
	t.Run("group", func(t *testing.T) {
		seen := make(chan string, 2)
		testdb.Each(t, func(_ *testing.T, db *testdb.DB) { seen <- string(db.Dialect) })
		t.Cleanup(func() {
			close(seen)
			for name := range seen {
				names = append(names, name)
			}
		})
	})
	if len(names) != 2 || names[0] == names[1] {
		t.Errorf("ran on %q, want each database once", names)
	}
}

// conn takes a connection of its own out of the pool.
func conn(t *testing.T, db *testdb.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func exec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// query returns the one value that a query yields.
func query[T any](t *testing.T, db *sql.DB, query string, args ...any) T {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var v T
	if err := db.QueryRowContext(ctx, query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}
