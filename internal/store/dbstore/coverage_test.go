package dbstore_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/testdb"
)

// openedRecorded is [opened] on a recorded handle, and fails the test when the
// store executes a statement that is in no golden file of TestStatements. A new
// statement therefore cannot be forgotten there.
func openedRecorded(t *testing.T, db *testdb.DB, handle *sql.DB, rec *testdb.Recording) (store.Store, *testdb.DB) {
	t.Helper()
	if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
		t.Fatal(err)
	}
	known := goldenShapes(t, db)
	s, err := dbstore.Open(t.Context(), handle, db.Schema, dbstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rec.Take()
	t.Cleanup(func() {
		statements := rec.Take()
		slices.Sort(statements)
		for _, query := range slices.Compact(statements) {
			if ofRuntime(query) && !known[signature(query)] {
				t.Errorf("no golden file has a statement like this one: add its call to TestStatements\n%s\nshape: %s", query, signature(query))
			}
		}
	})
	releaseAtEnd(t, s)
	return s, db
}

// goldenShapes returns the shapes of the statements in a database's golden files.
func goldenShapes(t *testing.T, db *testdb.DB) map[string]bool {
	t.Helper()
	known, err := shapes[db.Short()]()
	if err != nil || len(known) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	return known
}

// shapes reads those of each database once for all tests.
var shapes = map[string]func() (map[string]bool, error){
	"postgres": sync.OnceValues(func() (map[string]bool, error) { return readShapes("postgres") }),
	"sqlite":   sync.OnceValues(func() (map[string]bool, error) { return readShapes("sqlite") }),
}

func readShapes(database string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(goldenDir, database, "*.sql"))
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for query := range strings.SplitSeq(string(text), ";\n") {
			known[signature(query)] = true
		}
	}
	return known, nil
}

// ofRuntime reports whether a statement names taskkit's tables. Executors in the
// conformance suite use others.
func ofRuntime(query string) bool { return strings.Contains(query, "taskkit_") }

var (
	access    = regexp.MustCompile(`(INSERT INTO|UPDATE|DELETE FROM|FROM|JOIN) (?:/\*/\*\*/ )?"?(taskkit_\w+)`)
	parameter = regexp.MustCompile(`\$\d+(::\w+)?|\bw\.\w+|'[A-Z]+'::text`)
	blank     = regexp.MustCompile(`\s+`)
)

// signature returns what two statements have in common that differ only in the
// columns or filters that their parameters need: the tables they access, in their
// order, and the condition of a change.
func signature(query string) string {
	query = strings.ReplaceAll(query, `"`+dialect.DefaultSchema+`".`, "")
	query = blank.ReplaceAllString(query, " ")
	var parts []string
	for _, m := range access.FindAllStringSubmatch(query, -1) {
		if part := m[1] + " " + m[2]; !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if at := strings.LastIndex(query, " WHERE "); at >= 0 && (strings.Contains(query, "UPDATE taskkit_") || strings.Contains(query, "DELETE FROM taskkit_")) {
		parts = append(parts, strings.ReplaceAll(parameter.ReplaceAllString(query[at+1:], "?"), " ", ""))
	}
	return strings.Join(parts, ", ")
}
