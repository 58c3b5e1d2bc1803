package sqlbase

import "taskkit.dev/internal/dialect"

// The conditions on children of this file are the conditions of the indexes taskkit_child and
// taskkit_child_status, and each stands twice: once so that the index can be used, and once
// as an expression, see [AsExpression]. A task may have so many children that by the statistics
// of PostgreSQL nearly every row is one of them. It would read the table from its beginning
// until it finds one, and all of it if the last has ended since.

// The statuses of open and of failed children.
const (
	openStatuses   = "('QUEUED', 'SCHEDULING', 'EXECUTING')"
	failedStatuses = "('FAILURE', 'ERROR')"
)

// childOf is the condition on a task of an alias that it is a child, given the SQL of its
// parent's id.
func (t Statements) childOf(alias, id string) string {
	where := alias + ".parent_id = " + id + isChild(alias)
	if t.dialect == dialect.Postgres {
		where += " AND " + alias + ".parent_id::text = (" + id + ")::text"
	}
	return where
}

// childOfAny is childOf of q for parents whose ids are $1, see [Statements.idsArg].
func (t Statements) childOfAny() string {
	where := "q.parent_id " + t.anyID("$1") + isChild("q")
	if t.dialect == dialect.Postgres {
		where += " AND q.parent_id::text = ANY($1::text[])"
	}
	return where
}

// isChild is what both indexes have as conditions. A list by a parent has only that of taskkit_child, as no other index is in its order.
func isChild(alias string) string {
	return " AND " + alias + ".parent_id IS NOT NULL AND " + alias + ".workflow_status <> ''"
}

// inStatus is the condition on a child of an alias that its status is one of these.
func inStatus(alias, statuses string) string {
	return alias + ".workflow_status IN " + statuses + " AND " + alias + ".workflow_status" + AsExpression + " IN " + statuses
}

// hasOpenChildren is the condition that a child of the task q is open.
// PostgreSQL makes no join of it because of the OFFSET, so that it reads one row of the index.
func (t Statements) hasOpenChildren() string {
	return t.SQL("EXISTS (SELECT 1 FROM {s}taskkit_queued_task c WHERE " + t.childOf("c", "q.id") + " AND " + inStatus("c", openStatuses) + " LIMIT 1 OFFSET 0)")
}

// countChildren is how many children in these statuses the task has, given the SQL of its id.
func (t Statements) countChildren(id, statuses string) string {
	return t.SQL("(SELECT count(*) FROM {s}taskkit_queued_task c WHERE " + t.childOf("c", id) + " AND " + inStatus("c", statuses) + ")")
}
