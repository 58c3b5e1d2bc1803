package sqlbase

import (
	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/ent/queuedtask"
	"taskkit.dev/internal/dialect"
)

// keyed selects from the table of tasks, newest first, those before one that have a key: a page of
// the index of the key and the id. key is the SQL of the expression that the index has, and value writes what it is compared with.
//
// No other plan may look cheaper, whatever the statistics say. One that sorts reads all tasks with the key, and one by the
// primary key, which has the order too, reads all tasks of the table. On PostgreSQL the order is therefore by the key first, and
// the key is compared as a range, since PostgreSQL removes from an order what is compared by =. The value must be
// unknown when the statement is planned: the planner then assumes a fixed part of the rows.
func (b *Base) keyed(s *entsql.Selector, key string, value func(*entsql.Builder), before uuid.UUID) {
	id := s.C(queuedtask.FieldID)
	if b.Dialect() == dialect.SQLite {
		s.Where(entsql.P(func(q *entsql.Builder) {
			q.WriteString(key + " IS NOT NULL AND " + key + " = ")
			value(q)
			if before != uuid.Nil {
				q.WriteString(" AND " + id + " < ").Arg(before)
			}
		}))
		return
	}
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
