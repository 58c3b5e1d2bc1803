package dialect_test

import (
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
)

// One text is two statements, in every way pgx can send it.
func TestEither(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, db *testdb.DB) {
		t.Helper()
		name, err := dialect.Detect(t.Context(), db)
		if err != nil || name != db.Dialect {
			t.Errorf("detected %q, %v; want %q", name, err, db.Dialect)
		}
		var n int
		var s string
		err = db.QueryRow("SELECT "+dialect.Either("CAST($1 AS integer) + 1", "$1 + 2")+", CAST($2 AS text)", 40, "x").Scan(&n, &s)
		want := map[dialect.Name]int{dialect.Postgres: 41, dialect.SQLite: 42}[db.Dialect]
		if err != nil || n != want || s != "x" {
			t.Errorf("read %d, %q, %v; want %d", n, s, err, want)
		}
	}
	testdb.Each(t, check)
	for _, mode := range []string{"cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			check(t, testdb.Postgres(t, testdb.ExecMode(mode)))
		})
	}
	t.Run("pgbouncer", func(t *testing.T) {
		t.Parallel()
		check(t, testdb.PgBouncer(t))
	})
}
