package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// each scans rows to their end, closes them, and counts them.
func each(rows *sql.Rows, scan func(*sql.Rows) error) (n int, err error) {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return n, err
		}
		n++
	}
	return n, rows.Err()
}

// asker is a handle that can ask.
type asker interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// ask runs a query and scans its rows.
func ask(ctx context.Context, q asker, query string, args []any, scan func(*sql.Rows) error) (int, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return each(rows, scan)
}

// affected is how many rows a statement has changed or, without reading them,
// found.
func affected(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// askIDs runs a query whose answer is a column of ids.
func askIDs(ctx context.Context, q Querier, query string, args ...any) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	_, err := ask(ctx, q, query, args, func(rows *sql.Rows) error {
		var id uuid.UUID
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
		return nil
	})
	return ids, err
}

// raw scans JSON that travels as text; NULL is nil.
type raw struct{ json *json.RawMessage }

// Scan implements [sql.Scanner].
func (r raw) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*r.json = nil
	case string:
		*r.json = json.RawMessage(v)
	case []byte:
		*r.json = append(json.RawMessage(nil), v...)
	case int64, float64, bool:
		*r.json = json.RawMessage(fmt.Sprint(v))
	default:
		return fmt.Errorf("JSON came as %T", v)
	}
	return nil
}

// moment scans a time, which SQLite gives as text when it is computed.
type moment struct{ time *time.Time }

// Scan implements [sql.Scanner].
func (m moment) Scan(v any) error {
	switch v := v.(type) {
	case time.Time:
		*m.time = v.UTC()
	case string:
		t, err := time.Parse("2006-01-02 15:04:05.999999999", v)
		if err != nil {
			return err
		}
		*m.time = t
	case nil:
		*m.time = time.Time{}
	default:
		return fmt.Errorf("a time came as %T", v)
	}
	return nil
}

// idTexts are ids as a parameter.
func idTexts(ids []uuid.UUID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return texts
}

// optional is an id as a parameter; the zero id is null.
func optional(id uuid.UUID) any {
	if id == uuid.Nil {
		return nil
	}
	return id.String()
}

// violates reports whether err is a unique constraint's.
func violates(err error) bool {
	var state interface{ SQLState() string }
	if errors.As(err, &state) && state.SQLState() == "23505" {
		return true
	}
	var code interface{ Code() int }
	// SQLITE_CONSTRAINT_UNIQUE, SQLITE_CONSTRAINT_PRIMARYKEY
	return errors.As(err, &code) && (code.Code() == 2067 || code.Code() == 1555)
}
