package postgres

import (
	"context"
	"testing"
	"time"

	"taskkit.dev/internal/store"
)

// The count of the tasks that ended in a span reads those, up to its limit, and one of each kind.
func TestEndedBetweenReadsTheSpan(t *testing.T) {
	t.Parallel()
	for _, state := range listStates {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			db, exec := listTables(t, state)
			exec("TRUNCATE taskkit_queued_task CASCADE")
			exec(listed, 1, 20_000, "ended", "COMPLETED", nil)
			exec(listed, 20_001, 20_300, "other", "FAILURE", nil)
			exec(listed, 20_301, 20_400, "waiting", "QUEUED", nil)
			exec("UPDATE taskkit_queued_task SET workflow_stopped_date = workflow_stopped_date - interval '3 hours' WHERE id < lpad(to_hex(19500), 32, '0')::uuid")
			if state == "statistics" {
				exec("ANALYZE taskkit_queued_task")
			}
			check := func(what string, from, until time.Duration, tasks float64) {
				t.Helper()
				now := time.Now()
				query, args := recorded(t, db.Schema, func(ctx context.Context, c store.Client) error {
					_, _, err := c.EndedBetween(ctx, now.Add(from), now.Add(until), 1000)
					return err
				})
				eachPlan(t, db, query, args, func(mode string, s scans, buffers int) {
					s.uses(t, mode+": "+what, "taskkit_ended")
					if n := s.rows("taskkit_ended"); n > tasks {
						t.Errorf("%s: %s: read %v tasks and %d buffers, want at most %v", mode, what, n, buffers, tasks)
					}
				})
			}
			check("the last hour", -time.Hour, time.Hour, 820)
			check("up to the limit", -4*time.Hour, -2*time.Hour, 1010)
			check("none", -9*time.Hour, -8*time.Hour, 10)
		})
	}
}
