package migrate_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/testkit/testdb"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

// each runs f on every way to a database.
func each(t *testing.T, f func(t *testing.T, db *testdb.DB)) {
	t.Helper()
	testdb.Each(t, f)
	t.Run("pgbouncer", func(t *testing.T) {
		t.Parallel()
		f(t, testdb.PgBouncer(t))
	})
}

// Many migrators at once apply each file once, in the schema of the user's
// choice, which need not exist.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *testdb.DB) {
		schema := db.Schema
		if db.Dialect == dialect.Postgres {
			schema = db.Schema + "_chosen"
			t.Cleanup(func() {
				if _, err := db.Exec("DROP SCHEMA " + schema + " CASCADE"); err != nil {
					t.Error(err)
				}
			})
		}
		var state *migrate.SchemaError
		if err := migrate.Check(t.Context(), db, schema); !errors.As(err, &state) || state.Have != 0 || !state.Behind() || !strings.Contains(err.Error(), "taskkit migrate") {
			t.Fatalf("before: %v", err)
		}
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				if err := migrate.Migrate(t.Context(), db.DB, schema); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if err := migrate.Check(t.Context(), db, schema); err != nil {
			t.Fatalf("after: %v", err)
		}
		table := "taskkit_goose_version"
		if schema != "" {
			table = schema + "." + table
		}
		var rows, versions int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*), count(DISTINCT version_id) FROM "+table).Scan(&rows, &versions); err != nil {
			t.Fatal(err)
		}
		if rows != versions || rows < 2 {
			t.Fatalf("%d versions in %d rows", versions, rows)
		}
		// Nothing outside the schema.
		if db.Dialect == dialect.Postgres {
			var outside int
			if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = $1", db.Schema).Scan(&outside); err != nil || outside > 0 {
				t.Fatalf("%d tables outside the schema, %v", outside, err)
			}
		}
	})
}

// One connection is enough: no lock is held on a second.
func TestMigrateOnOneConnection(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB, ...testdb.Option) *testdb.DB{
		"postgres": testdb.Postgres, "pgbouncer": testdb.PgBouncer, "sqlite": testdb.SQLite,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t, testdb.MaxConns(1))
			for range 2 { // again is nothing
				if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// The error distinguishes a schema that is newer than the program from an older one.
func TestCheckAhead(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *testdb.DB) {
		if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "INSERT INTO taskkit_goose_version (version_id, is_applied) VALUES (9000, true)"); err != nil {
			t.Fatal(err)
		}
		var state *migrate.SchemaError
		if err := migrate.Check(t.Context(), db, db.Schema); !errors.As(err, &state) || state.Behind() || state.Have != 9000 {
			t.Fatalf("got %v, want a schema that is ahead", err)
		}
		if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
			t.Fatalf("an old program on a new schema has nothing to do: %v", err)
		}
	})
}

// A failure is returned at once, and leaves nothing half done.
func TestMigrateFails(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE taskkit_task_result (x integer)"); err != nil {
			t.Fatal(err)
		}
		if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err == nil || !strings.Contains(err.Error(), "taskkit_task_result") {
			t.Fatalf("got %v, want the table that is in the way", err)
		}
		if _, err := db.ExecContext(t.Context(), "SELECT 1 FROM taskkit_queued_task"); err == nil {
			t.Fatal("half of the migration was applied")
		}
		if err := migrate.Check(t.Context(), db, db.Schema); err == nil {
			t.Fatal("the schema passes")
		}
	})
}
