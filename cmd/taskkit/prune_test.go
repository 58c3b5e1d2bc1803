package main_test

import (
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
)

// prune-events deletes old events over several pages, and keeps young ones.
func TestPruneEvents(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		id := s.submit(t)
		for range 5 {
			if _, err := db.ExecContext(t.Context(), `INSERT INTO taskkit_task_event (id, task_id, created_date, action, was)
VALUES ($1, $2, '2020-01-01 00:00:00.000', 'pause', 'QUEUED')`, uuid.Must(uuid.NewV7()).String(), id.String()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.client.Pause(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		expect(t, 0, "deleted 5 events\n", s.args("prune-events", "--older-than", "90d", "--batch", "2")...)
		expect(t, 0, `"deleted": 0`, s.args("prune-events", "--older-than", "36h", "-o", "json")...)
		if events, err := s.client.Events(t.Context(), id, 10); err != nil || len(events) != 1 {
			t.Errorf("events %+v, %v; want 1", events, err)
		}
	})
}
