// Package dialect writes SQL text that PostgreSQL and SQLite read differently,
// and finds out which of the two is at the other end of a handle.
//
// Submit is given a handle that can execute and nothing else: it cannot ask
// what database it talks to without a round trip, and an attempt that fails
// would spoil the caller's transaction. The two databases differ in one lexical
// rule that both document and keep: PostgreSQL nests /* */ comments, as the SQL
// standard says, and SQLite does not. One text can thus say both.
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

// SQLiteNow is the SQL of the present time on SQLite, as its columns store times:
// UTC and of a fixed width, so that times compare as text.
const SQLiteNow = "datetime('now', 'subsec')"

// Querier is the part of a handle that asks.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Either returns SQL that is pg for PostgreSQL and lite for SQLite. Neither may
// hold a comment, a line break or a parameter that the other does not use.
//
// PostgreSQL reads the first part as one comment up to the "--*/", because the
// second "/*" nests; SQLite closes the comment at the first "*/". The second
// part is the mirror image.
func Either(pg, lite string) string {
	return "/*/**/ " + lite + " --*/\n/*/**/--*/ " + pg + "\n"
}

// Detect asks the handle which database it is. It is safe in a transaction.
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
