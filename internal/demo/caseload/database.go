package caseload

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"strings"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/migrate"
)

// The triggers: the status history and the ledger. Statements are separated by
// an empty line, since triggers contain semicolons.
var (
	//go:embed triggers_postgres.sql
	triggersPostgres string
	//go:embed triggers_sqlite.sql
	triggersSQLite string
)

// chunk is how many rows one statement writes or names: the widest table has
// nine columns, and SQLite takes 32,766 parameters.
const chunk = 1000

// Open returns an ent client on db, PostgreSQL or SQLite. Close db, not the
// client.
func Open(ctx context.Context, db *sql.DB) (*ent.Client, error) {
	name, err := dialectOf(ctx, db)
	if err != nil {
		return nil, err
	}
	return ent.NewClient(ent.Driver(entsql.OpenDB(name, db))), nil
}

// Create makes the tables and triggers that are missing. Call it from one
// process at a time. On SQLite the connections must have foreign_keys on.
func Create(ctx context.Context, db *sql.DB) error {
	c, err := Open(ctx, db)
	if err != nil {
		return err
	}
	// ent's migration writes into the tables that it is given, and by default
	// those are its package's own: two databases at once would be a data race.
	tables, err := schema.CopyTables(migrate.Tables)
	if err != nil {
		return fmt.Errorf("create the caseload's tables: %w", err)
	}
	if err := migrate.Create(ctx, c.Schema, tables); err != nil {
		return fmt.Errorf("create the caseload's tables: %w", err)
	}
	name, err := dialectOf(ctx, db)
	if err != nil {
		return err
	}
	triggers := triggersSQLite
	if name == dialect.Postgres {
		triggers = triggersPostgres
	}
	for statement := range strings.SplitSeq(triggers, "\n\n") {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("create the caseload's triggers: %w", err)
		}
	}
	return nil
}

// dialectOf detects the database, by a function that the other one does not have.
func dialectOf(ctx context.Context, db *sql.DB) (string, error) {
	var version string
	if db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version) == nil {
		return dialect.SQLite, nil
	}
	if err := db.QueryRowContext(ctx, "SHOW server_version").Scan(&version); err != nil {
		return "", fmt.Errorf("ask the caseload's database what it is, PostgreSQL or SQLite: %w", err)
	}
	return dialect.Postgres, nil
}

// without returns the people that are not in found, in their order.
func without(people []uuid.UUID, found map[uuid.UUID]bool) []uuid.UUID {
	var missing []uuid.UUID
	for _, p := range people {
		if !found[p] {
			missing = append(missing, p)
		}
	}
	return missing
}
