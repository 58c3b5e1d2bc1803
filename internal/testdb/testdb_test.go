package testdb_test

import (
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testdb"
)

func TestEach(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		got, err := dialect.Detect(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		if got != db.Dialect {
			t.Errorf("the database is %s, the handle says %s", got, db.Dialect)
		}
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE x (a integer)"); err != nil {
			t.Fatal(err)
		}
	})
}
