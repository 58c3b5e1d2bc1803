package dbstore_test

import (
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
)

// A reaper that looks while an orphan is just being taken over leaves it to its
// new holder: what it looks for and what it changes are one statement.
func TestReapMeetsClaim(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s, _ := opened(t, db)
		c := claimOne(t, s, db, time.Hour)
		heir := store.Process{ID: "heir", Kinds: map[string][]int{"demo": {1}}, Queues: []string{"default"}, DeadAfter: time.Hour}
		if err := s.RegisterWorker(t.Context(), heir); err != nil {
			t.Fatal(err)
		}
		// Everybody sees that the holder is gone, and nobody what comes next.
		if _, err := db.ExecContext(t.Context(), "UPDATE taskkit_task_process SET ended_date = last_heartbeat_date WHERE id = 'p'"); err != nil {
			t.Fatal(err)
		}
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		for _, q := range []string{
			"UPDATE taskkit_queued_task SET workflow_status = 'QUEUED', scheduled_by_process = NULL",
			"UPDATE taskkit_queued_task SET workflow_status = 'SCHEDULING', scheduled_by_process = 'heir', fence = fence + 1",
		} {
			if _, err := tx.ExecContext(t.Context(), q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
		type answer struct {
			reaped store.Reaped
			err    error
		}
		answered, done := make(chan answer, 1), false
		var got answer
		go func() {
			r, err := s.Reap(t.Context(), nil)
			answered <- answer{r, err}
		}()
		waits := 0 // how often in a row it was seen to wait
		until(t, "the reaper has looked, or waits", func() bool {
			select {
			case got = <-answered:
				done = true
				return true
			default:
			}
			if db.Dialect == dialect.SQLite {
				if waits++; db.Stats().InUse < 2 {
					waits = 0
				}
				return waits > 10
			}
			var n int
			if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'", db.Schema).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n > 0
		})
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if !done {
			got = <-answered
		}
		if got.err != nil || len(got.reaped.Released) != 0 {
			t.Errorf("released %v, %v, want nothing", got.reaped.Released, got.err)
		}
		task, err := s.Task(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		if task.Status != lifecycle.Scheduling || task.Process != "heir" || task.Fence != 2 {
			t.Errorf("the task is %s, held by %q with fence %d; want it with its heir", task.Status, task.Process, task.Fence)
		}
	})
}
