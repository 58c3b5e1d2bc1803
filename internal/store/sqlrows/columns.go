package sqlrows

import (
	"fmt"
	"strconv"
	"strings"
)

// Column is a named, typed column of the rows that a statement is given: text or
// a number. Where all rows have the same value, it is one parameter ([Column.Arg]).
// Otherwise the values of all rows are in one parameter: an array for each column,
// which PostgreSQL joins with [Unnest], or the JSON of all columns, which both
// databases read ([JSONRows]). Either way the text of a statement does not depend on
// the number of rows, and the statement is prepared once.
type Column[R any] struct {
	Name string
	Type string // PostgreSQL's

	text   func(*R) string // or
	number func(*R) int64
	null   bool
	equal  func(a, b *R) bool // nil: as the values are
}

// Text returns a column of type text.
func Text[R any](name string, value func(*R) string) Column[R] {
	return Column[R]{Name: name, Type: "text", text: value}
}

// Number returns a column of type bigint.
func Number[R any](name string, value func(*R) int64) Column[R] {
	return Column[R]{Name: name, Type: "bigint", number: value}
}

// As returns the column with another type of PostgreSQL.
func (c Column[R]) As(typ string) Column[R] {
	c.Type = typ
	return c
}

// OrNull returns the column with NULL for an empty text and for a negative number.
// It does not change [Column.Array], but [InsertArrays] stores these as NULL.
func (c Column[R]) OrNull() Column[R] {
	c.null = true
	return c
}

// EqualBy returns the column with a function that reports whether two rows have the same
// value: for values whose text takes longer to make than they take to compare.
func (c Column[R]) EqualBy(equal func(a, b *R) bool) Column[R] {
	c.equal = equal
	return c
}

// Same reports whether all rows have the same value.
func (c *Column[R]) Same(rows []*R) bool {
	switch {
	case len(rows) < 2:
		return true
	case c.equal != nil:
		for _, r := range rows[1:] {
			if !c.equal(rows[0], r) {
				return false
			}
		}
		return true
	case c.text != nil:
		return allEqual(rows, c.text)
	}
	return allEqual(rows, c.number)
}

// allEqual reports whether a function has one value for all rows.
func allEqual[R any, T comparable](rows []*R, value func(*R) T) bool {
	first := value(rows[0])
	for _, r := range rows[1:] {
		if value(r) != first {
			return false
		}
	}
	return true
}

// Arg returns the value of a row as a parameter.
func (c *Column[R]) Arg(r *R) any {
	if c.text != nil {
		if s := c.text(r); s != "" || !c.null {
			return s
		}
		return nil
	}
	if n := c.number(r); n >= 0 || !c.null {
		return n
	}
	return nil
}

// Array returns the values of rows as one parameter, of the type [Column.ArrayType].
func (c *Column[R]) Array(rows []*R) any {
	if c.text != nil {
		return valuesOf(rows, c.text)
	}
	return valuesOf(rows, c.number)
}

// valuesOf returns the value of each row.
func valuesOf[R, T any](rows []*R, value func(*R) T) []T {
	vs := make([]T, len(rows))
	for i, r := range rows {
		vs[i] = value(r)
	}
	return vs
}

// ArrayType returns the type of [Column.Array] on PostgreSQL: every driver can
// send arrays of these two types.
func (c *Column[R]) ArrayType() string {
	if c.text != nil {
		return "text[]"
	}
	return "bigint[]"
}

// Args returns the values of a row, a parameter each.
func Args[R any](columns []Column[R], r *R) []any {
	args := make([]any, len(columns))
	for i := range columns {
		args[i] = columns[i].Arg(r)
	}
	return args
}

// Arrays returns the values of rows, a parameter for each column.
func Arrays[R any](columns []Column[R], rows []*R) []any {
	args := make([]any, len(columns))
	for i := range columns {
		args[i] = columns[i].Array(rows)
	}
	return args
}

// Unnest returns the table of arrays, each an expression of an array, with these
// columns. Of several arrays unnest is no function, which a search_path could hide.
func Unnest(table string, arrays, columns []string) string {
	unnest := "unnest"
	if len(arrays) == 1 {
		unnest = "pg_catalog.unnest"
	}
	return unnest + "(" + strings.Join(arrays, ", ") + ") AS " + table + "(" + strings.Join(columns, ", ") + ")"
}

// InsertArrays returns the INSERT of the rows of [Arrays], for PostgreSQL.
func InsertArrays[R any](table string, columns []Column[R]) string {
	var arrays, names, values []string
	for i := range columns {
		c := &columns[i]
		arrays = append(arrays, fmt.Sprintf("$%d::%s", i+1, c.ArrayType()))
		names = append(names, c.Name)
		value := c.Name
		switch {
		case c.null && c.text != nil:
			value = "nullif(" + value + ", '')"
		case c.null:
			value = "CASE WHEN " + value + " >= 0 THEN " + value + " END"
		}
		if c.Type+"[]" != c.ArrayType() {
			value += "::" + c.Type
		}
		values = append(values, value)
	}
	return "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ")\nSELECT " + strings.Join(values, ", ") +
		"\nFROM " + Unnest("r", arrays, names)
}

// InsertOne returns the INSERT of the row of [Args], for both databases.
func InsertOne[R any](table string, columns []Column[R]) string {
	var names, params []string
	for i := range columns {
		names, params = append(names, columns[i].Name), append(params, "$"+strconv.Itoa(i+1))
	}
	return "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(params, ", ") + ")"
}

// JSONRows returns an array with an array of these columns for each row.
func JSONRows[R any](columns []*Column[R], rows []*R) string {
	b := []byte{'['}
	for n, r := range rows {
		if n > 0 {
			b = append(b, ',')
		}
		for i, c := range columns {
			b = append(b, "[,"[min(i, 1)])
			b = c.appendJSON(b, r)
		}
		b = append(b, ']')
	}
	return string(append(b, ']'))
}

func (c *Column[R]) appendJSON(b []byte, r *R) []byte {
	if c.text != nil {
		if s := c.text(r); s != "" || !c.null {
			return appendString(b, s)
		}
	} else if n := c.number(r); n >= 0 || !c.null {
		return strconv.AppendInt(b, n, 10)
	}
	return append(b, "null"...)
}

// appendString appends a string in JSON. It changes none of its bytes: what is
// not UTF-8 is for the database to refuse, as in a parameter of its own.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		if c < ' ' {
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		} else {
			b = append(b, '\\', c)
		}
		from = i + 1
	}
	return append(append(b, s[from:]...), '"')
}
