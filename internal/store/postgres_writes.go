package store

import (
	"fmt"
	"iter"
	"regexp"
	"strings"

	"taskkit.dev/internal/workflow"
)

// writeColumn is a value of a write in [postgresApply], where it is w.name.
type writeColumn struct {
	name   string
	number func(*Write) int64 // or
	text   func(*Write) string
}

// writeColumns are all there are, in groups that go together: the values of a
// group are a parameter each where all writes have the same, and otherwise an
// array each. The id is alone, and the same for one write only.
var writeColumns = [][]writeColumn{
	{
		{name: "id", text: func(w *Write) string { return w.ID.String() }},
	},
	{
		{name: "fence", number: func(w *Write) int64 { return w.Fence }},
		{name: "seq", number: func(w *Write) int64 { return w.Seq }},
	},
	{
		{name: "checkpoint", number: func(w *Write) int64 { return truth(w.Checkpoint) }},
		{name: "revision", number: func(w *Write) int64 { return int64(w.Revision) }},
		{name: "attempts", number: func(w *Write) int64 { return int64(max(w.Attempts, 0)) }},
	},
	outcome: {
		{name: "status", text: func(w *Write) string { return string(w.To) }},
		{name: "clear", number: func(w *Write) int64 { return truth(w.ClearControl) }},
		{name: "delay", number: (*Write).delay},
		{name: "reason", text: func(w *Write) string { return clean(w.Reason) }},
		{name: "descr", text: func(w *Write) string { return clean(w.Desc) }},
	},
	{
		{name: "total", number: func(w *Write) int64 { return w.Progress.Total }},
		{name: "taken", number: func(w *Write) int64 { return w.Progress.Taken }},
		{name: "done", number: func(w *Write) int64 { return w.Progress.Done }},
		{name: "failed", number: func(w *Write) int64 { return w.Progress.Failed }},
		{name: "skipped", number: func(w *Write) int64 { return w.Progress.Skipped }},
	},
	{
		{name: "state", text: func(w *Write) string { return string(w.State) }},
	},
}

// truth is a bool as a number.
func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// is reports whether two writes have the same value.
func (c writeColumn) is(a, b *Write) bool {
	if c.text != nil {
		return c.text(a) == c.text(b)
	}
	return c.number(a) == c.number(b)
}

// typ is the type of a value on PostgreSQL.
func (c writeColumn) typ() string {
	if c.text != nil {
		return "text"
	}
	return "bigint"
}

// outcome is the group of what happens to a status.
const outcome = 3

// stays reports whether a write leaves its task as it is but for the checkpoint.
func (w *Write) stays() bool {
	return w.Begun && w.Checkpoint && w.To == workflow.Executing && !w.ClearControl && w.Desc == ""
}

// layout is what the statement for some writes depends on. There are few, so that
// each is prepared once a connection. One write differs in nothing from itself:
// its statement joins nothing.
type layout struct {
	differ [6]bool // the writes differ in a group of columns
	// moves: a status may change. A column that is not set costs nothing, and
	// neither do the guards of its values.
	moves  bool
	clears bool // a request is void
}

func newLayout(writes []Write) (l layout) {
	for i := range writes {
		l.moves = l.moves || !writes[i].stays()
		l.clears = l.clears || writes[i].ClearControl
	}
	for i, group := range writeColumns {
		if i == outcome && !l.moves {
			continue
		}
		for _, c := range group {
			for n := 1; n < len(writes) && !l.differ[i]; n++ {
				l.differ[i] = !c.is(&writes[0], &writes[n])
			}
		}
	}
	return l
}

// columns yields the columns of the statement, and whether the writes differ in
// the group of each.
func (l layout) columns() iter.Seq2[writeColumn, bool] {
	return func(yield func(writeColumn, bool) bool) {
		for i, group := range writeColumns {
			if i == outcome && !l.moves {
				continue
			}
			for _, c := range group {
				if !yield(c, l.differ[i]) {
					return
				}
			}
		}
	}
}

// args are the parameters of writes: the place of each in the list, where they
// differ, and the columns.
func (l layout) args(writes []Write) []any {
	var args []any
	if l.differ[0] {
		places := make([]int64, len(writes))
		for i := range places {
			places[i] = int64(i)
		}
		args = append(args, places)
	}
	for c, differ := range l.columns() {
		switch {
		case differ && c.text != nil:
			args = append(args, valuesOf(writes, c.text))
		case differ:
			args = append(args, valuesOf(writes, c.number))
		case c.text != nil:
			args = append(args, c.text(&writes[0]))
		default:
			args = append(args, c.number(&writes[0]))
		}
	}
	return args
}

// valuesOf are the values of a column.
func valuesOf[T any](writes []Write, value func(*Write) T) []T {
	vs := make([]T, len(writes))
	for i := range writes {
		vs[i] = value(&writes[i])
	}
	return vs
}

// column matches a column of a write in the text of postgresApply.
var column = regexp.MustCompile(`\bw\.\w+`)

// applySQL is the statement for writes of a layout.
func (s *postgres) applySQL(l layout) string {
	s.applying.Lock()
	defer s.applying.Unlock()
	if text, ok := s.applies[l]; ok {
		return text
	}
	var from, names []string
	values := map[string]string{"w.ord": "0::bigint"}
	n := 0
	add := func(name, typ string, differ bool) {
		n++
		if !differ {
			values["w."+name] = fmt.Sprintf("$%d::%s", n, typ)
			return
		}
		values["w."+name] = "w." + name
		from = append(from, fmt.Sprintf("(SELECT $%d::%s[])", n, typ))
		names = append(names, name)
	}
	if l.differ[0] {
		add("ord", "bigint", true)
	}
	for c, differ := range l.columns() {
		add(c.name, c.typ(), differ)
	}
	join, set, guard := "", "", postgresStays
	if len(names) > 0 {
		join = "FROM unnest(" + strings.Join(from, ", ") + ") AS w(" + strings.Join(names, ", ") + ")"
	}
	if l.moves {
		set, guard = postgresMoves, postgresMayMove
	}
	if l.clears {
		set += postgresClears
	}
	text := strings.NewReplacer("{set}", set, "{guard}", guard).Replace(postgresApply)
	text = column.ReplaceAllStringFunc(text, func(m string) string { return values[m] })
	text = s.sql(strings.NewReplacer("{from}", join, "{legal}", legalWrites(), "{terminal}", terminal()).Replace(text))
	s.applies[l] = text
	return text
}
