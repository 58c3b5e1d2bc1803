package dbstore_test

import (
	"database/sql/driver"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
)

// panics is a parameter that panics.
type panics struct{}

func (panics) Value() (driver.Value, error) { panic("no value") }

// The first statement of a batch has its own error if it fails, wherever that is noticed, and leaves no connection inside a
// transaction.
func TestFirstStatementFails(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s, _ := opened(t, db)
		c := claimOne(t, s, db, time.Hour)
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE one (n integer PRIMARY KEY)"); err != nil {
			t.Fatal(err)
		}
		statements := map[string]any{"INSERT INTO nowhere VALUES ($1)": 1, "INSERT INTO one VALUES ($1), ($1)": 1}
		if db.Dialect == dialect.Postgres { // the driver of SQLite does not survive it
			statements["INSERT INTO one VALUES ($1)"] = panics{}
		}
		for query, arg := range statements {
			tx, err := s.Begin(t.Context(), c.Lease, limits)
			if err != nil {
				t.Fatal(err)
			}
			func() {
				defer func() { _ = recover() }()
				_, err = tx.ExecContext(t.Context(), query, arg)
				if err == nil || strings.Contains(err.Error(), "begin a batch") {
					t.Errorf("%s: got the error %v, want that of the statement", query, err)
				}
			}()
			tx.Rollback()
		}
		tx, err := s.Begin(t.Context(), c.Lease, limits)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO one VALUES ($1)", 1); err != nil {
			t.Error(err)
		}
		if a, err := tx.Commit(t.Context(), checkpoint(c.Lease)); err != nil || !a.OK {
			t.Errorf("commit: %+v, %v", a, err)
		}
	})
}
