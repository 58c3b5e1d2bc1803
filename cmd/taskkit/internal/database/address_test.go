package database_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskkit.dev/cmd/taskkit/internal/database"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/taskkit"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		dialect dialect.Name
		shown   string
		file    string
	}{
		{"postgres://me@host/app", dialect.Postgres, "postgres://me@host/app", ""},
		{"postgresql://me:pw@host:5433/app?sslmode=require", dialect.Postgres, "postgresql://me:xxxxx@host:5433/app?sslmode=require", ""},
		{"postgres://host/app?user=me&password=pw&sslpassword=pw", dialect.Postgres, "postgres://host/app?user=me&password=xxxxx&sslpassword=xxxxx", ""},
		{"host=h user=me password=pw dbname=app", dialect.Postgres, "host=h user=me password=xxxxx dbname=app", ""},
		{`host=h password='p w\'x' dbname=app`, dialect.Postgres, "host=h password=xxxxx dbname=app", ""},
		{"tasks.db", dialect.SQLite, "tasks.db", "tasks.db"},
		{"./a b?c.db", dialect.SQLite, "./a b?c.db", "./a b?c.db"},
		{`C:\tasks.db`, dialect.SQLite, `C:\tasks.db`, `C:\tasks.db`},
		{"sqlite:tasks.db", dialect.SQLite, "tasks.db", "tasks.db"},
		{"sqlite:///var/tasks.db", dialect.SQLite, "/var/tasks.db", "/var/tasks.db"},
		{"file:/var/a%20b.db?_pragma=busy_timeout(1)", dialect.SQLite, "/var/a b.db", "/var/a b.db"},
		{"file://localhost/var/tasks.db", dialect.SQLite, "/var/tasks.db", "/var/tasks.db"},
	} {
		at, err := database.Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if at.Dialect != c.dialect || at.String() != c.shown || at.File != c.file || at.Secret() != strings.Contains(c.shown, "xxxxx") {
			t.Errorf("%s: %s %q file %q secret %t; want %s %q file %q", c.text, at.Dialect, at, at.File, at.Secret(), c.dialect, c.shown, c.file)
		}
		again, err := database.Parse(at.Text())
		if err != nil || again != at {
			t.Errorf("%s: read again from its text %q it is another: %+v (%v)", c.text, at.Text(), again, err)
		}
	}
	for _, text := range []string{"", " ", "mysql://h/x", "https://h/x", "sqlite:", "sqlite://host/x", ":memory:", "file:x?mode=memory", "file:%zz", "postgres://a:b%zz@h/x"} {
		_, err := database.Parse(text)
		var wrong *database.AddressError
		if !errors.As(err, &wrong) || strings.Contains(err.Error(), "b%zz") {
			t.Errorf("%q: %v, want an *AddressError without a password", text, err)
		}
	}
}

// A file is opened with the settings that taskkit needs, whatever its name; what
// the address says itself is left as it is.
func TestOpenSQLite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		name, query string
		busy        int
	}{
		{"plain.db", "", 10_000},
		{"odd ?#%20&name.db", "", 10_000},
		{"set.db", "?_pragma=busy_timeout(1234)", 1234},
	} {
		path := filepath.Join(dir, c.name)
		text := path
		if c.query != "" {
			text = "file:" + path + c.query
		}
		at, err := database.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := at.Open(t.Context(), database.Options{}); err == nil {
			t.Errorf("%s: opened, and it is not there", c.name)
		}
		db, err := at.Open(t.Context(), database.Options{Create: true})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		defer db.Close()
		if err := taskkit.Migrate(t.Context(), db, ""); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: the file has another name: %v", c.name, err)
		}
		var journal string
		var busy, foreign, synchronous int
		for pragma, to := range map[string]any{"journal_mode": &journal, "busy_timeout": &busy, "foreign_keys": &foreign, "synchronous": &synchronous} {
			if err := db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(to); err != nil {
				t.Fatal(err)
			}
		}
		if journal != "wal" || busy != c.busy || foreign != 1 || synchronous != 2 {
			t.Errorf("%s: journal %s, busy %d, foreign keys %d, synchronous %d", c.name, journal, busy, foreign, synchronous)
		}
	}
}
