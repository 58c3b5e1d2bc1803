package migrate

import (
	"context"
	"io/fs"
	"regexp"
	"strings"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/migrations"
)

// Index is an index of taskkit's tables.
type Index struct {
	Name string
	// Create is the statement that makes it, on PostgreSQL beside running work, which it needs no transaction for.
	Create string
}

// indexChange matches a line of a file that makes or drops an index.
var indexChange = regexp.MustCompile("(?m)^(CREATE|DROP) (UNIQUE )?INDEX (?:CONCURRENTLY )?(?:IF (?:NOT )?EXISTS )?(?:\"[^\"]+\"\\.)?[\"`](\\w+)[\"`](.*);$")

// Indexes returns the indexes that the migrations make and none drops again, in the order of the files, for the database of a handle.
func Indexes(ctx context.Context, q dialect.Querier, schema string) ([]Index, error) {
	d, err := dialect.Detect(ctx, q)
	if err != nil {
		return nil, err
	}
	if schema, err = dialect.Schema(d, schema); err != nil {
		return nil, err
	}
	files, err := directory(migrations.FS, d, schema, false)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	var found []Index
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		for _, m := range indexChange.FindAllStringSubmatch(up, -1) {
			if m[1] == "DROP" {
				found = without(found, m[3])
				continue
			}
			how := "INDEX "
			if d == dialect.Postgres {
				how = "INDEX CONCURRENTLY "
			}
			found = append(found, Index{Name: m[3], Create: "CREATE " + m[2] + how + `"` + m[3] + `"` + m[4]})
		}
	}
	return found, nil
}

// without returns indexes without the one of a name.
func without(all []Index, name string) (left []Index) {
	for _, i := range all {
		if i.Name != name {
			left = append(left, i)
		}
	}
	return left
}
