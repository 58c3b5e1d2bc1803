package sqlbase

import (
	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/ent/predicate"
	"taskkit.dev/ent/queuedtask"
	"taskkit.dev/internal/dialect"
)

// The two halves of an owner's tasks, in the words of the indexes taskkit_owner
// and taskkit_in_flight: a planner looks for them.
const (
	resting  = "workflow_status NOT IN ('SCHEDULING', 'EXECUTING')"
	inFlight = "workflow_status IN ('SCHEDULING', 'EXECUTING')"
)

// owned is the condition of the newest n of an owner's tasks that meet others
// too. Those at rest come from the owner's index, newest first; those in flight,
// which are few whoever owns them, from the index of what is in flight. It is one
// statement, so that no task can go from one half to the other in between.
//
// On SQLite the owner's index holds all tasks, see internal/cmd/schemaplan.
func (b *Base) owned(owner uuid.UUID, n int, others []predicate.QueuedTask) predicate.QueuedTask {
	if b.Dialect() == dialect.SQLite {
		return queuedtask.And(append(others, queuedtask.OwnerID(owner))...)
	}
	return func(s *entsql.Selector) {
		half := func(which string) *entsql.Selector {
			t := entsql.Dialect(string(b.Dialect())).Select().From(entsql.Table(queuedtask.Table).Schema(b.Schema()))
			t.Select(t.C(queuedtask.FieldID)).Where(entsql.ExprP(which))
			for _, p := range append(others, queuedtask.OwnerID(owner)) {
				p(t)
			}
			return t
		}
		rest := half(resting)
		rest.OrderBy(entsql.Desc(rest.C(queuedtask.FieldID))).Limit(n)
		newest := entsql.Dialect(string(b.Dialect())).Select(queuedtask.FieldID).From(rest.As("resting"))
		s.Where(entsql.In(s.C(queuedtask.FieldID), newest.UnionAll(half(inFlight))))
	}
}
