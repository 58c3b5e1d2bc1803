// Package dialect writes SQL text that PostgreSQL and SQLite read differently,
// and finds out which of the two is at the other end of a handle.
//
// Submit gets a handle that can only execute statements. To query the database would
// be a round trip, and a statement that fails would abort the caller's transaction.
// The two databases differ in one documented lexical rule: PostgreSQL nests /* */
// comments, as the SQL standard requires, and SQLite does not. One text can thus
// contain both forms.
package dialect

import (
	"context"
	"database/sql"
	"fmt"
)

// Name is a dialect by ent's name for it.
type Name string

// The two databases.
const (
	Postgres Name = "postgres"
	SQLite   Name = "sqlite3"
)

// SQLiteNow is the SQL for the present time on SQLite in the format of the columns:
// UTC with a fixed width, so that times compare as text.
const SQLiteNow = "datetime('now', 'subsec')"

// Querier is the part of a handle that runs queries.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Either returns SQL that PostgreSQL reads as pg and SQLite as lite. Neither may
// contain a comment, a line break or a parameter that the other does not use.
//
// PostgreSQL reads the first part as one comment up to the "--*/", because the
// second "/*" nests; SQLite closes the comment at the first "*/". The second
// part is the mirror image.
func Either(pg, lite string) string {
	return "/*/**/ " + lite + " --*/\n/*/**/--*/ " + pg + "\n"
}

// Detect queries which database a handle uses. It is safe in a transaction.
func Detect(ctx context.Context, q Querier) (Name, error) {
	rows, err := q.QueryContext(ctx, "SELECT "+Either("'postgres'", "'sqlite3'"))
	if err != nil {
		return "", fmt.Errorf("ask the database what it is: %w", err)
	}
	defer rows.Close()
	var name Name
	for rows.Next() {
		if err := rows.Scan(&name); err != nil {
			return "", fmt.Errorf("ask the database what it is: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return "", fmt.Errorf("ask the database what it is: %w", err)
	}
	if name != Postgres && name != SQLite {
		return "", fmt.Errorf("unsupported database: taskkit runs on PostgreSQL and SQLite")
	}
	return name, nil
}
