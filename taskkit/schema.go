package taskkit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/migrate"
)

// SchemaError is a database whose tables are not those that this version of the
// package needs. Its text names the command that helps.
type SchemaError struct {
	Schema string // empty on SQLite
	Have   int64  // version found; 0: there are no tables; -1: another one, which cannot be read
	Want   int64  // version needed
	err    error
}

// Behind reports whether [Migrate] helps. When it is false the database is
// newer than the program.
func (e *SchemaError) Behind() bool { return e.Have < e.Want }

func (e *SchemaError) Error() string { return "taskkit: " + e.err.Error() }

// Migrate creates the tables, or brings them to the version that this package
// needs. Any number of processes may call it at once, also through a pooler; it
// needs one connection, and on PostgreSQL the right to create tables in the
// schema ("" is [DefaultSchema]), which it creates where it is missing. SQLite
// has no schemas: the name is ignored there.
//
// A service need not have that right: run `taskkit migrate` beforehand.
//
// It returns an *[OptionError] for a handle or a name of a schema that cannot be used.
func Migrate(ctx context.Context, db *sql.DB, schema string) error {
	if err := checkHandle("db", db); err != nil {
		return err
	}
	err := migrate.Migrate(ctx, db, schema)
	if name, ok := errors.AsType[*dialect.SchemaNameError](err); ok {
		return &OptionError{"Schema", name.Error()}
	}
	if err != nil {
		return fmt.Errorf("taskkit: %w", err)
	}
	return nil
}

// ready checks the tables before a start. An SQLite file belongs to its
// program and is migrated; a server's schema is changed only on request.
func ready(ctx context.Context, db *sql.DB, schema string) error {
	err := CheckSchema(ctx, db, schema)
	var s *SchemaError
	if !errors.As(err, &s) || s.Schema != "" || !s.Behind() {
		return err
	}
	return Migrate(ctx, db, schema)
}

// CheckSchema returns nil when the tables are those that this package needs. Otherwise
// it returns a *[SchemaError], a *[ConnectError] when it cannot find out, or an
// *[OptionError] for a handle or a name of a schema that cannot be used. It changes
// nothing.
func CheckSchema(ctx context.Context, db ExecQuerier, schema string) error {
	if err := checkHandle("db", db); err != nil {
		return err
	}
	err := migrate.Check(ctx, db, schema)
	if name, ok := errors.AsType[*dialect.SchemaNameError](err); ok {
		return &OptionError{"Schema", name.Error()}
	}
	if _, ok := errors.AsType[*migrate.SchemaError](err); ok {
		return public(err)
	}
	if err != nil {
		return &ConnectError{err}
	}
	return nil
}
