package postgres

import (
	"context"
	"testing"
	"time"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// What the doctor reads of tasks is bounded and found by an index, however many tasks wait, have ended or are paused.
func TestDiagnosisReadsFewTasks(t *testing.T) {
	t.Parallel()
	const flying = `INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, workflow_status, fence, scheduled_by_process, scheduling_started_date)
SELECT gen_random_uuid(), o, o, o, o, 'flying', 'EXECUTING', 1, 'p', clock_timestamp() FROM (SELECT gen_random_uuid() o) x, generate_series(1, $1::int)`
	for _, state := range listStates {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			db, exec := listTables(t, state)
			exec(flying, 50)
			exec("UPDATE taskkit_queued_task SET control = 'PAUSE' WHERE id BETWEEN $1 AND $2", idOf(12_001), idOf(16_000))
			exec("UPDATE taskkit_queued_task SET control_reason = $1 WHERE id BETWEEN $2 AND $3", lifecycle.ReasonApproval+"first", idOf(13_001), idOf(13_020))
			exec("INSERT INTO taskkit_task_plan (id, task_id, spec) SELECT id, id, '{}' FROM taskkit_queued_task")
			if state == "statistics" {
				exec("ANALYZE taskkit_task_plan")
			}
			for name, c := range map[string]struct {
				call  func(context.Context, store.Client) error
				index string
				most  float64
			}{
				"OldestDue": {func(ctx context.Context, c store.Client) error {
					_, err := c.OldestDue(ctx, "default", time.Minute, 100)
					return err
				}, "taskkit_claim", 200},
				"InFlight": {func(ctx context.Context, c store.Client) error { _, err := c.InFlight(ctx); return err }, "taskkit_in_flight", 50},
				"AwaitingApproval": {func(ctx context.Context, c store.Client) error {
					_, err := c.AwaitingApproval(ctx, time.Now(), time.Millisecond, 10)
					return err
				}, "taskkit_paused", 20},
				"FailingTargets": {func(ctx context.Context, c store.Client) error {
					_, err := c.FailingTargets(ctx, time.Hour, 3)
					return err
				}, "taskkit_ended", store.DiagnosisRead},
			} {
				query, args := recorded(t, db.Schema, c.call)
				eachPlan(t, db, query, args, func(mode string, s scans, _ int) {
					s.uses(t, mode+": "+name, c.index, "taskkit_queued_task_pkey")
					if n := s.rows(c.index); n > c.most {
						t.Errorf("%s: %s: read %v entries of %s, want at most %v", mode, name, n, c.index, c.most)
					}
					if n := s.rows("taskkit_queued_task_pkey"); n > store.DiagnosisRead {
						t.Errorf("%s: %s: read %v tasks by their ids, want at most %v", mode, name, n, store.DiagnosisRead)
					}
				})
			}
		})
	}
}
