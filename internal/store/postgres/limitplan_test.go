package postgres

import (
	"context"
	"testing"

	"taskkit.dev/internal/store"
)

// The list of limits reads a bounded part of the tasks that wait for a permit.
func TestLimitsReadFewTasks(t *testing.T) {
	t.Parallel()
	const waiting = `WITH made AS (
  INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, fence)
  SELECT gen_random_uuid(), o, o, o, o, 'demo', 1 FROM (SELECT gen_random_uuid() o) x, generate_series(1, $1::int) RETURNING id)
INSERT INTO taskkit_task_limit (id, task_id, limit_key, fence, at_most, waiting)
SELECT gen_random_uuid(), id, 'key', 1, 2, true FROM made`
	for _, state := range listStates {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			db, exec := listTables(t, state)
			query, args := recorded(t, db.Schema, func(ctx context.Context, c store.Client) error {
				_, err := c.Limited(ctx, "", 100)
				return err
			})
			exec("INSERT INTO taskkit_limit (id, limit_key) SELECT gen_random_uuid(), 'unused ' || g FROM generate_series(1, 500) g UNION ALL SELECT gen_random_uuid(), 'key'")
			exec(waiting, store.LimitRead+30_000)
			if state == "statistics" {
				exec("ANALYZE taskkit_queued_task, taskkit_task_limit, taskkit_limit")
			}
			eachPlan(t, db, query, args, func(mode string, _ scans, buffers int) {
				// How many wait, how many were read, and the smallest of their limits: an entry, its row, and the task by its id. A few
				// pages for each key that no task has.
				if most := 3*6*store.LimitRead + 500*20; buffers > most {
					t.Errorf("%s: read %d buffers, want at most %d", mode, buffers, most)
				}
			})
		})
	}
}
