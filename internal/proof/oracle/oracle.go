package oracle

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
)

// Dialect is one of the two databases, by the words that the rest of the module
// has for them, so that a test can convert its own.
type Dialect string

// The two databases.
const (
	Postgres Dialect = "postgres"
	SQLite   Dialect = "sqlite3"
)

// Execer is what the ledger needs of a handle. The Tx of a batch is one, and so
// are *sql.DB and *sql.Tx.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Oracle checks one taskkit: of the tables of one schema on
// PostgreSQL, of one file on SQLite. It is a value and safe for concurrent use.
type Oracle struct {
	dialect Dialect
	r       *strings.Replacer
}

// plainName is a schema's name that needs no quoting.
var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// New returns the oracle of a schema. SQLite has none: the name is not used.
func New(d Dialect, schema string) (*Oracle, error) {
	now := "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
	prefix := `"` + schema + `".`
	switch {
	case d == SQLite:
		now = "CAST(round(unixepoch('now', 'subsec') * 1000000) AS integer)"
		prefix = ""
	case d != Postgres:
		return nil, fmt.Errorf("oracle: unknown dialect %q: it is %q or %q", d, Postgres, SQLite)
	case !plainName.MatchString(schema):
		return nil, fmt.Errorf("oracle: schema %q: want a name that needs no quoting", schema)
	}
	return &Oracle{dialect: d, r: strings.NewReplacer("{s}", prefix, "{now}", now)}, nil
}

// sql completes a statement: {s} before a table is its schema, {now} is the
// database's clock in microseconds since 1970.
func (o *Oracle) sql(query string) string { return o.r.Replace(query) }

// Install makes the oracle's tables and puts its triggers on taskkit's. It must
// run after the migration and before the first task: what it has not seen is a
// violation. A second Install is an error of the database.
func (o *Oracle) Install(ctx context.Context, db Execer) error {
	statements := append(ledgerTables(o.dialect), triggers(o.dialect)...)
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, o.sql(statement)); err != nil {
			first, _, _ := strings.Cut(strings.TrimSpace(statement), "\n")
			return fmt.Errorf("oracle: install %q (taskkit must be migrated, and the oracle not yet installed): %w", first, err)
		}
	}
	return nil
}
