package sqlbase

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Statements writes the text of statements for one database. In a text, {s}
// before a table means its schema and {now} for the database's clock.
type Statements struct {
	dialect dialect.Name
	schema  string
	r       *strings.Replacer
	fixed   *sync.Map // by Fixed, from text to statement
}

// NewStatements returns the Statements of a dialect. SQLite has no schema.
func NewStatements(d dialect.Name, schema string) Statements {
	if d == dialect.SQLite {
		return Statements{d, "", strings.NewReplacer("{s}", "", "{now}", dialect.SQLiteNow), new(sync.Map)}
	}
	return Statements{d, schema, strings.NewReplacer("{s}", `"`+schema+`".`, "{now}", "clock_timestamp()"), new(sync.Map)}
}

// Dialect implements [store.Workers].
func (t Statements) Dialect() dialect.Name { return t.dialect }

// Schema returns the schema of the tables, "" on SQLite.
func (t Statements) Schema() string { return t.schema }

// SQL replaces {s} and {now} in the text of a statement.
func (t Statements) SQL(query string) string { return t.r.Replace(query) }

// Fixed is SQL for a text that is the same at every call: it keeps the statement. It
// is for statements that run for each task or claim.
func (t Statements) Fixed(query string) string {
	if text, ok := t.fixed.Load(query); ok {
		return text.(string) //nolint:errcheck,forcetypeassert // nothing else is stored
	}
	text := t.SQL(query)
	t.fixed.Store(query, text)
	return text
}

// AsExpression follows a text column in a condition and does not change its value.
// The planner then uses neither the statistics nor an index of the column.
//
// The columns that need it change with every claim and write, so the statistics
// of PostgreSQL are always out of date. In them almost no task is in flight,
// and the planner then reads a whole index or table for each write: measured 53
// rows a second instead of 80,000. For an expression it assumes a fixed fraction
// of the rows and uses the index on the other columns of the condition. SQLite
// chooses an index by the compared columns, so it keeps to the intended one too.
const AsExpression = " || ''"

// daysAgo is the SQL of a time by the database's clock.
func (t Statements) daysAgo(n int) string {
	if t.dialect == dialect.SQLite {
		return fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '-%d days')", n)
	}
	return fmt.Sprintf("clock_timestamp() - interval '%d days'", n)
}

// ago is the SQL of the time that is a parameter's milliseconds before now.
func (t Statements) ago(param string) string {
	if t.dialect == dialect.SQLite {
		return "strftime('%Y-%m-%d %H:%M:%f', 'now', printf('-%.3f seconds', " + param + " / 1000.0))"
	}
	return "clock_timestamp() - " + param + "::bigint::float8 * interval '1 millisecond'"
}

// soon is the SQL of the time that is a parameter's milliseconds after now.
func (t Statements) soon(param string) string {
	if t.dialect == dialect.SQLite {
		return "strftime('%Y-%m-%d %H:%M:%f', 'now', printf('+%.3f seconds', " + param + " / 1000.0))"
	}
	return "clock_timestamp() + " + param + "::bigint::float8 * interval '1 millisecond'"
}

// skipLocked locks the rows of a subquery and skips those that others have
// locked. SQLite needs none: a writer is alone.
func (t Statements) skipLocked() string {
	if t.dialect == dialect.SQLite {
		return ""
	}
	return "FOR UPDATE SKIP LOCKED"
}

// lockRow locks the rows of a table expression against every other change, and waits for
// those that are locked. A batch in progress holds a weaker lock. SQLite needs none: a
// writer is alone.
func (t Statements) lockRow(alias string) string {
	if t.dialect == dialect.SQLite {
		return ""
	}
	return "FOR NO KEY UPDATE OF " + alias
}

// lockRowSkipping is lockRow without waiting: it skips rows that others have locked.
func (t Statements) lockRowSkipping(alias string) string {
	if t.dialect == dialect.SQLite {
		return ""
	}
	return t.lockRow(alias) + " SKIP LOCKED"
}

// writerFirst is a query of tasks on SQLite that also writes, so that its transaction is a
// writer from its beginning: one that finds out later cannot wait for the lock.
func writerFirst(where, columns string) string {
	return "UPDATE taskkit_queued_task SET modified_date = modified_date WHERE " + where + " RETURNING " + columns
}

// id is the SQL of an id that is a parameter, where its type is not known by a column.
func (t Statements) id(param string) string {
	if t.dialect == dialect.SQLite {
		return param
	}
	return param + "::text::uuid"
}

// notify notifies workers that tasks may have become claimable, when the transaction
// commits.
func (t Statements) notify(ctx context.Context, q store.Querier, payload string) error {
	if t.dialect == dialect.SQLite {
		return nil
	}
	return do(ctx, q, Step{Text: "SELECT pg_notify($1, $2)", Args: []any{store.NotifyChannel(t.schema), payload}})
}

// anyID is the condition, after a column, that it is one of the ids of a
// parameter, which [Statements.idsArg] makes.
func (t Statements) anyID(param string) string { return t.anyOf(param, "::uuid[]") }

// anyOf is the condition, after a column, that it is one of the elements of a list that is a
// parameter. PostgreSQL gets them as texts, which this cast converts.
func (t Statements) anyOf(param, cast string) string {
	if t.dialect == dialect.SQLite {
		return "IN (SELECT value FROM json_each(" + param + "))"
	}
	return "= ANY(" + param + "::text[]" + cast + ")"
}

// idsArg is the parameter of anyID.
func (t Statements) idsArg(ids []uuid.UUID) any {
	if t.dialect == dialect.SQLite {
		return JSONList(idStrings(ids))
	}
	return idStrings(ids)
}

// LegalWrites is the list of [lifecycle.LeaseWrites], each "FROM>TO".
func LegalWrites() string {
	var pairs []string
	for _, m := range lifecycle.LeaseWrites() {
		pairs = append(pairs, string(m.From+">"+m.To))
	}
	return quoteList(pairs...)
}

// TerminalStatuses is the list of the statuses of a task that has ended.
func TerminalStatuses() string {
	return quoteList(slices.DeleteFunc(lifecycle.Statuses(), lifecycle.Status.Live)...)
}

// quoteList quotes values for an IN list. The values are constants of this
// repository; nothing is escaped.
func quoteList[T ~string](values ...T) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("'" + string(v) + "'")
	}
	return b.String()
}

// JSONList is a list of strings as one parameter.
func JSONList(values []string) string {
	j, err := json.Marshal(values)
	if err != nil {
		panic("store: marshal a list of strings: " + err.Error())
	}
	return string(j)
}

// idStrings are ids as a parameter.
func idStrings(ids []uuid.UUID) []string {
	s := make([]string, len(ids))
	for i, id := range ids {
		s[i] = id.String()
	}
	return s
}

// optionalID is an id as a parameter; the zero id is NULL.
func optionalID(id uuid.UUID) any {
	if id == uuid.Nil {
		return nil
	}
	return id.String()
}
