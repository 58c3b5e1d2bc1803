// Package sqlrows runs queries and scans their rows, and passes columns of rows to
// a statement. It depends on no table and works on both databases.
package sqlrows

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Queryer is a handle that can run a query.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Scan calls scan for each row, closes the rows and returns their number.
func Scan(rows *sql.Rows, scan func(*sql.Rows) error) (n int, err error) {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return n, err
		}
		n++
	}
	return n, rows.Err()
}

// Query runs a query, calls scan for each row and returns their number.
func Query(ctx context.Context, q Queryer, query string, args []any, scan func(*sql.Rows) error) (int, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return Scan(rows, scan)
}

// Count runs a query and returns the number of its rows without reading them.
func Count(ctx context.Context, q Queryer, query string, args ...any) (int, error) {
	return Query(ctx, q, query, args, func(*sql.Rows) error { return nil })
}

// IDs runs a query that returns a column of ids.
func IDs(ctx context.Context, q Queryer, query string, args ...any) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	_, err := Query(ctx, q, query, args, func(rows *sql.Rows) error {
		var id uuid.UUID
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
		return nil
	})
	return ids, err
}

// JSON returns a scanner for JSON that the driver returns as text or decoded.
// NULL becomes nil.
func JSON(to *json.RawMessage) sql.Scanner { return jsonScanner{to} }

type jsonScanner struct{ to *json.RawMessage }

// Scan implements [sql.Scanner].
func (s jsonScanner) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*s.to = nil
	case string:
		*s.to = json.RawMessage(v)
	case []byte:
		*s.to = append(json.RawMessage(nil), v...)
	case int64, float64, bool:
		*s.to = json.RawMessage(fmt.Sprint(v))
	default:
		return fmt.Errorf("cannot scan %T as JSON", v)
	}
	return nil
}

// Time returns a scanner for a time. SQLite returns one that is computed as text.
// NULL becomes the zero time.
func Time(to *time.Time) sql.Scanner { return timeScanner{to} }

type timeScanner struct{ to *time.Time }

// Scan implements [sql.Scanner].
func (s timeScanner) Scan(v any) error {
	switch v := v.(type) {
	case time.Time:
		*s.to = v.UTC()
	case string:
		t, err := time.Parse("2006-01-02 15:04:05.999999999", v)
		if err != nil {
			return err
		}
		*s.to = t
	case nil:
		*s.to = time.Time{}
	default:
		return fmt.Errorf("cannot scan %T as a time", v)
	}
	return nil
}

// OptionalTime returns a scanner for a time. NULL becomes nil.
func OptionalTime(to **time.Time) sql.Scanner { return optionalTimeScanner{to} }

type optionalTimeScanner struct{ to **time.Time }

// Scan implements [sql.Scanner].
func (s optionalTimeScanner) Scan(v any) error {
	*s.to = nil
	if v == nil {
		return nil
	}
	*s.to = new(time.Time)
	return Time(*s.to).Scan(v)
}

// OptionalText returns a scanner for a text. NULL becomes the empty text.
func OptionalText(to *string) sql.Scanner { return textScanner{to} }

type textScanner struct{ to *string }

// Scan implements [sql.Scanner].
func (s textScanner) Scan(v any) error {
	var text sql.NullString
	err := text.Scan(v)
	*s.to = text.String
	return err
}
