package oracle

import (
	"context"
	"database/sql"
	"slices"
)

// checkUnseen finds what the check by tasks does not come by: rows, changes and
// touches of tasks that nobody saw being submitted.
func (c *checker) checkUnseen(ctx context.Context) error {
	for _, s := range []struct{ invariant, what, query string }{
		{"I3", "has changed, and nobody saw it being submitted", `SELECT DISTINCT h.task FROM {s}oracle_history h WHERE h.Op <> 'INSERT'
  AND NOT EXISTS (SELECT 1 FROM {s}oracle_history b WHERE b.task = h.task AND b.Op = 'INSERT') ORDER BY 1 LIMIT 20`},
		{"I3", "is there, and nobody saw it being submitted", `SELECT ` + c.idText("q.ID") + ` FROM {s}taskkit_queued_task q
WHERE NOT EXISTS (SELECT 1 FROM {s}oracle_history b WHERE b.task = ` + c.idText("q.ID") + `) ORDER BY 1 LIMIT 20`},
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

// checkOrphans checks I8 for deletes: nothing stays behind of a task but the
// events.
func (c *checker) checkOrphans(ctx context.Context) error {
	for _, table := range []string{"taskkit_task_attempt", "taskkit_task_item", "taskkit_task_ledger", "taskkit_task_parent", "taskkit_task_plan", "taskkit_task_result", "taskkit_task_target"} {
		err := c.each(ctx, "SELECT DISTINCT "+c.idText("o.task_id")+" FROM {s}"+table+` o
WHERE NOT EXISTS (SELECT 1 FROM {s}taskkit_queued_task q WHERE q.ID = o.task_id) ORDER BY 1 LIMIT 20`, nil, func(rows *sql.Rows) error {
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

// checkKeys checks I13 for both keys.
func (c *checker) checkKeys(ctx context.Context) error {
	for _, column := range []string{uniqueKey, idempotencyKey} {
		watch := c.keyWatch(column)
		err := c.each(ctx, `SELECT kind, `+column+`, task, op, coalesce(new_status, '') FROM {s}oracle_history
WHERE `+column+` <> '' ORDER BY kind, `+column+`, id`, nil, func(rows *sql.Rows) error {
			var (
				k              keyed
				id, op, status string
			)
			if err := rows.Scan(&k.kind, &k.key, &id, &op, &status); err != nil {
				return err
			}
			watch(k, id, op, status)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// keyWatch returns a function that takes the changes of tasks with a key, in
// their order for each key. It checks I13: at no instant do two live tasks of a
// kind have the same unique key, nor two tasks the same idempotency key.
func (c *checker) keyWatch(column string) func(k keyed, id, op, status string) {
	var (
		at    keyed
		there []string // the tasks that have the key now
	)
	return func(k keyed, id, op, status string) {
		if k != at {
			at, there = k, nil
		}
		has := op != "DELETE" && (column == idempotencyKey || status == queued || status == scheduling || status == executing)
		i := slices.Index(there, id)
		switch {
		case has && i < 0:
			if there = append(there, id); len(there) > 1 && column == uniqueKey {
				c.found("I13", id, "is live beside %s with the unique key %q of kind %s", there[0], k.key, k.kind)
			} else if len(there) > 1 {
				c.found("I13", id, "exists beside %s with the idempotency key %q of kind %s", there[0], k.key, k.kind)
			}
		case !has && i >= 0:
			there = slices.Delete(there, i, i+1)
		}
	}
}
