package main

import (
	"path/filepath"
	"strings"
	"testing"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

// The program says what it has found, on both databases.
func TestCheck(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		schema := db.Schema
		if schema == "" {
			schema = taskkit.DefaultSchema
		}
		if err := taskkit.Migrate(t.Context(), db.DB, schema); err != nil {
			t.Fatal(err)
		}
		args := []string{"-schema", schema, "-ended", "-logs", t.TempDir(), db.DSN}
		if _, err := run(t.Context(), args, t.Output()); err == nil || !strings.Contains(err.Error(), "is the oracle installed here?") {
			t.Errorf("without an oracle: %v", err)
		}
		o, err := oracle.New(oracle.Dialect(db.Dialect), schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Install(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		if ok, err := run(t.Context(), args, t.Output()); !ok || err != nil {
			t.Errorf("an empty run: %t, %v", ok, err)
		}
		if _, err := db.ExecContext(t.Context(), "INSERT INTO oracle_entity (id, counter) VALUES (7, 1)"); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		ok, err := run(t.Context(), args, &out)
		if ok || err != nil || !strings.Contains(out.String(), "violations   1\n  I1: the counter of entity 7 is 1") {
			t.Errorf("a counter without a touch: %t, %v\n%s", ok, err, &out)
		}
	})
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{},
		{"a", "b"},
		{filepath.Join(t.TempDir(), "mistyped.db")},
		{"-unknown", "a"},
	} {
		if ok, err := run(t.Context(), args, t.Output()); ok || err == nil {
			t.Errorf("%q: %t, %v", args, ok, err)
		}
	}
}
