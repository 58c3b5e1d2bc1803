package taskkit_test

import (
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
)

// A table that is renamed for a moment, as at a deployment, ends no task.
func TestWorkerSurvivesRenamedTable(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		rename := func(from, to string) {
			if _, err := db.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
				t.Error(err)
			}
		}
		rename("touch", "touch_old")
		failed := make(chan struct{}, 3)
		c := quick(t, db)
		c.Backoff, c.BackoffMax = time.Second, time.Second
		c.Observer = observerFunc(func(e taskevent.Event) {
			if _, ok := e.(taskevent.TaskRetried); ok {
				failed <- struct{}{}
			}
		})
		id := submitted(t, db, countKind, countSpec{Items: 3})
		started(t, db, registered(countKind, counting("w")), c)
		<-failed
		rename("touch_old", "touch")
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
			t.Fatalf("ended in %s: %s", task.Status, task.StatusDetail)
		}
		checkTouched(t, db.DB, id, 3)
	})
}
