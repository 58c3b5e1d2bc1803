package store

import (
	"context"
	"database/sql"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/migrate"
)

// DefaultSchema is the PostgreSQL schema of a taskkit that names none.
const DefaultSchema = migrate.DefaultSchema

// SchemaError is a database whose schema is not the one this version needs.
type SchemaError = migrate.SchemaError

// Migrate brings the tables to the version this package needs. Any number of
// processes may call it at once. On SQLite the schema is ignored.
func Migrate(ctx context.Context, db *sql.DB, schema string) error {
	return migrate.Migrate(ctx, db, schema)
}

// CheckSchema returns nil when the tables are those that this version needs,
// and otherwise a *[SchemaError].
func CheckSchema(ctx context.Context, db dialect.Querier, schema string) error {
	return migrate.Check(ctx, db, schema)
}
