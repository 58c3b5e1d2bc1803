package sqlbase

import (
	"regexp"
	"strconv"
	"strings"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// newResultRow returns the row of the result of a write.
func newResultRow(w *store.Write) *resultRow {
	return &resultRow{w.ID.String(), string(w.Result), int64(w.Revision), keptMillis(w.Keep.Unfetched), keptMillis(w.Keep.Fetched)}
}

// HasResultOnly reports whether nothing is recorded with a write but a result.
func HasResultOnly(w *store.Write) bool {
	if w.Result == nil {
		return false
	}
	plain := *w
	plain.Result = nil
	return !HasRecords(&plain)
}

// parameter matches a parameter of a statement.
var parameter = regexp.MustCompile(`\$\d+`)

// ResultIf returns the INSERT of a result as a part of another statement, for PostgreSQL: it is stored if a table expression has
// a row. Its parameters are those after the first n.
func ResultIf(table string, n int) string {
	text := strings.Replace(recordedResults.arrays, resultAgain, "\nWHERE EXISTS (SELECT FROM "+table+")"+resultAgain, 1)
	return parameter.ReplaceAllStringFunc(text, func(p string) string {
		i, _ := strconv.Atoi(p[1:])
		return "$" + strconv.Itoa(n+i)
	})
}

// ResultArgs are the parameters of [ResultIf].
func ResultArgs(w *store.Write) []any {
	return sqlrows.Arrays(recordedResults.columns, []*resultRow{newResultRow(w)})
}
