package dbstore_test

import (
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/testdb"
)

// A transaction that cannot begin with the commit before it is no failure of that commit, and its connection can
// be used again.
func TestNextBatchThatCannotBegin(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s, _ := opened(t, db)
		c := claimOne(t, s, db, time.Hour)
		tx, err := s.Begin(t.Context(), c.Lease, limits)
		if err != nil {
			t.Fatal(err)
		}
		w := checkpoint(c.Lease)
		w.Next = &store.TxTimeouts{Idle: 10_000 * time.Hour} // longer than PostgreSQL allows
		if a, err := tx.Commit(t.Context(), w); err != nil || !a.OK || a.Next != nil {
			t.Fatalf("got %+v, %v, want an applied write and no transaction", a, err)
		}
		tx, err = s.Begin(t.Context(), w.NextLease(), limits)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if a, err := tx.Commit(t.Context(), checkpoint(w.NextLease())); err != nil || !a.OK {
			t.Errorf("the next checkpoint: %+v, %v", a, err)
		}
	})
}

// A transaction begins with the commit before it only while there are connections for others.
func TestNextBatchLeavesConnections(t *testing.T) {
	t.Parallel()
	_, db := opened(t, testdb.Postgres(t))
	for most, want := range map[int]bool{0: true, 1: false, 2: true, 3: true} {
		handle, err := sql.Open("pgx", db.DSN)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = handle.Close() })
		s, err := dbstore.Open(t.Context(), handle, db.Schema, dbstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		handle.SetMaxOpenConns(most)
		c := claimOne(t, s, db, time.Hour)
		tx, err := s.Begin(t.Context(), c.Lease, limits)
		if err != nil {
			t.Fatal(err)
		}
		w := checkpoint(c.Lease)
		w.Next = &limits
		a, err := tx.Commit(t.Context(), w)
		if err != nil || !a.OK || (a.Next != nil) != want {
			t.Errorf("with at most %d connections: got %+v, %v, want a transaction: %v", most, a, err, want)
		}
		if a.Next != nil {
			a.Next.Rollback()
		}
	}
}

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
