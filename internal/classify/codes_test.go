package classify_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/testkit/testdb"
)

// sqliteError has the result code of an SQLite driver's error.
type sqliteError int

func (sqliteError) Error() string { return "sqlite" }
func (e sqliteError) Code() int   { return int(e) }

func state(code string) error {
	return fmt.Errorf("insert: %w", &pgconn.PgError{Code: code, Message: "m"})
}

func TestCodes(t *testing.T) {
	t.Parallel()
	conditions := map[string]func(error) bool{
		"unique violation":     classify.UniqueViolation,
		"undefined table":      classify.UndefinedTable,
		"undefined column":     classify.UndefinedColumn,
		"busy":                 classify.Busy,
		"aborted transaction":  classify.AbortedTransaction,
		"limit exceeded":       classify.LimitExceeded,
		"concurrent migration": classify.ConcurrentMigration,
		"lost connection":      classify.LostConnection,
	}
	for _, c := range []struct {
		err  error
		want []string
	}{
		{nil, nil},
		{errors.New("x"), nil},
		{codeError(5), nil},
		{state("23505"), []string{"unique violation", "concurrent migration"}},
		{state("23503"), nil},
		{state("42P01"), []string{"undefined table"}},
		{state("42703"), []string{"undefined column"}},
		{state("42501"), nil},
		{state("42601"), nil},
		{state("42P06"), []string{"concurrent migration"}},
		{state("42P07"), []string{"concurrent migration"}},
		{state("42710"), []string{"concurrent migration"}},
		{state("25P02"), []string{"aborted transaction"}},
		{state("40001"), []string{"concurrent migration"}},
		{state("40P01"), []string{"concurrent migration"}},
		{state("55P03"), []string{"busy", "concurrent migration"}},
		{state("54001"), []string{"limit exceeded"}},
		{errors.New("extended protocol limited to 65535 parameters"), []string{"limit exceeded"}},
		{state("08006"), []string{"lost connection"}},
		{state("57P01"), []string{"lost connection"}},
		{state("57014"), nil},
		{driver.ErrBadConn, []string{"lost connection"}},
		{fmt.Errorf("read: %w", io.ErrUnexpectedEOF), []string{"lost connection"}},
		{sqliteError(1), nil},
		{sqliteError(5), []string{"busy", "concurrent migration"}},
		{sqliteError(261), []string{"busy", "concurrent migration"}}, // BUSY_RECOVERY
		{sqliteError(6), []string{"busy", "concurrent migration"}},
		{sqliteError(18), []string{"limit exceeded"}},
		{sqliteError(19), nil},
		{sqliteError(1555), []string{"unique violation", "concurrent migration"}},
		{sqliteError(2067), []string{"unique violation", "concurrent migration"}},
	} {
		want := map[string]bool{}
		for _, name := range c.want {
			want[name] = true
		}
		for name, is := range conditions {
			if got := is(c.err); got != want[name] {
				t.Errorf("%v: %s is %v, want %v", c.err, name, got, want[name])
			}
		}
	}
}

func TestDatabaseError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("x"), false},
		{codeError(5), false},
		{state("23503"), true},
		{state("40001"), true},
		{state("99999"), true},
		{sqliteError(13), true},
		{state("08006"), false},
		{state("57P01"), false},
		{driver.ErrBadConn, false},
		{fmt.Errorf("read: %w", io.ErrUnexpectedEOF), false},
	} {
		if got := classify.DatabaseError(c.err); got != c.want {
			t.Errorf("%v: the answer of the database: %v, want %v", c.err, got, c.want)
		}
	}
}

// The drivers in use report these conditions as the tables say.
func TestCodesOfTheDrivers(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE box (a integer UNIQUE)"); err != nil {
			t.Fatal(err)
		}
		exec := func(query string, args ...any) error {
			_, err := db.ExecContext(t.Context(), query, args...)
			return err
		}
		insert := "INSERT INTO box VALUES (1)"
		if err := exec(insert); err != nil {
			t.Fatal(err)
		}
		if err := exec(insert); !classify.UniqueViolation(err) {
			t.Errorf("a row that exists: %v is not a unique violation", err)
		}
		if err := exec("SELECT id FROM crate"); !classify.UndefinedTable(err) {
			t.Errorf("a table that does not exist: %v is not an undefined table", err)
		}
		if err := many(t, db.DB); !classify.LimitExceeded(err) {
			t.Errorf("70,000 parameters: %.200v is not an exceeded limit", err)
		}
		if err := exec("SELECT ?40000"); db.Dialect == dialect.SQLite && !classify.LimitExceeded(err) {
			t.Errorf("parameter 40,000 of SQLite: %v is not an exceeded limit", err)
		}
	})
}

// Mistakes have the same class on both databases.
func TestMistakes(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		exec := func(query string) error {
			_, err := conn.ExecContext(t.Context(), query)
			return err
		}
		rule := []string{
			"CREATE TABLE box (a integer)",
			"CREATE TRIGGER refuse BEFORE INSERT ON box BEGIN SELECT RAISE(ABORT, 'no boxes'); END",
		}
		if db.Dialect == dialect.Postgres {
			rule[1] = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no boxes'; END $$"
			rule = append(rule, "CREATE TRIGGER refuse BEFORE INSERT ON box FOR EACH ROW EXECUTE FUNCTION refuse()")
		}
		for _, query := range rule {
			if err := exec(query); err != nil {
				t.Fatal(err)
			}
		}
		for query, want := range map[string]lifecycle.Class{
			"INSERT INTO box VALUES (1)":           lifecycle.Permanent, // a rule of a trigger
			"ROLLBACK TO SAVEPOINT nowhere":        lifecycle.Permanent,
			"VACUUM":                               lifecycle.Permanent,
			"CREATE TABLE nowhere.box (a integer)": lifecycle.Refused,
			"SELECT a FROM crate":                  lifecycle.Refused,
			"SELECT nothing FROM box":              lifecycle.Refused,
			"SELECT nothing(a) FROM box":           lifecycle.Refused,
			"SELECT a FROM WHERE box":              lifecycle.Refused,
		} {
			if err := exec("BEGIN"); err != nil {
				t.Fatal(err)
			}
			err := exec(query)
			if err == nil {
				t.Errorf("%s: no error", query)
			} else if c := classify.Classify(t.Context(), err); c.Class != want || c.Code != classify.CodeDatabase {
				t.Errorf("%s: %v is %s %q, want %s %q", query, err, c.Class, c.Code, want, classify.CodeDatabase)
			}
			if err := exec("ROLLBACK"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// many runs a statement with more parameters than either database takes.
func many(t *testing.T, db *sql.DB) error {
	t.Helper()
	const n = 70_000
	query := []byte("SELECT 1 WHERE 1 IN ($1")
	args := []any{1}
	for i := 2; i <= n; i++ {
		query = fmt.Appendf(query, ",$%d", i)
		args = append(args, i)
	}
	_, err := db.ExecContext(t.Context(), string(append(query, ')')), args...)
	return err
}
