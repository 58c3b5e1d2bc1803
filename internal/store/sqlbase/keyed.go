package sqlbase

import (
	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/ent/predicate"
	"taskkit.dev/ent/queuedtask"
	"taskkit.dev/internal/dialect"
)

// keyed selects from the table of tasks, newest first, those before one that have a key and meet other conditions: a page of
// the index of the key and the id. key is the SQL of the expression that the index has, and value writes what it is compared with.
//
// No other plan may look cheaper, whatever the statistics say. One that sorts reads all tasks with the key, and one by the
// primary key, which has the order too, reads all tasks of the table. On PostgreSQL the order is therefore by the key first, and
// the key is compared as a range, since PostgreSQL removes from an order what is compared by =. The value must be
// unknown when the statement is planned: the planner then assumes a fixed part of the rows, as it does for a CASE.
func (b *Base) keyed(s *entsql.Selector, key string, value func(*entsql.Builder), before uuid.UUID, others []predicate.QueuedTask) {
	id := s.C(queuedtask.FieldID)
	if b.Dialect() == dialect.SQLite {
		s.Where(entsql.P(func(q *entsql.Builder) {
			q.WriteString(key + " IS NOT NULL AND " + key + " = ")
			value(q)
			if before != uuid.Nil {
				q.WriteString(" AND " + id + " < ").Arg(before)
			}
		}))
	} else {
		compare := " < ("
		if before == uuid.Nil {
			compare, before = " <= (", uuid.Max
		}
		s.Where(entsql.P(func(q *entsql.Builder) {
			q.WriteString(key + " >= ")
			value(q)
			q.WriteString(" AND (" + key + ", " + id + ")" + compare)
			value(q)
			q.WriteString(", ").Arg(before).WriteString(")")
		})).OrderExpr(entsql.Raw(key + " DESC"))
	}
	if len(others) > 0 {
		all := entsql.Dialect(string(b.Dialect())).Select().From(s.Table())
		queuedtask.And(others...)(all)
		s.Where(entsql.P(func(q *entsql.Builder) {
			q.WriteString("CASE WHEN ").Join(all.P()).WriteString(" THEN true ELSE false END")
		}))
	}
}

// byColumn is keyed for a column of texts.
func (b *Base) byColumn(column, value string, before uuid.UUID, others []predicate.QueuedTask) predicate.QueuedTask {
	return func(s *entsql.Selector) {
		b.keyed(s, s.C(column)+AsExpression, func(q *entsql.Builder) {
			if b.Dialect() == dialect.SQLite {
				q.Arg(value)
			} else {
				q.WriteString("(SELECT ").Arg(value).WriteString("::text)")
			}
		}, before, others)
	}
}
