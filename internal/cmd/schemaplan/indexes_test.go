package main

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"entgo.io/ent/dialect"

	"taskkit.dev/migrations"
)

// Indexes that come after a release are made and dropped beside running work on PostgreSQL.
func TestLaterIndexes(t *testing.T) {
	t.Parallel()
	const released = "-- +goose Up\nCREATE INDEX `a` ON `t` (`x`);\nCREATE INDEX \"a\" ON \"{schema}\".\"t\" (\"x\");\nCREATE INDEX \"b\" ON \"{schema}\".\"t\" (\"y\");\nCREATE INDEX `b` ON `t` (`y`);\n"
	for name, test := range map[string]struct{ dialect, tables, want string }{
		"PostgreSQL": {
			dialect.Postgres, "CREATE INDEX \"b\" ON \"{schema}\".\"t\" (\"y\");\nCREATE UNIQUE INDEX \"c\" ON \"{schema}\".\"t\" (\"z\") WHERE z > 0;\n",
			"-- +goose NO TRANSACTION\n-- +goose Up\n-- Planned from ent/schema by internal/cmd/schemaplan.\n" +
				"CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS \"c\" ON \"{schema}\".\"t\" (\"z\") WHERE z > 0;\nDROP INDEX CONCURRENTLY IF EXISTS \"{schema}\".\"a\";\n",
		},
		"SQLite": {
			dialect.SQLite, "CREATE INDEX `b` ON `t` (`y`);\nCREATE INDEX `c` ON `t` (`z`);\n",
			"-- +goose Up\n-- Planned from ent/schema by internal/cmd/schemaplan.\nCREATE INDEX `c` ON `t` (`z`);\nDROP INDEX `a`;\n",
		},
		"another index of that name": {dialect.SQLite, "CREATE INDEX `a` ON `t` (`z`);\n", "give the new one another name"},
	} {
		files := fstest.MapFS{"1.sql": {Data: []byte(only(test.dialect, released))}}
		got, err := laterIndexes(test.dialect, files, test.tables)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
		if err != nil {
			continue
		}
		// After it nothing is left to do.
		files["2.sql"] = &fstest.MapFile{Data: []byte(got)}
		if _, err := laterIndexes(test.dialect, files, test.tables); !errors.Is(err, errNoChange) {
			t.Errorf("%s: %v after its own migration", name, err)
		}
	}
}

// only keeps the statements of a dialect.
func only(name, text string) string {
	mark := "`"
	if name == dialect.Postgres {
		mark = "\""
	}
	var kept []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, mark) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// The migrations have the indexes of the ent schema, or a later migration is missing.
func TestMigrationsHaveAllIndexes(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{dialect.Postgres: "postgres", dialect.SQLite: "sqlite"} {
		released, err := fs.Sub(migrations.FS, dir)
		if err != nil {
			t.Fatal(err)
		}
		tables, _, err := plannedTables(name)
		if err != nil {
			t.Fatal(err)
		}
		if later, err := laterIndexes(name, released, tables); !errors.Is(err, errNoChange) {
			t.Errorf("%s: %v\n%s", dir, err, later)
		}
	}
}
