package postgres

import (
	"context"
	"testing"

	"taskkit.dev/internal/store"
)

// Counts are of a part of the table, whether many tasks or none are of the kind.
func TestCountsReadTheNewest(t *testing.T) {
	t.Parallel()
	for _, state := range listStates {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			db, _ := listTables(t, state)
			for _, kind := range []string{"", "waiting", "ended", "none"} {
				query, args := recorded(t, db.Schema, func(ctx context.Context, c store.Client) error {
					_, _, err := c.Counts(ctx, kind, 1000)
					return err
				})
				eachPlan(t, db, query, args, func(mode string, s scans, buffers int) {
					s.uses(t, mode+": "+kind, "taskkit_queued_task_pkey")
					if n := s.rows("taskkit_queued_task_pkey"); n != 1000 || buffers > 500 {
						t.Errorf("%s: %q read %v tasks and %d buffers, want 1,000 and at most 500", mode, kind, n, buffers)
					}
				})
			}
		})
	}
}
