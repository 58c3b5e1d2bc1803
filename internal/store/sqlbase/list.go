package sqlbase

import (
	"slices"
	"strconv"
	"strings"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/ent/predicate"
	"taskkit.dev/ent/queuedtask"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// A list is read from an index that holds its tasks newest first: of a key, a parent, paused tasks, an owner, or the primary key. What else a
// filter asks for is checked row by row, of at most [store.ListRead] rows; where these are all read, the page ends there.

// resting is the condition of the index taskkit_owner, and inFlight of taskkit_in_flight: a planner looks for these words. On SQLite
// the condition of taskkit_owner is roots alone, see internal/cmd/schemaplan.
const (
	roots    = "parent_id IS NULL"
	resting  = "workflow_status NOT IN ('SCHEDULING', 'EXECUTING') AND " + roots
	inFlight = "workflow_status IN ('SCHEDULING', 'EXECUTING')"
)

// list is how a list of tasks is read.
type list struct {
	*Base

	f       store.Filter
	columns []string
	limit   int
	refs    bool // only refColumns, and nothing about results and children
}

// walk writes a query of tasks. Its columns are the columns of the list, then wanted, whether the filter selects the task, and last, whether no
// more are read although there may be more.
type walk func(q *entsql.Builder)

// query is the statement that reads the list. After the columns of a task come, unless refs is set, the columns of its result and whether it has
// children. Then come whether the filter selects it, and whether it is the last that was read.
func (l *list) query() (string, []any) {
	p := entsql.P(func(q *entsql.Builder) {
		if l.refs {
			q.WriteString("SELECT t." + strings.Join(refColumns, ", t."))
		} else {
			q.WriteString("SELECT t." + strings.Join(l.columns, ", t.") + ", " + l.SQL("{now}") + ", " + l.resultColumns("t") + ", " + l.hasChildren("t.id"))
		}
		q.WriteString(", t.wanted, t.last FROM (")
		union(q, l.walks())
		q.WriteString(") t ORDER BY t.id DESC LIMIT " + strconv.Itoa(l.limit))
	})
	p.SetDialect(string(l.Dialect()))
	return p.Query()
}

// union writes a query of the tasks of all walks.
func union(q *entsql.Builder, walks []walk) {
	q.WriteString("SELECT * FROM (")
	walks[0](q)
	for _, w := range walks[1:] {
		q.WriteString(") u UNION ALL SELECT * FROM (")
		w(q)
	}
	q.WriteString(") u")
}

// walks returns the queries whose tasks are the list.
func (l *list) walks() []walk {
	keys, others := keysOf(l.f), l.others()
	all := append(conditions(keys), others...)
	if l.f.Roots {
		all = append(all, queuedtask.ParentIDIsNil())
	}
	anybody := len(keys) == 0
	owned := !anybody && keys[0].column == queuedtask.FieldOwnerID
	switch {
	case l.f.Running:
		if len(l.f.IDs) > 0 {
			all = append(all, queuedtask.IDIn(l.f.IDs...))
		}
		return []walk{l.few(l.running, all)}
	case len(l.f.IDs) > 0:
		return []walk{l.few(queuedtask.IDIn(l.f.IDs...), all)}
	case (anybody || owned) && (l.f.Approval || l.f.Paused):
		return l.paused()
	case anybody && l.f.Only(lifecycle.Status.Dead):
		return []walk{l.dead}
	case (anybody || owned) && l.f.Only(lifecycle.Status.InFlight):
		return []walk{l.inFlight(all)}
	case !l.f.Indexed():
		return []walk{l.newest(all)}
	case owned && l.Dialect() == dialect.SQLite:
		return []walk{l.keyed(keys[0], roots, others)}
	case owned:
		// One statement reads both halves, so that no task can go from one to the other in between.
		walks := []walk{l.keyed(keys[0], resting, others)}
		if len(l.f.Statuses) == 0 || slices.ContainsFunc(l.f.Statuses, lifecycle.Status.InFlight) {
			walks = append(walks, l.inFlight(all))
		}
		return walks
	default:
		return []walk{l.keyed(keys[0], "", all[1:])}
	}
}

// others are the conditions of a filter on columns without an index of their own.
func (l *list) others() []predicate.QueuedTask {
	var where []predicate.QueuedTask
	if len(l.f.Kinds) > 0 {
		where = append(where, queuedtask.ExecutionComponentNameIn(l.f.Kinds...))
	}
	if len(l.f.Statuses) > 0 {
		where = append(where, queuedtask.WorkflowStatusIn(l.f.Statuses...))
	}
	return append(where, l.rare()...)
}

// rare are those conditions of others that a list of dead letters checks too.
func (l *list) rare() []predicate.QueuedTask {
	var where []predicate.QueuedTask
	if l.f.Queue != "" {
		where = append(where, queuedtask.Queue(l.f.Queue))
	}
	if l.f.Previews {
		where = append(where, l.isPreview())
	}
	if l.f.Paused {
		where = append(where, queuedtask.ControlEQ(lifecycle.Pause))
	}
	if l.f.Approval {
		where = append(where, awaitsApproval)
	}
	if l.f.Code != "" {
		where = append(where, l.hasCode(l.f.Code))
	}
	if l.f.EndedFor > 0 {
		where = append(where, l.endedFor(Millis(l.f.EndedFor)))
	}
	return where
}

// table returns a query of a table of tasks, q.
func (l *list) table() *entsql.Selector {
	s := entsql.Dialect(string(l.Dialect())).Select().From(entsql.Table(queuedtask.Table).Schema(l.Schema()).As("q"))
	return s.Select(s.Columns(l.columns...)...)
}

// newest reads by the primary key.
func (l *list) newest(conditions []predicate.QueuedTask) walk {
	return func(q *entsql.Builder) {
		t := l.table()
		if l.f.Before != uuid.Nil {
			queuedtask.IDLT(l.f.Before)(t)
		}
		l.search(q, t.OrderBy(entsql.Desc(t.C(queuedtask.FieldID))), store.ListRead, conditions)
	}
}

// keyed reads by the index of a key, whose condition is partial if it is not about the key itself.
func (l *list) keyed(k key, partial string, others []predicate.QueuedTask) walk {
	return func(q *entsql.Builder) {
		t := l.table()
		if partial != "" {
			t.Where(entsql.ExprP(partial))
		}
		l.Base.keyed(t, k.expression(t), func(q *entsql.Builder) {
			if l.Dialect() == dialect.SQLite {
				q.Arg(k.value)
			} else {
				q.WriteString("(SELECT ").Arg(k.value).WriteString("::" + k.sqlType() + ")")
			}
		}, l.f.Before)
		l.search(q, t.OrderBy(entsql.Desc(t.C(queuedtask.FieldID))), store.ListRead, others)
	}
}

// dead reads, of each kind and status of dead letters, the newest.
func (l *list) dead(q *entsql.Builder) {
	columns := "d.*"
	if l.Dialect() == dialect.SQLite {
		columns = "d." + strings.Join(l.columns, ", d.") + ", e.value ->> 1 AS wanted, e.value ->> 2 AS last"
	}
	most := store.DeadSearch
	if few := 4; len(l.f.Kinds) == 0 || len(l.f.Kinds) > few {
		most = store.DeadSearchMany
	}
	q.WriteString("SELECT " + columns + " FROM ")
	l.fromDead(q, l.f, l.columns, func(q *entsql.Builder, t *entsql.Selector) { l.search(q, t, most, l.rare()) })
}

// inFlight reads those tasks that a worker has claimed, which are few.
func (l *list) inFlight(conditions []predicate.QueuedTask) walk {
	return l.few(func(t *entsql.Selector) { t.Where(entsql.ExprP(inFlight)) }, conditions)
}

// running selects the tasks in flight and all above them. The set is no larger than the slots of all workers by the levels of
// the deepest task. Its parents are read one by one, since a join may read the table. PostgreSQL estimates ten rows of an array, and would compile the
// statement (jit_above_cost) for as many as it estimates of a table without statistics.
func (l *list) running(t *entsql.Selector) {
	t.Where(entsql.P(func(q *entsql.Builder) {
		begin, end := " = ANY(ARRAY(", "))"
		claimed := "SELECT id FROM {s}taskkit_queued_task WHERE " + inFlight
		if l.Dialect() == dialect.SQLite {
			begin, end = " IN (", " WHERE id IS NOT NULL)"
		} else {
			claimed = "SELECT id FROM pg_catalog.unnest(ARRAY(" + claimed + ")) AS claimed(id)"
		}
		q.WriteString(t.C(queuedtask.FieldID) + begin + l.SQL("WITH RECURSIVE up(id) AS ("+claimed+
			" UNION SELECT (SELECT p.parent_id FROM {s}taskkit_queued_task p WHERE p.id = up.id) FROM up WHERE up.id IS NOT NULL) SELECT id FROM up") + end)
	}))
}

// few reads all that meet a condition, which are not many, and checks others. Without CASE and OFFSET, PostgreSQL might
// read the index of another condition, or one in the order of the list.
func (l *list) few(first predicate.QueuedTask, others []predicate.QueuedTask) walk {
	return func(q *entsql.Builder) {
		t := l.table()
		first(t)
		if l.f.Before != uuid.Nil {
			queuedtask.IDLT(l.f.Before)(t)
		}
		if len(others) > 0 {
			t.Where(entsql.P(func(q *entsql.Builder) { isTrue(q, t.Table(), others) }))
		}
		q.WriteString("SELECT f.*, true AS wanted, false AS last FROM (").Join(t)
		if l.Dialect() == dialect.SQLite {
			q.WriteString(" LIMIT -1")
		}
		q.WriteString(" OFFSET 0) f")
	}
}

// search reads tasks in the order of t until a page is full of those that meet conditions, but no more than most. The number is taken in the order in which the rows come, which neither database changes without a reason to
// sort them.
func (l *list) search(q *entsql.Builder, t *entsql.Selector, most int, others []predicate.QueuedTask) {
	if len(others) == 0 && l.limit <= most {
		firstOf(q, t, l.limit)
		return
	}
	q.WriteString("SELECT * FROM (SELECT r.*, ")
	if len(others) == 0 {
		q.WriteString("true")
	} else {
		isTrue(q, entsql.Table(queuedtask.Table).As("r"), others)
	}
	q.WriteString(" AS wanted, row_number() OVER () = " + strconv.Itoa(most) + " AS last FROM (").
		Join(t.Limit(most)).WriteString(") r) s WHERE wanted OR last LIMIT " + strconv.Itoa(l.limit))
}

// isTrue writes an expression for whether all conditions on a table are true, which no planner looks into.
func isTrue(q *entsql.Builder, table *entsql.SelectTable, conditions []predicate.QueuedTask) {
	s := entsql.Dialect(q.Dialect()).Select().From(table)
	queuedtask.And(conditions...)(s)
	q.WriteString("CASE WHEN ").Join(s.P()).WriteString(" THEN true ELSE false END")
}

// firstOf reads the first n tasks of t.
func firstOf(q *entsql.Builder, t *entsql.Selector, n int) {
	q.WriteString("SELECT p.*, true AS wanted, false AS last FROM (").Join(t.Limit(n)).WriteString(") p")
}

// key is a column that has an index with the id.
type key struct {
	column string
	value  any
	is     predicate.QueuedTask
}

// keysOf are the keys that a filter gives. The first is read by.
func keysOf(f store.Filter) (keys []key) {
	for _, k := range []struct {
		given bool
		key
	}{
		{f.UniqueKey != "", key{queuedtask.FieldUniqueKey, f.UniqueKey, queuedtask.UniqueKey(f.UniqueKey)}},
		{f.Reference != "", key{queuedtask.FieldReference, f.Reference, queuedtask.Reference(f.Reference)}},
		{f.Parent != uuid.Nil, key{queuedtask.FieldParentID, f.Parent, queuedtask.ParentID(f.Parent)}},
		{f.Follows != uuid.Nil, key{queuedtask.FieldFollowsID, f.Follows, queuedtask.FollowsID(f.Follows)}},
		{f.Owner != uuid.Nil, key{queuedtask.FieldOwnerID, f.Owner, queuedtask.OwnerID(f.Owner)}},
	} {
		if k.given {
			keys = append(keys, k.key)
		}
	}
	return keys
}

// conditions are the conditions on keys whose index is not read.
func conditions(keys []key) (where []predicate.QueuedTask) {
	for _, k := range keys {
		where = append(where, k.is)
	}
	return where
}

// expression is the SQL of a key as its index has it.
func (k key) expression(t *entsql.Selector) string {
	if k.sqlType() == "text" {
		return t.C(k.column) + AsExpression
	}
	return t.C(k.column)
}

func (k key) sqlType() string {
	if _, text := k.value.(string); text {
		return "text"
	}
	return "uuid"
}
