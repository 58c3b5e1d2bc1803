// Package dbstore opens the store of a database: the one on PostgreSQL or the one on
// SQLite, whichever is behind the handle.
package dbstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/postgres"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlite"
)

// Options are the options of [postgres.New]; SQLite has none.
type Options = postgres.Options

// Open returns the store of a database. It detects which database it is, and
// refuses settings under which it could not keep its promises. It does not check
// the version of the schema. The pool stays the caller's.
func Open(ctx context.Context, db *sql.DB, schema string, o Options) (store.Store, error) {
	name, err := dialect.Detect(ctx, db)
	if err != nil {
		return nil, err
	}
	if schema, err = dialect.Schema(name, schema); err != nil {
		return nil, err
	}
	if name == dialect.Postgres {
		return postgres.New(db, schema, o), nil
	}
	return sqlite.Open(ctx, db)
}

// CheckListenDSN returns what is wrong with [Options.ListenDSN]. Its text does not contain the DSN, which may have a password.
func CheckListenDSN(dsn string) error {
	if _, err := pgx.ParseConfig(dsn); dsn != "" && err != nil {
		for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
			err = next
		}
		return fmt.Errorf("not a connection string of PostgreSQL: %w", err)
	}
	return nil
}

// NewClient returns the store of a client, on any handle. Where the handle can
// begin a transaction (*sql.DB, *sql.Conn), a request of several statements runs
// in one of its own; otherwise its statements run in the caller's.
func NewClient(q store.Querier, schema string, d dialect.Name) store.Client {
	if db, ok := q.(*sql.DB); ok && d == dialect.Postgres {
		return postgres.NewClient(db, schema)
	}
	return sqlbase.NewClient(q, schema, d)
}
