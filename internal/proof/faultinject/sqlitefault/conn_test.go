package sqlitefault_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"modernc.org/sqlite"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/proof/faultinject/sqlitefault"
	"taskkit.dev/internal/testkit/testdb"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

// through opens the test's database with faults; it is closed with the test.
func through(tb testing.TB, db *testdb.DB, faults ...sqlitefault.Fault) (*sqlitefault.Connector, *sql.DB) {
	tb.Helper()
	inner, err := sqlite.NewConnector(db.DSN)
	if err != nil {
		tb.Fatal(err)
	}
	k := sqlitefault.New(inner, faults)
	harmed := sql.OpenDB(k)
	harmed.SetMaxOpenConns(1)
	tb.Cleanup(func() { _ = harmed.Close() })
	return k, harmed
}

// insert makes a transaction as taskkit does: its boundaries are statements.
func insert(tb testing.TB, db *sql.DB, n int) error {
	tb.Helper()
	conn, err := db.Conn(tb.Context())
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, step := range []string{"BEGIN IMMEDIATE", "INSERT INTO t VALUES ($1) RETURNING n", "COMMIT"} {
		if !strings.HasPrefix(step, "INSERT") {
			_, err = conn.ExecContext(tb.Context(), step)
		} else {
			var got int
			err = conn.QueryRowContext(tb.Context(), step, n).Scan(&got)
		}
		if err != nil {
			_, _ = conn.ExecContext(tb.Context(), "ROLLBACK")
			return err
		}
	}
	return nil
}

func rows(tb testing.TB, db *testdb.DB, n int) (found int) {
	tb.Helper()
	if err := db.QueryRowContext(tb.Context(), "SELECT count(*) FROM t WHERE n = $1", n).Scan(&found); err != nil {
		tb.Fatal(err)
	}
	return found
}

// Whatever call goes wrong, in whatever way: the row is there if and only if the
// COMMIT was made, and the database works again afterwards.
func TestEveryCall(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (n integer NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	k, plain := through(t, db)
	if err := insert(t, plain, 0); err != nil {
		t.Fatal(err)
	}
	calls := k.Calls()
	commit := 0
	for _, c := range calls {
		if c.SQL == "COMMIT" {
			commit = c.Number
		}
	}
	if commit != len(calls) || commit < 5 {
		t.Fatalf("the calls are %v: this is no insert", calls)
	}
	run := 0
	for _, c := range calls {
		for _, a := range []struct {
			action sqlitefault.Action
			done   bool // the call was made
			code   int
		}{
			{sqlitefault.FailBefore, false, 10},
			{sqlitefault.FailAfter, true, 10},
			{sqlitefault.BreakBefore, false, 10},
			{sqlitefault.BreakAfter, true, 10},
			{sqlitefault.BusyBefore, false, 5},
		} {
			run++
			k, harmed := through(t, db, sqlitefault.Fault{Number: c.Number, Action: a.action})
			err := insert(t, harmed, run)
			var fault *sqlitefault.Error
			if !errors.As(err, &fault) || fault.Code() != a.code || len(k.Struck()) != 1 {
				t.Errorf("%v, action %d: got %v", c, a.action, err)
			}
			want := 0
			if a.done && c.Number == commit {
				want = 1
			}
			if got := rows(t, db, run); got != want {
				t.Errorf("%v, action %d: %d rows, want %d", c, a.action, got, want)
			}
			run++
			if err := insert(t, harmed, run); err != nil || rows(t, db, run) != 1 {
				t.Errorf("%v, action %d: the database does not work afterwards: %v", c, a.action, err)
			}
		}
	}
}

// The runtime takes the errors for SQLite's own.
func TestErrorsAreSQLites(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	_, harmed := through(t, db, sqlitefault.Fault{Number: 1, Action: sqlitefault.FailBefore})
	_, err := harmed.ExecContext(t.Context(), "SELECT 1")
	if v := classify.Classify(t.Context(), err); v.Class != lifecycle.Transient || v.Code != classify.CodeDatabase {
		t.Errorf("%v is classified %v", err, v)
	}
}

// A fault counts what it matches, a hook runs before the call, and a late call
// is made.
func TestMatchHookDelay(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	var struck sqlitefault.Call
	mine := func(c sqlitefault.Call) bool { return strings.HasPrefix(c.SQL, "INSERT") && c.Name == "Exec" }
	k, harmed := through(t, db,
		sqlitefault.Fault{Number: 2, Match: mine, Action: sqlitefault.Hook, Hook: func(c sqlitefault.Call) {
			struck = c
			if got := rows(t, db, 2); got != 0 {
				t.Errorf("the hook ran after the call: %d rows", got)
			}
		}},
		sqlitefault.Fault{Number: 3, Match: mine, Action: sqlitefault.Delay, Delay: time.Millisecond})
	if _, err := harmed.ExecContext(t.Context(), "CREATE TABLE t (n integer NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 3; n++ {
		if _, err := harmed.ExecContext(t.Context(), "INSERT INTO t VALUES ($1)", n); err != nil {
			t.Fatal(err)
		}
		if got := rows(t, db, n); got != 1 {
			t.Errorf("%d rows of %d", got, n)
		}
	}
	<-k.Hit(0)
	<-k.Hit(1)
	if hits := k.Struck(); len(hits) != 2 || hits[0] != struck || !strings.Contains(struck.String(), `Exec "INSERT INTO t`) {
		t.Errorf("struck %v, the hook saw %v", hits, struck)
	}
}
