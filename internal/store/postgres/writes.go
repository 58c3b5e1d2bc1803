package postgres

import (
	"fmt"
	"iter"
	"regexp"
	"strings"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlrows"
)

// writeColumns are the values of a write in [applyTemplate], where each is w.name.
// They are in groups that go together: the values of a group are a parameter each
// where all writes have the same, and otherwise an array each. The id is alone,
// and the same for one write only.
var writeColumns = [][]sqlrows.Column[store.Write]{
	{
		sqlrows.Text("id", func(w *store.Write) string { return w.ID.String() }),
	},
	{
		sqlrows.Number("fence", func(w *store.Write) int64 { return w.Fence }),
		sqlrows.Number("seq", func(w *store.Write) int64 { return w.Seq }),
	},
	{
		sqlrows.Number(checkpoint, func(w *store.Write) int64 { return boolInt(w.Checkpoint) }),
		sqlrows.Number("revision", func(w *store.Write) int64 { return int64(w.Revision) }),
		sqlrows.Number("attempts", func(w *store.Write) int64 { return int64(max(w.Attempts, 0)) }),
	},
	outcome: {
		sqlrows.Text(status, func(w *store.Write) string { return string(w.To) }),
		sqlrows.Number("partial", func(w *store.Write) int64 { return boolInt(w.Partial) }),
		sqlrows.Number("delay", sqlbase.DelayMillis),
		sqlrows.Text("due", due),
		sqlrows.Text("reason", func(w *store.Write) string { return classify.Clean(w.Reason) }),
		sqlrows.Text("descr", func(w *store.Write) string { return classify.Clean(w.StatusDetail) }),
	},
	{
		sqlrows.Number("total", func(w *store.Write) int64 { return w.Progress.Total }),
		sqlrows.Number("position", func(w *store.Write) int64 { return w.Progress.Position }),
		sqlrows.Number("round", func(w *store.Write) int64 { return int64(w.Progress.Round) }),
		sqlrows.Number("deferred", func(w *store.Write) int64 { return boolInt(w.Progress.Deferred) }),
		sqlrows.Number("done", func(w *store.Write) int64 { return w.Progress.Done }),
		sqlrows.Number("failed", func(w *store.Write) int64 { return w.Progress.Failed }),
		sqlrows.Number("skipped", func(w *store.Write) int64 { return w.Progress.Skipped }),
	},
	{
		sqlrows.Text("state", func(w *store.Write) string { return string(w.State) }),
	},
}

// due is the time that a write sets, or "".
func due(w *store.Write) string {
	if w.At.IsZero() {
		return ""
	}
	return w.At.UTC().Format("2006-01-02 15:04:05.000000") + "+00:00"
}

// boolInt is a bool as a number.
func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// The groups of writeColumns that begin with checkpoint and with status.
const (
	position = 2
	outcome  = 3
)

// Where these are the same for all writes, they stand in the text of the statement:
// nearly every column depends on them, and what does not apply is gone from the plan.
const (
	checkpoint = "checkpoint"
	status     = "status"
)

// updatePlan is what the statement for some writes depends on. There are few, so that
// each is prepared once a connection. One write differs in nothing from itself:
// its statement joins nothing.
type updatePlan struct {
	differ [6]bool // the writes differ in a group of columns
	// changesStatus: a status may change. A column that is not set costs nothing, and
	// neither do the guards of its values.
	changesStatus bool
	clearsControl bool // each write is an end, and a pending request ends with the task
	begins        bool // a write gives a task back after a batch, which may have been written before the start
	// What all writes have, unless they differ in the group.
	checkpoint bool
	status     lifecycle.Status
}

func newUpdatePlan(writes []*store.Write) (l updatePlan) {
	for _, w := range writes {
		l.changesStatus = l.changesStatus || !w.IsCheckpoint()
		l.begins = l.begins || w.Checkpoint && (w.To == lifecycle.Queued || w.To == lifecycle.Error)
	}
	for i, group := range writeColumns {
		if i == outcome && !l.changesStatus {
			continue
		}
		for n := range group {
			l.differ[i] = l.differ[i] || !group[n].Same(writes)
		}
	}
	if !l.differ[position] {
		l.checkpoint = writes[0].Checkpoint
	}
	if l.changesStatus && !l.differ[outcome] {
		l.status = writes[0].To
	}
	return l
}

// constants are the values in the text of the statement.
func (l updatePlan) constants() map[string]string {
	values := make(map[string]string)
	if !l.differ[position] {
		values[checkpoint] = fmt.Sprintf("%d::bigint", boolInt(l.checkpoint))
	}
	if l.status != "" {
		values[status] = "'" + string(l.status) + "'::text"
	}
	return values
}

// isConstant reports whether the value of a column is in the text of the statement.
func (l updatePlan) isConstant(column string) bool {
	return column == checkpoint && !l.differ[position] || column == status && l.status != ""
}

// columns yields the columns of the statement that are parameters, and whether the
// writes differ in the group of each.
func (l updatePlan) columns() iter.Seq2[*sqlrows.Column[store.Write], bool] {
	return func(yield func(*sqlrows.Column[store.Write], bool) bool) {
		for i, group := range writeColumns {
			if i == outcome && !l.changesStatus {
				continue
			}
			for n := range group {
				if l.isConstant(group[n].Name) {
					continue
				}
				if !yield(&group[n], l.differ[i]) {
					return
				}
			}
		}
	}
}

// args are the parameters of writes: the place of each in the list, where they
// differ, and the columns.
func (l updatePlan) args(writes []*store.Write) []any {
	var args []any
	if l.differ[0] {
		places := make([]int64, len(writes))
		for i := range places {
			places[i] = int64(i)
		}
		args = append(args, places)
	}
	for c, differ := range l.columns() {
		if differ {
			args = append(args, c.Array(writes))
		} else {
			args = append(args, c.Arg(writes[0]))
		}
	}
	return args
}

// column matches a column of a write in the text of applyTemplate.
var column = regexp.MustCompile(`\bw\.\w+`)

// applySQL is the statement for writes with this plan.
func (s *Store) applySQL(l updatePlan) string {
	s.applying.Lock()
	defer s.applying.Unlock()
	if text, ok := s.applies[l]; ok {
		return text
	}
	var arrays, names []string
	values := map[string]string{"w.ord": "0::bigint"}
	for name, value := range l.constants() {
		values["w."+name] = value
	}
	n := 0
	add := func(name, typ string, differ bool) {
		n++
		if !differ {
			values["w."+name] = fmt.Sprintf("$%d::%s", n, typ)
			return
		}
		values["w."+name] = "w." + name
		arrays = append(arrays, fmt.Sprintf("(SELECT $%d::%s[])", n, typ))
		names = append(names, name)
	}
	if l.differ[0] {
		add("ord", "bigint", true)
	}
	for c, differ := range l.columns() {
		add(c.Name, c.Type, differ)
	}
	join, set, guard, pending := "", "", guardCheckpoint, anyRequest
	if len(names) > 0 {
		join = "FROM " + sqlrows.Unnest("w", arrays, names)
	}
	if l.changesStatus {
		set, guard = setStatus, guardStatus
	}
	if l.clearsControl {
		set, pending = set+setControl, deleteRequest
	}
	began := ""
	if l.begins {
		began = " AND w.checkpoint = 0"
	}
	set = strings.ReplaceAll(set, "{began}", began)
	text := strings.NewReplacer("{set}", set, "{guard}", guard).Replace(applyTemplate)
	text = column.ReplaceAllStringFunc(text, func(m string) string { return values[m] })
	text = s.SQL(strings.NewReplacer("{from}", join, "{pending}", pending, "{legal}", sqlbase.LegalWrites(), "{terminal}", sqlbase.TerminalStatuses()).Replace(text))
	s.applies[l] = text
	return text
}
