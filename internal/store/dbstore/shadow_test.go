package dbstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/shadow"
	"taskkit.dev/internal/testkit/storetest"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/migrations"
)

// TestShadowed shows that no call of taskkit can be taken by a role that may create functions and operators in a schema of the
// search_path, or it had the rights of every worker and submitter: the schema public has an overload of every function and
// operator that the golden SQL and the migrations name, and none is called.
func TestShadowed(t *testing.T) {
	t.Parallel()
	shadowed := shadowedDatabase(t)
	t.Run("suite", func(t *testing.T) {
		t.Parallel()
		dbs := &reuse{t: t, open: shadowed}
		storetest.Run(t, func(t *testing.T) (store.Store, *testdb.DB) { return opened(t, dbs.take(t)) })
	})
	t.Run("objects", func(t *testing.T) {
		t.Parallel()
		noneCalled(t, shadowed(t))
	})
}

// noneCalled shows that no overload is called in a part of a statement that the suite does not execute, nor in what the
// migrations create: PostgreSQL records which functions and operators an object calls.
func noneCalled(t *testing.T, db *testdb.DB) {
	t.Helper()
	opened(t, db)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for name, text := range goldenTexts(t) {
		for i, query := range strings.Split(text, ";\n") {
			query = strings.ReplaceAll(query, `"taskkit"`, `"`+db.Schema+`"`)
			if !resolved.MatchString(query) || strings.Contains(query, "no_such_column") {
				continue
			}
			if err := compile(t.Context(), conn, fmt.Sprintf("golden_%s_%d", name, i), query); err != nil {
				t.Errorf("%s: %v\n%s", name, err, query)
			}
		}
	}
	for _, call := range queryTexts(t, db, `SELECT pg_describe_object(classid, objid, objsubid) || ' calls ' || pg_describe_object(refclassid, refobjid, refobjsubid)
FROM pg_depend WHERE (refclassid = 'pg_proc'::regclass AND refobjid IN (SELECT oid FROM pg_proc WHERE pronamespace = 'public'::regnamespace)
    OR refclassid = 'pg_operator'::regclass AND refobjid IN (SELECT oid FROM pg_operator WHERE oprnamespace = 'public'::regnamespace))
  AND classid <> 'pg_operator'::regclass`) {
		t.Error(call)
	}
}

// resolved matches the statements that call something.
var resolved = regexp.MustCompile(`(?m)^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b`)

// compile makes a statement the body of a function, so that PostgreSQL records the calls of it. The types of the parameters are
// the ones that PostgreSQL finds.
func compile(ctx context.Context, conn *sql.Conn, name, query string) error {
	var words []string
	if err := conn.Raw(func(c any) error {
		pgx, ok := c.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("the connection is a %T", c)
		}
		d, err := pgx.Conn().Prepare(ctx, name, query)
		if err != nil {
			return err
		}
		for _, oid := range d.ParamOIDs {
			words = append(words, fmt.Sprint(oid))
		}
		return nil
	}); err != nil {
		return err
	}
	var params string
	err := conn.QueryRowContext(ctx, `SELECT coalesce(string_agg(format_type(oid::oid, NULL), ',' ORDER BY n), '')
FROM pg_catalog.unnest(string_to_array($1, ',')) WITH ORDINALITY p(oid, n)`, strings.Join(words, ",")).Scan(&params)
	if err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "CREATE FUNCTION "+name+"("+params+") RETURNS void LANGUAGE sql BEGIN ATOMIC "+query+"; END")
	return err
}

// shadowedDatabase creates a database whose schema public has the overloads, and returns what opens schemas in it.
func shadowedDatabase(t *testing.T) func(testing.TB, ...testdb.Option) *testdb.DB {
	t.Helper()
	server := testdb.OwnDatabase(t)
	files, err := fs.Glob(migrations.FS, "postgres/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	var statements []string
	for _, file := range files {
		text, err := fs.ReadFile(migrations.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		statements = append(statements, string(text))
	}
	for _, text := range goldenTexts(t) {
		statements = append(statements, text)
	}
	names, err := shadow.Create(t.Context(), testdb.On(t, server).DB, "public", statements...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"|", "||", "*", "->>", "=", "unnest", "to_jsonb", "format", "concat_ws", "hashtextextended", "count"} {
		if !slices.Contains(names, name) {
			t.Fatalf("no overload of %s", name)
		}
	}
	return func(tb testing.TB, opts ...testdb.Option) *testdb.DB {
		tb.Helper()
		return testdb.On(tb, server, append(opts, testdb.And("public"))...)
	}
}

// goldenTexts returns the golden SQL of PostgreSQL by the names of the files.
func goldenTexts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(goldenDir, "postgres", "*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	statements := make(map[string]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		statements[strings.TrimSuffix(filepath.Base(file), ".sql")] = string(text)
	}
	return statements
}

// queryTexts returns the rows of a query of one text.
func queryTexts(t *testing.T, conn store.Querier, query string) (all []string) {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFunctionsPinned shows that no function of taskkit depends on the search_path of a session.
func TestFunctionsPinned(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	opened(t, db)
	for _, f := range queryTexts(t, db, `SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = '`+db.Schema+`'::regnamespace
  AND proconfig IS DISTINCT FROM '{search_path=pg_catalog}'`) {
		t.Errorf("%s has no search_path of its own", f)
	}
}
