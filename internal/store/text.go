package store

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/errclass"
)

// texts writes this package's statements for one database: {s} before a table
// is its schema, {now} is the database's clock.
type texts struct {
	dialect dialect.Name
	schema  string
	r       *strings.Replacer
}

func newTexts(d dialect.Name, schema string) texts {
	if d == dialect.SQLite {
		return texts{d, "", strings.NewReplacer("{s}", "", "{now}", sqliteNow)}
	}
	return texts{d, schema, strings.NewReplacer("{s}", `"`+schema+`".`, "{now}", "clock_timestamp()")}
}

// sqliteNow is a time as SQLite's columns hold it: UTC, of a fixed width, so
// that times compare as text.
const sqliteNow = "strftime('%Y-%m-%d %H:%M:%f', 'now')"

// sql returns a statement.
func (t texts) sql(query string) string { return t.r.Replace(query) }

// channel is what hints travel on.
func channel(schema string) string { return "taskkit_" + schema }

// clean makes a text storable in both databases. Every text that records what
// went wrong, or that a person typed, passes here, so that to record it can
// never fail.
func clean(s string) string { return errclass.Clean(s) }

// checkKey refuses a name that one database would refuse and the other would
// cut off. A name is never changed, for another would be found by it.
func checkKey(column, s string) error {
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return fmt.Errorf("%s %q holds a NUL byte or is not UTF-8: neither can be stored", column, s)
	}
	return nil
}

// list quotes values for an IN list. They are this package's own words.
func list[T ~string](values ...T) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("'" + string(v) + "'")
	}
	return b.String()
}
