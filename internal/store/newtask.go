package store

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
)

// shape is which columns some tasks need, and which of them are the same in all,
// a bit each. Those are a parameter each, the others of all tasks together are
// one: a JSON array with an array a task. So the text of a statement does not
// tell how many tasks it stores, and is made and prepared once for all numbers
// of them.
type shape struct{ used, shared uint32 }

// newColumn is a value of a new task and the columns that take it.
type newColumn struct {
	names string
	count int    // of names
	typ   string // PostgreSQL's
	value func(*NewTask) any
	// expr makes the SQL of a value that is more than its parameter.
	expr func(pg, lite string) string
}

// newColumns are all there are.
var newColumns = []*newColumn{
	{names: "id", typ: "uuid", value: func(t *NewTask) any { return t.ID.String() }},
	{names: "owner_id, created_by, modified_by", count: 3, typ: "uuid", value: func(t *NewTask) any { return t.Owner.String() }},
	{names: "run_as_id", typ: "uuid", value: func(t *NewTask) any { return t.RunAs.String() }},
	{names: "execution_component_name", typ: "text", value: func(t *NewTask) any { return t.Kind }},
	{names: "execution_spec", typ: "json", value: text(func(t *NewTask) string { return string(t.Spec) })},
	{names: "codec_revision", typ: "bigint", value: func(t *NewTask) any { return int64(t.Revision) }},
	{names: "secrets", typ: "text", value: text(func(t *NewTask) string { return t.Secrets })},
	{names: "not_before", typ: "text", value: (*NewTask).due, expr: dueSQL},
	{names: "queue", typ: "text", value: func(t *NewTask) any { return t.Queue }},
	{names: "priority", typ: "smallint", value: func(t *NewTask) any { return int64(t.Priority) }},
	{names: "reference", typ: "text", value: text(func(t *NewTask) string { return t.Reference })},
	{names: "reason", typ: "text", value: text(func(t *NewTask) string { return clean(t.Reason) })},
	{names: "unique_key", typ: "text", value: text(func(t *NewTask) string { return t.UniqueKey })},
	{names: "idempotency_key", typ: "text", value: text(func(t *NewTask) string { return t.IdempotencyKey })},
	{names: "items_total", typ: "bigint", value: func(t *NewTask) any {
		if t.Total < 0 {
			return nil
		}
		return t.Total
	}},
	{names: "parent_id", typ: "uuid", value: func(t *NewTask) any {
		if t.Parent == uuid.Nil {
			return nil
		}
		return t.Parent.String()
	}},
	{names: "traceparent", typ: "text", value: text(func(t *NewTask) string { return t.Traceparent })},
}

// text is a value that is null when it is empty.
func text(get func(*NewTask) string) func(*NewTask) any {
	return func(t *NewTask) any {
		if s := get(t); s != "" {
			return s
		}
		return nil
	}
}

// due is the value of not_before; nil is the database's now.
func (t *NewTask) due() any {
	switch {
	case t.Delay > 0:
		return fmt.Sprintf("+%.3f seconds", t.Delay.Seconds())
	case !t.NotBefore.IsZero():
		return t.NotBefore.UTC().Format("2006-01-02 15:04:05.000000") + "+00:00"
	default:
		return nil
	}
}

// dueSQL is the SQL of not_before.
func dueSQL(pg, lite string) string {
	const format = "'%Y-%m-%d %H:%M:%f'"
	return dialect.Either(
		"CASE WHEN "+pg+" IS NULL THEN clock_timestamp() WHEN "+pg+" LIKE '+%'"+
			" THEN clock_timestamp() + "+pg+"::interval ELSE "+pg+"::timestamptz END",
		"CASE WHEN "+lite+" IS NULL THEN "+sqliteNow+" WHEN "+lite+" LIKE '+%'"+
			" THEN strftime("+format+", 'now', "+lite+") ELSE strftime("+format+", "+lite+") END")
}

// newShape leaves out columns that no task has, and finds the shared ones.
func newShape(tasks []*NewTask) (s shape) {
	for i, c := range newColumns {
		first := c.value(tasks[0])
		shared, used := true, first != nil
		for _, t := range tasks[1:] {
			v := c.value(t)
			shared = shared && v == first
			used = used || v != nil
			if used && !shared {
				break
			}
		}
		if used {
			s.used |= 1 << i
		}
		if used && shared {
			s.shared |= 1 << i
		}
	}
	return s
}

// insert returns INSERT for tasks, and its parameters.
func (s shape) insert(table string, tasks []*NewTask) (string, []any) {
	var (
		args []any
		own  []*newColumn
	)
	for i, c := range newColumns {
		switch {
		case s.shared>>i&1 == 1:
			args = append(args, c.value(tasks[0]))
		case s.used>>i&1 == 1:
			own = append(own, c)
		}
	}
	if len(own) > 0 {
		args = append(args, rows(own, tasks))
	}
	key := tableShape{table, s}
	made, ok := insertTexts.Load(key)
	if !ok {
		made, _ = insertTexts.LoadOrStore(key, s.text(table))
	}
	text, _ := made.(string)
	return text, args
}

// insertTexts are the statements made so far, by their tableShape: an application
// has a few of them.
var insertTexts sync.Map

type tableShape struct {
	table string
	shape shape
}

// text is the text of an INSERT.
func (s shape) text(table string) string {
	var into, from strings.Builder
	params, own := 0, 0
	for i, c := range newColumns {
		if s.used>>i&1 == 0 {
			continue
		}
		var pg, lite string
		if s.shared>>i&1 == 1 {
			params++
			lite = "$" + strconv.Itoa(params)
			pg = lite
			if c.expr != nil {
				pg += "::text"
			}
		} else {
			lite = "(value ->> " + strconv.Itoa(own) + ")"
			pg = lite + "::" + c.typ
			own++
		}
		param := pg
		switch {
		case c.expr != nil:
			param = c.expr(pg, lite)
		case pg != lite:
			param = dialect.Either(pg, lite)
		}
		if into.Len() > 0 {
			into.WriteString(", ")
			from.WriteString(", ")
		}
		into.WriteString(c.names)
		from.WriteString(param)
		for range c.count - 1 {
			from.WriteString(", " + param)
		}
	}
	head := "INSERT INTO " + table + " (" + into.String() + ")\n"
	if own == 0 {
		return head + "VALUES (" + from.String() + ")"
	}
	param := "$" + strconv.Itoa(params+1)
	// SQLite would take an ON that follows for one of a join.
	return head + "SELECT " + from.String() + "\nFROM " +
		dialect.Either("json_array_elements("+param+"::json)", "json_each("+param+")") + "WHERE true"
}

// rows is the JSON of these columns of tasks.
func rows(columns []*newColumn, tasks []*NewTask) string {
	b := []byte{'['}
	for n, t := range tasks {
		if n > 0 {
			b = append(b, ',')
		}
		for i, c := range columns {
			b = append(b, "[,"[min(i, 1)])
			switch v := c.value(t).(type) {
			case string:
				b = appendString(b, v)
			case int64:
				b = strconv.AppendInt(b, v, 10)
			default:
				b = append(b, "null"...)
			}
		}
		b = append(b, ']')
	}
	return string(append(b, ']'))
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

// millis is a duration as the statements take it.
func millis(d time.Duration) int64 { return max(d.Milliseconds(), 0) }
