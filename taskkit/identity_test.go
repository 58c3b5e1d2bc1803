package taskkit_test

import (
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// A worker that starts with the name of one that has ended, on the same machine, has
// another identity and is not mistaken for it.
func TestRestartUnderOneName(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		for range 2 {
			id := submitted(t, db, countKind, countSpec{Items: 10})
			stop := started(t, db, registered(countKind, counting("w")), quick(t, db))
			if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
				t.Errorf("ended in %s %q", task.Status, task.StatusDetail)
			}
			stop()
			checkTouched(t, db.DB, id, 10)
		}
	})
}
