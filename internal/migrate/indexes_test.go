package migrate_test

import (
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/testkit/testdb"
)

// The files name the same indexes as the database, and each statement makes its index again.
func TestIndexesOfMigrations(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
			t.Fatal(err)
		}
		query := "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
		if db.Dialect == dialect.Postgres {
			query = `SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = '` + db.Schema + `'::regnamespace
AND NOT EXISTS (SELECT FROM pg_constraint o WHERE o.conindid = c.oid)`
		}
		names := func() (all []string) {
			rows, err := db.QueryContext(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			for rows.Next() {
				var name string
				if err := rows.Scan(&name); err != nil {
					t.Fatal(err)
				}
				all = append(all, name)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			slices.Sort(all)
			return all
		}
		found, err := migrate.Indexes(t.Context(), db, db.Schema)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, i := range found {
			want = append(want, i.Name)
		}
		slices.Sort(want)
		if got := names(); !slices.Equal(got, want) || len(got) < 20 {
			t.Fatalf("the database has the indexes\n%v, the files\n%v", got, want)
		}
		for _, i := range found {
			for _, statement := range []string{"DROP INDEX " + i.Name, i.Create} {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Errorf("%s: %v", statement, err)
				}
			}
			if db.Dialect == dialect.Postgres && !strings.Contains(i.Create, "INDEX CONCURRENTLY ") {
				t.Errorf("%s is not made beside running work", i.Create)
			}
		}
		if got := names(); !slices.Equal(got, want) {
			t.Errorf("made anew there are %v", got)
		}
	})
}
