package migrate

import (
	"context"
	"errors"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
)

// Explain returns a *[SchemaError] if the error err of a statement on the handle h
// shows that the database lacks the tables of this version, and otherwise err.
func Explain(ctx context.Context, h any, schema string, err error) error {
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
	want, lerr := latest(d)
	if lerr != nil {
		return err
	}
	have := int64(0)
	if column {
		have = -1
	}
	return &SchemaError{Schema: schema, Have: have, Want: want}
}
