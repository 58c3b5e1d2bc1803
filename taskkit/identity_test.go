package taskkit_test

import (
	"testing"

	"taskkit.dev/internal/testdb"
	"taskkit.dev/taskkit"
)

// A worker that starts where another has ended, with the same name on the same
// machine, is somebody else: it is not taken for the one that has left.
func TestRestartUnderOneName(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		migrated(t, db)
		makeTouch(t, db.DB)
		for range 2 {
			id := submitted(t, db, countKind, countSpec{Items: 10})
			stop := started(t, db, registered(countKind, counting("w")), quick(t, db))
			if task := ended(t, db, id); task.Status != taskkit.Completed {
				t.Errorf("ended in %s %q", task.Status, task.Desc)
			}
			stop()
			checkTouched(t, db.DB, id, 10)
		}
	})
}
