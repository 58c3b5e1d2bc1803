package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// retry --skip continues a task after the item at which it failed, and is refused where the runtime does not know the item.
func TestRetrySkip(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		people := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
		listed, err := watchtask.Submit(t.Context(), db.DB, watch.Spec{Action: watch.Start, Targets: targets.Targets{People: people}}, taskkit.System(), taskkit.WithSchema(s.schema))
		if err != nil {
			t.Fatal(err)
		}
		walk := s.submit(t)
		s.work(t, func(_ context.Context, b *taskkit.Batch[watchtask.Spec, watchtask.State]) (taskkit.Next, error) {
			if b.Task == walk && b.State.Cursor.After == uuid.Nil {
				b.State.Cursor.After = people[0]
				return taskkit.More, nil
			} else if b.Task == walk {
				return taskkit.More, taskkit.Permanent("broken", errors.New("broken"))
			}
			b.Limit = 1
			taken, next := taskkit.Take(b, b.Spec.Targets.People)
			if slices.Contains(taken, people[1]) {
				return taskkit.More, taskkit.Permanent("broken", errors.New("broken"))
			}
			return next, nil
		})
		expect(t, 3, "FAILURE", s.args("watch", listed.String())...)
		expect(t, 0, "", s.args("retry", listed.String(), "--skip", "--reason", "she has no address")...)
		expect(t, 0, "COMPLETED  3/3 (100%), failed 1", s.args("watch", listed.String())...)
		_, out, _ := ran(t, s.args("items", listed.String(), "--failed", "-o", "json")...)
		var items []taskkit.Item
		if err := json.Unmarshal([]byte(out), &items); err != nil || len(items) != 1 || items[0].Code != "skipped" || items[0].Position != 2 {
			t.Errorf("failed items %s (%v), want the second one, skipped", out, err)
		}
		expect(t, 0, "she has no address", s.args("show", listed.String())...)

		expect(t, 3, "FAILURE", s.args("watch", walk.String())...)
		expect(t, 2, "no item to skip", s.args("retry", walk.String(), "--skip")...)
		expect(t, 3, "FAILURE", s.args("watch", walk.String())...) // the retry that was refused has done nothing
	})
}
