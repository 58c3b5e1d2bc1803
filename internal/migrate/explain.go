package migrate

import (
	"context"
	"errors"
	"fmt"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/migrations"
)

// Explain returns a *[SchemaError] if the error err of a statement on the handle h
// shows that the database lacks the tables of this version, and otherwise err. To an error about a missing right it adds
// the role, if it can be read, and where the rights are listed.
func Explain(ctx context.Context, h any, schema string, err error) error {
	if classify.LacksRight(err) {
		return fmt.Errorf("%w; %s lacks a right: see Roles in docs/operations.md", err, role(ctx, h))
	}
	table, column := classify.UndefinedTable(err), classify.UndefinedColumn(err)
	if !table && !column {
		return err
	}
	if q, ok := h.(dialect.Querier); ok {
		checked := Check(ctx, q, schema)
		if checked == nil {
			return err // the statement named something else
		}
		if found, ok := errors.AsType[*SchemaError](checked); ok {
			return found
		}
	}
	// The version cannot be read: the statement has aborted a transaction of
	// PostgreSQL, or the handle cannot query.
	d := dialect.SQLite
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		d = dialect.Postgres
	}
	schema, serr := dialect.Schema(d, schema)
	if serr != nil {
		return err
	}
	want, lerr := latest(migrations.FS, d)
	if lerr != nil {
		return err
	}
	have := int64(0)
	if column {
		have = -1
	}
	return &SchemaError{Schema: schema, Have: have, Want: want}
}

// role names the role of a handle. In a transaction, which the error has aborted, it cannot be read.
func role(ctx context.Context, h any) string {
	if q, ok := h.(dialect.Querier); ok {
		if rows, err := q.QueryContext(ctx, "SELECT current_user"); err == nil {
			defer rows.Close()
			var name string
			if rows.Next() && rows.Scan(&name) == nil && rows.Err() == nil {
				return fmt.Sprintf("role %q", name)
			}
		}
	}
	return "the role"
}
