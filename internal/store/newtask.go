package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store/sqlrows"
)

// insertPlan is which columns some tasks need, and which of them are the same in all,
// a bit each. Those are a parameter each, the others of all tasks together are
// one: a JSON array with an array a task. So the text of a statement does not
// tell how many tasks it stores, and is made and prepared once for all numbers
// of them.
type insertPlan struct{ used, shared uint64 }

// ownSpec is the spec in the row of a task; "" if it is in the plan.
func (t *NewTask) ownSpec() string {
	if t.HasPlan() {
		return ""
	}
	return string(t.Spec)
}

// HasPlan reports whether the task has more than its row.
func (t *NewTask) HasPlan() bool { return t.Targets != nil || t.Options.Given() }

// control is the request that stands on the task from the beginning: one that needs
// approval before its first batch is paused. Such a task is stored by a statement of its own.
func (t *NewTask) control() string {
	if t.controlReason() == "" {
		return ""
	}
	return string(lifecycle.Pause)
}

// controlReason says why the task is paused from the beginning, if it is.
func (t *NewTask) controlReason() string {
	if t.Options == nil {
		return ""
	}
	return t.Options.PauseReason(lifecycle.Progress{})
}

// delayed is "1" if [NewTask.Delayed] is true; otherwise "".
func (t *NewTask) delayed() string {
	if t.Delayed() {
		return "1"
	}
	return ""
}

// delayedSQL is the SQL of delayed.
func delayedSQL(pg, lite string) string {
	return dialect.Either("coalesce("+pg+"::boolean, false)", "coalesce(CAST("+lite+" AS INTEGER), 0)")
}

// The columns that identify a repeated submission.
const (
	kindColumn        = "execution_component_name"
	idempotencyColumn = "idempotency_key"
)

// ownerColumns take the owner, unless a task has an actor of its own.
const ownerColumns = "owner_id, created_by, modified_by"

// due is the value of not_before; "" is the database's now.
func (t *NewTask) due() string {
	switch {
	case t.Delay > 0:
		return fmt.Sprintf("+%.3f seconds", t.Delay.Seconds())
	case !t.NotBefore.IsZero():
		return t.NotBefore.UTC().Format("2006-01-02 15:04:05.000000") + "+00:00"
	default:
		return ""
	}
}

// dueSQL is the SQL of not_before.
func dueSQL(pg, lite string) string { return dialect.Either(due(pg, lite)) }

// due is dueSQL for each of the two databases.
func due(pg, lite string) (pgSQL, liteSQL string) {
	const format = "'%Y-%m-%d %H:%M:%f'"
	return "CASE WHEN " + pg + " IS NULL THEN clock_timestamp() WHEN " + pg + " LIKE '+%'" +
			" THEN clock_timestamp() + " + pg + "::interval ELSE " + pg + "::timestamptz END",
		"CASE WHEN " + lite + " IS NULL THEN " + dialect.SQLiteNow + " WHEN " + lite + " LIKE '+%'" +
			" THEN strftime(" + format + ", 'now', " + lite + ") ELSE strftime(" + format + ", " + lite + ") END"
}

// insertOf returns INSERT for tasks, and its parameters. It leaves out columns that no task has, and finds
// the shared ones.
func insertOf(table string, tasks []*NewTask) (string, []any) {
	var (
		s    insertPlan
		args = make([]any, 0, 12) // of most tasks
		own  []*sqlrows.Column[NewTask]
	)
	for i, c := range taskColumns {
		if !c.Same(tasks) {
			s.used |= 1 << i
			own = append(own, &c.Column)
		} else if arg := c.Arg(tasks[0]); arg != nil {
			s.used |= 1 << i
			s.shared |= 1 << i
			args = append(args, arg)
		}
	}
	if len(own) > 0 {
		args = append(args, sqlrows.JSONRows(own, tasks))
	}
	key := tablePlan{table, s}
	made, ok := insertStatements.Load(key)
	if !ok {
		made, _ = insertStatements.LoadOrStore(key, s.text(table))
	}
	text, _ := made.(string)
	return text, args
}

// insertStatements are the statements made so far, by their tablePlan: an application
// has a few of them.
var insertStatements sync.Map

type tablePlan struct {
	table string
	plan  insertPlan
}

// text is the text of an INSERT. An idempotency key must also not be one of those
// that a task has by a merge.
func (s insertPlan) text(table string) string {
	var into, from strings.Builder
	params, own := 0, 0
	hasActor := s.used>>slices.Index(taskColumns, actorColumn)&1 == 1
	hasKey := s.used>>slices.IndexFunc(taskColumns, func(c *taskColumn) bool { return c.Name == idempotencyColumn })&1 == 1
	var kind, key string
	for i, c := range taskColumns {
		if s.used>>i&1 == 0 {
			continue
		}
		names, count := c.Name, c.count
		if names == ownerColumns && hasActor {
			names, count = "owner_id", 1
		}
		var pg, lite string
		if s.shared>>i&1 == 1 {
			params++
			lite = "$" + strconv.Itoa(params)
			pg = lite
			switch {
			case c.expr != nil:
				pg += "::text"
			case hasKey:
				pg += "::" + c.Type // nothing else gives the type in a SELECT
			}
		} else {
			lite = "(value ->> " + strconv.Itoa(own) + ")"
			pg = lite + "::" + c.Type
			own++
		}
		param := pg
		switch {
		case c.expr != nil:
			param = c.expr(pg, lite)
		case pg != lite:
			param = dialect.Either(pg, lite)
		}
		switch c.Name {
		case kindColumn:
			kind = param
		case idempotencyColumn:
			key = param
		}
		if into.Len() > 0 {
			into.WriteString(", ")
			from.WriteString(", ")
		}
		into.WriteString(names)
		from.WriteString(param)
		for range count - 1 {
			from.WriteString(", " + param)
		}
	}
	head := "INSERT INTO " + table + " (" + into.String() + ")\n"
	where := "WHERE true"
	if hasKey {
		where = "WHERE NOT EXISTS (SELECT 1 FROM " + mergedKeysOf(table) + " m WHERE m." + kindColumn + " = " + kind +
			" AND m." + idempotencyColumn + " = " + key + ")"
	}
	switch {
	case own == 0 && hasKey:
		return head + "SELECT " + from.String() + "\n" + where
	case own == 0:
		return head + "VALUES (" + from.String() + ")"
	}
	param := "$" + strconv.Itoa(params+1)
	// SQLite would take an ON that follows for one of a join.
	return head + "SELECT " + from.String() + "\nFROM " +
		dialect.Either("jsonb_array_elements("+param+"::jsonb)", "json_each("+param+")") + where
}
