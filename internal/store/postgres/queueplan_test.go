package postgres

import (
	"context"
	"testing"

	"taskkit.dev/internal/store"
)

// The counts of queues read a bounded part of what waits in each lane, and nothing of what does not wait.
func TestQueueCountsReadFewTasks(t *testing.T) {
	t.Parallel()
	const waiting = `INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, queue, execution_component_name, codec_revision, priority, not_before)
SELECT gen_random_uuid(), o, o, o, o, $1::text, $2::text, $3::int, $4::int, clock_timestamp() - $5::int * interval '1 minute'
FROM (SELECT gen_random_uuid() o) x, generate_series(1, $6::int)`
	for _, state := range listStates {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			db, exec := listTables(t, state)
			query, args := recorded(t, db.Schema, func(ctx context.Context, c store.Client) error {
				_, err := c.QueueCounts(ctx, 100)
				return err
			})
			check := func(what string, tasks float64, most int) {
				t.Helper()
				eachPlan(t, db, query, args, func(mode string, s scans, buffers int) {
					s.uses(t, mode+": "+what, "taskkit_claim", "taskkit_in_flight")
					if n := s.rows("taskkit_claim") + s.rows("taskkit_in_flight"); n > tasks || buffers > most {
						t.Errorf("%s: %s: read %v tasks and %d buffers, want at most %v and %d", mode, what, n, buffers, tasks, most)
					}
				})
			}
			check("many in one lane", 110, 200)
			exec(waiting, "default", "waiting", 1, 1, 60, 10)
			exec(waiting, "default", "waiting", 1, 1, -60, 20_000)
			exec(waiting, "default", "other", 2, 2, 60, 5)
			exec(waiting, "another", "other", 1, 3, 60, 5)
			exec(waiting, "another", "waiting", 1, 4, 60, 3000)
			check("many in some lanes", 340, 600)
			if state == "statistics" {
				exec("ANALYZE taskkit_queued_task")
				check("many in some lanes, with statistics", 340, 600)
			}
			exec("TRUNCATE taskkit_queued_task CASCADE")
			exec(listed, 1, 20_000, "ended", "COMPLETED", nil)
			check("none", 0, 20)
			if state == "statistics" {
				exec("ANALYZE taskkit_queued_task")
				check("none, with statistics", 0, 20)
			}
		})
	}
}
