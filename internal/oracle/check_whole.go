package oracle

import (
	"context"
	"database/sql"
	"slices"
)

// checkStrays finds what the check by tasks does not come by: rows, changes and
// touches of tasks that nobody saw being submitted.
func (c *checker) checkStrays(ctx context.Context) error {
	for _, s := range []struct{ invariant, what, query string }{
		{"I3", "has changed, and nobody saw it being submitted", `SELECT DISTINCT h.task FROM {s}oracle_history h WHERE h.op <> 'INSERT'
  AND NOT EXISTS (SELECT 1 FROM {s}oracle_history b WHERE b.task = h.task AND b.op = 'INSERT') ORDER BY 1 LIMIT 20`},
		{"I3", "is there, and nobody saw it being submitted", `SELECT ` + c.idText("q.id") + ` FROM {s}taskkit_queued_task q
WHERE NOT EXISTS (SELECT 1 FROM {s}oracle_history b WHERE b.task = ` + c.idText("q.id") + `) ORDER BY 1 LIMIT 20`},
		{"I1", "was touched for, and was never there", `SELECT DISTINCT t.task FROM {s}oracle_touch t
WHERE NOT EXISTS (SELECT 1 FROM {s}oracle_history b WHERE b.task = t.task) ORDER BY 1 LIMIT 20`},
	} {
		err := c.each(ctx, s.query, nil, func(rows *sql.Rows) error {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			c.found(s.invariant, id, "%s", s.what)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkOrphans holds I8 for deletes: nothing stays behind of a task but the
// events.
func (c *checker) checkOrphans(ctx context.Context) error {
	for _, table := range []string{"taskkit_task_attempt", "taskkit_task_failure", "taskkit_task_result"} {
		err := c.each(ctx, "SELECT DISTINCT "+c.idText("o.task_id")+" FROM {s}"+table+` o
WHERE NOT EXISTS (SELECT 1 FROM {s}taskkit_queued_task q WHERE q.id = o.task_id) ORDER BY 1 LIMIT 20`, nil, func(rows *sql.Rows) error {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			c.found("I8", id, "its row is gone, and %s still has one of it", table)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkUniqueKeys holds I13: at no instant do two live tasks of a kind have the
// same unique key.
func (c *checker) checkUniqueKeys(ctx context.Context) error {
	var (
		at   keyed
		live []string
	)
	return c.each(ctx, `SELECT kind, unique_key, task, op, coalesce(new_status, '') FROM {s}oracle_history
WHERE unique_key <> '' ORDER BY kind, unique_key, id`, nil, func(rows *sql.Rows) error {
		var (
			k                keyed
			id, op, becoming string
		)
		if err := rows.Scan(&k.kind, &k.key, &id, &op, &becoming); err != nil {
			return err
		}
		if k != at {
			at, live = k, nil
		}
		lives := op != "DELETE" && (becoming == queued || becoming == scheduling || becoming == executing)
		i := slices.Index(live, id)
		switch {
		case lives && i < 0:
			if live = append(live, id); len(live) > 1 {
				c.found("I13", id, "lives beside %s with the unique key %q of kind %s", live[0], k.key, k.kind)
			}
		case !lives && i >= 0:
			live = slices.Delete(live, i, i+1)
		}
		return nil
	})
}
