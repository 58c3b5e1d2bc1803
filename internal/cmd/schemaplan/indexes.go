package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"entgo.io/ent/dialect"
)

// made and dropped match the statements of migrations that make and drop an index.
var (
	made    = regexp.MustCompile("(?m)^CREATE (UNIQUE )?INDEX (?:CONCURRENTLY )?(?:IF NOT EXISTS )?[`\"](\\w+)[`\"] (ON .*;)$")
	dropped = regexp.MustCompile("(?m)^DROP INDEX (?:CONCURRENTLY )?(?:IF EXISTS )?(?:\"\\{schema\\}\"\\.)?[`\"](\\w+)[`\"];$")
)

// index is what follows the name of an index, and the word before it.
type index struct{ unique, on string }

// indexesOf adds the indexes that a migration makes to found, and removes those that it drops.
func indexesOf(found map[string]index, migration string) {
	for _, m := range made.FindAllStringSubmatch(migration, -1) {
		found[m[2]] = index{m[1], m[3]}
	}
	for _, m := range dropped.FindAllStringSubmatch(migration, -1) {
		delete(found, m[1])
	}
}

// errNoChange: the released migrations make the indexes of the ent schema.
var errNoChange = errors.New("the migrations make all indexes of the ent schema, and no others")

// laterIndexes returns a migration that follows others and makes the indexes of tables out of theirs. It changes nothing else: what
// else differs is written by hand, in a file before it. On PostgreSQL the tables are read and written meanwhile, see
// internal/migrate; each statement can be repeated, as it is after an interruption. A changed index needs another
// name: between the drop of the old one and the end of the new one there would be none.
func laterIndexes(name string, released fs.FS, tables string) (string, error) {
	files, err := fs.Glob(released, "*.sql")
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("there are no migrations to follow: %w", err)
	}
	have, want := map[string]index{}, map[string]index{}
	for _, file := range files {
		text, err := fs.ReadFile(released, file)
		if err != nil {
			return "", err
		}
		indexesOf(have, string(text))
	}
	indexesOf(want, tables)
	var makes, drops []string
	for _, n := range slices.Sorted(maps.Keys(want)) {
		switch old, ok := have[n]; {
		case !ok && name == dialect.Postgres:
			makes = append(makes, fmt.Sprintf("CREATE %sINDEX CONCURRENTLY IF NOT EXISTS %q %s", want[n].unique, n, want[n].on))
		case !ok:
			makes = append(makes, fmt.Sprintf("CREATE %sINDEX `%s` %s", want[n].unique, n, want[n].on))
		case old != want[n]:
			return "", fmt.Errorf("index %s changes: give the new one another name in ent/schema", n)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(have)) {
		switch _, ok := want[n]; {
		case ok:
		case name == dialect.Postgres:
			drops = append(drops, fmt.Sprintf("DROP INDEX CONCURRENTLY IF EXISTS \"{schema}\".%q;", n))
		default:
			drops = append(drops, fmt.Sprintf("DROP INDEX `%s`;", n))
		}
	}
	if len(makes)+len(drops) == 0 {
		return "", errNoChange
	}
	head := "-- +goose Up\n"
	if name == dialect.Postgres {
		head = "-- +goose NO TRANSACTION\n" + head
	}
	return head + "-- Planned from ent/schema by internal/cmd/schemaplan.\n" + strings.Join(append(makes, drops...), "\n") + "\n", nil
}
