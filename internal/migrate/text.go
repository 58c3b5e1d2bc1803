package migrate

import (
	"bytes"
	"fmt"
	"io/fs"
	"regexp"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/migrations"
)

// marks are the lines of goose.
var marks = regexp.MustCompile(`(?m)^-- \+goose .*\n`)

// SQL returns what [Migrate] executes on tables of a version, 0 for none, for people who read or grant it. Executed by hand
// it leaves out the record of the versions.
func SQL(d dialect.Name, schema string, have int64) ([]byte, error) {
	files, err := directory(migrations.FS, d, schema, have == 0)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	for _, name := range names {
		number, err := numberOf(name)
		if err != nil {
			return nil, err
		}
		if number <= have {
			continue
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&all, "-- version %d: %s\n%s", number, name, marks.ReplaceAll(text, nil))
	}
	return all.Bytes(), nil
}

// Latest returns the version that [Migrate] brings tables to.
func Latest(d dialect.Name) (int64, error) { return latest(migrations.FS, d) }
