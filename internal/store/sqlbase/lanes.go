package sqlbase

import (
	"strings"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store/sqlrows"
)

// waiting is the condition of the index taskkit_claim on a task t.
const waiting = "t.workflow_status = 'QUEUED' AND t.control <> 'PAUSE'"

// tasksByClaim is the table of tasks t, which are to be read by the index taskkit_claim. PostgreSQL chooses it by the order of a
// query.
func (t Statements) tasksByClaim() string {
	if t.dialect == dialect.SQLite {
		return "taskkit_queued_task t INDEXED BY taskkit_claim"
	}
	return "{s}taskkit_queued_task t"
}

// leastWaiting is a query of a column of the index taskkit_claim: its least value of the waiting tasks t that meet a condition. It
// reads one entry of the index if the condition is on the columns before it, and on the column itself.
func (t Statements) leastWaiting(column, where string) string {
	return "(SELECT " + column + " FROM " + t.tasksByClaim() + `
    WHERE ` + waiting + " AND " + where + `
    ORDER BY ` + column + " LIMIT 1)"
}

// rank is the SQL of the rank of a task t.
func (t Statements) rank() string {
	if t.dialect == dialect.SQLite {
		return lifecycle.SQLiteRank("t.")
	}
	return lifecycle.PostgresRank("t.")
}

// few selects columns of the rows of a table expression that meet a condition, as a table with a name. PostgreSQL estimates ten rows of an
// array, and of a recursive query a hundred times as many as of the one before it: it would compile the statement
// (jit_above_cost), which takes seconds.
func (t Statements) few(as, table, where string, columns ...string) string {
	if t.dialect == dialect.SQLite {
		return "(SELECT " + strings.Join(columns, ", ") + " FROM " + table + " WHERE " + where + ") " + as
	}
	arrays := make([]string, len(columns))
	for i, c := range columns {
		arrays[i] = "ARRAY(SELECT " + c + " FROM " + table + " WHERE " + where + ")"
	}
	return sqlrows.Unnest(as, arrays, columns)
}

// waitingLanes are the table expressions that end with lanes: the queues, kinds, revisions and ranks in which tasks wait, and one
// row without a rank for each queue, kind and revision. They read one entry of the index taskkit_claim for each value of each
// column, however many tasks wait. Of a table, such as queues, only the rows are followed that meet its condition on q.
func (t Statements) waitingLanes(conditions map[string]string) string {
	var tables []string
	outer, same, from := "", "true", ""
	var columns []string
	for _, l := range []struct{ table, column, value string }{
		{"queues", "queue", "t.queue"},
		{"kinds", "execution_component_name", "t.execution_component_name"},
		{"revisions", "codec_revision", "t.codec_revision"},
		{"lanes", "rank", t.rank()},
	} {
		tables = append(tables, l.table+" AS (\n  SELECT "+outer+t.leastWaiting(l.value, same)+" AS "+l.column+from+`
  UNION ALL
  SELECT `+outer+t.leastWaiting(l.value, same+" AND "+l.value+" > w."+l.column)+" FROM "+l.table+" w WHERE w."+l.column+" IS NOT NULL\n)")
		outer += "w." + l.column + ", "
		same = strings.TrimPrefix(same+" AND "+l.value+" = w."+l.column, "true AND ")
		columns = append(columns, l.column)
		where := l.column + " IS NOT NULL"
		if and := conditions[l.table]; and != "" {
			where += " AND " + and
		}
		from = " FROM " + t.few("w", l.table+" q", where, columns...)
	}
	return strings.Join(tables, ", ")
}

// laneCounts is a query of the lanes, see waitingLanes: each with how many tasks wait in it, how many of them are due, and since
// when the first is. It reads one entry of a lane more than a parameter says. Those that are due come first.
func (t Statements) laneCounts(read string) string {
	now, limit, order := "statement_timestamp()", "(SELECT "+read+"::bigint + 1)", "t.not_before, t.id"
	if t.dialect == dialect.SQLite {
		now, limit, order = "{now}", read+" + 1", "t.not_before"
	}
	lanes := t.few("w", "lanes", "rank IS NOT NULL", "queue", "execution_component_name", "codec_revision", "rank")
	counts := "count(*), count(*) FILTER (WHERE t.not_before <= " + now + "), min(t.not_before) FILTER (WHERE t.not_before <= " + now + ")"
	from := ` FROM (
    SELECT t.not_before FROM ` + t.tasksByClaim() + `
    WHERE ` + waiting + " AND t.queue = w.queue AND t.execution_component_name = w.execution_component_name AND t.codec_revision = w.codec_revision AND " + t.rank() + ` = w.rank
    ORDER BY ` + order + " LIMIT " + limit + `
  ) t`
	if t.dialect == dialect.SQLite {
		return `SELECT queue, execution_component_name, codec_revision, counts ->> 0 AS waiting, counts ->> 1 AS due, counts ->> 2 AS oldest FROM (
  SELECT w.queue, w.execution_component_name, w.codec_revision, (SELECT json_array(` + counts + ")" + from + `) AS counts FROM ` + lanes + ` LIMIT -1
) n`
	}
	return "SELECT w.queue, w.execution_component_name, w.codec_revision, n.waiting, n.due, n.oldest FROM " + lanes + " CROSS JOIN LATERAL (SELECT " + counts + from + ") n(waiting, due, oldest)"
}
