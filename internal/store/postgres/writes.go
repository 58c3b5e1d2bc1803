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
		sqlrows.Number("checkpoint", func(w *store.Write) int64 { return boolInt(w.Checkpoint) }),
		sqlrows.Number("revision", func(w *store.Write) int64 { return int64(w.Revision) }),
		sqlrows.Number("attempts", func(w *store.Write) int64 { return int64(max(w.Attempts, 0)) }),
	},
	outcome: {
		sqlrows.Text("status", func(w *store.Write) string { return string(w.To) }),
		sqlrows.Number("partial", func(w *store.Write) int64 { return boolInt(w.Partial) }),
		sqlrows.Number("delay", sqlbase.DelayMillis),
		sqlrows.Text("due", due),
		sqlrows.Text("reason", func(w *store.Write) string { return classify.Clean(w.Reason) }),
		sqlrows.Text("descr", func(w *store.Write) string { return classify.Clean(w.StatusDetail) }),
	},
	{
		sqlrows.Number("total", func(w *store.Write) int64 { return w.Progress.Total }),
		sqlrows.Number("taken", func(w *store.Write) int64 { return w.Progress.Taken }),
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

// outcome is the group of what happens to a status.
const outcome = 3

// isCheckpoint reports whether a write leaves its task as it is but for the checkpoint.
func isCheckpoint(w *store.Write) bool {
	return w.Begun && w.Checkpoint && w.To == lifecycle.Executing && w.StatusDetail == ""
}

// updatePlan is what the statement for some writes depends on. There are few, so that
// each is prepared once a connection. One write differs in nothing from itself:
// its statement joins nothing.
type updatePlan struct {
	differ [6]bool // the writes differ in a group of columns
	// changesStatus: a status may change. A column that is not set costs nothing, and
	// neither do the guards of its values.
	changesStatus bool
	clearsControl bool // a task ends, and its request with it
}

func newUpdatePlan(writes []*store.Write) (l updatePlan) {
	for _, w := range writes {
		l.changesStatus = l.changesStatus || !isCheckpoint(w)
		l.clearsControl = l.clearsControl || w.To.Terminal()
	}
	for i, group := range writeColumns {
		if i == outcome && !l.changesStatus {
			continue
		}
		for n := range group {
			l.differ[i] = l.differ[i] || !group[n].Same(writes)
		}
	}
	return l
}

// columns yields the columns of the statement, and whether the writes differ in
// the group of each.
func (l updatePlan) columns() iter.Seq2[*sqlrows.Column[store.Write], bool] {
	return func(yield func(*sqlrows.Column[store.Write], bool) bool) {
		for i, group := range writeColumns {
			if i == outcome && !l.changesStatus {
				continue
			}
			for n := range group {
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
	join, set, guard := "", "", guardCheckpoint
	if len(names) > 0 {
		join = "FROM " + sqlrows.Unnest("w", arrays, names)
	}
	if l.changesStatus {
		set, guard = setStatus, guardStatus
	}
	if l.clearsControl {
		set += setControl
	}
	text := strings.NewReplacer("{set}", set, "{guard}", guard).Replace(applyTemplate)
	text = column.ReplaceAllStringFunc(text, func(m string) string { return values[m] })
	text = s.SQL(strings.NewReplacer("{from}", join, "{legal}", sqlbase.LegalWrites(), "{terminal}", sqlbase.TerminalStatuses()).Replace(text))
	s.applies[l] = text
	return text
}
