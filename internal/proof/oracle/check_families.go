package oracle

import (
	"context"
	"database/sql"
)

// checkFamilies checks I30 for parents and their children, as the rows are and as they were.
func (c *checker) checkFamilies(ctx context.Context) error {
	const (
		children = " FROM {s}taskkit_queued_task c JOIN {s}taskkit_queued_task p ON p.id = c.parent_id"
		ended    = "('COMPLETED', 'FAILURE', 'ERROR')"
	)
	child := c.idText("c.id")
	number, segment := "o.options::jsonb #>> '{child,number}'", "o.options::jsonb #>> '{child,segment}'"
	if c.o.dialect == SQLite {
		number, segment = "json_extract(o.options, '$.child.number')", "json_extract(o.options, '$.child.segment')"
	}
	same := func(what string) string {
		return "SELECT min(" + child + ")" + children + " JOIN {s}taskkit_task_plan o ON o.task_id = c.id WHERE " + segment + " IS NOT NULL GROUP BY c.parent_id, " + what + " HAVING count(*) > 1 ORDER BY 1 LIMIT 20"
	}
	for _, s := range []struct{ what, query string }{
		{"is open, and its parent has ended", "SELECT " + child + children + " WHERE p.workflow_status IN " + ended + " AND c.workflow_status NOT IN " + ended + " ORDER BY 1 LIMIT 20"},
		{"ended after its parent", "SELECT " + child + children + " WHERE p.workflow_status IN " + ended + " AND c.workflow_stopped_date > p.workflow_stopped_date ORDER BY 1 LIMIT 20"},
		// Whoever ends a parent has locked it and sees its children, and whoever retries a child locks the
		// parent first: so the ids are in the order of the commits.
		{"was open when its parent ended", `SELECT DISTINCT b.task FROM {s}oracle_history p JOIN {s}oracle_history b ON b.parent = p.task
WHERE p.op = 'UPDATE' AND p.old_status NOT IN ` + ended + " AND p.new_status IN " + ended + ` AND b.op = 'INSERT' AND b.parent <> '' AND b.id < p.id
  AND (SELECT CASE h.op WHEN 'DELETE' THEN 'COMPLETED' ELSE h.new_status END FROM {s}oracle_history h
    WHERE h.task = b.task AND h.id < p.id ORDER BY h.id DESC LIMIT 1) NOT IN ` + ended + " ORDER BY 1 LIMIT 20"},
		{"is there, and its parent was removed", "SELECT " + child + " FROM {s}taskkit_queued_task c WHERE EXISTS (SELECT 1 FROM {s}oracle_history h WHERE h.task = " + c.idText("c.parent_id") + " AND h.op = 'DELETE') ORDER BY 1 LIMIT 20"},
		{"has the number of another bucket", same(number)},
		{"has the segment of another bucket", same(segment)},
	} {
		err := c.each(ctx, s.query, nil, func(rows *sql.Rows) error {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			c.found("I30", id, "%s", s.what)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return c.each(ctx, "SELECT count(DISTINCT parent), count(DISTINCT task) FROM {s}oracle_history WHERE op = 'INSERT' AND parent <> ''", nil, func(rows *sql.Rows) error {
		return rows.Scan(&c.report.Counts.Parents, &c.report.Counts.Children)
	})
}
