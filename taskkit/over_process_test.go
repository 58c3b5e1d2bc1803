package taskkit_test

import (
	"slices"
	"strconv"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// Workers that die in the middle of a frozen set are followed by others, which take
// every target once and skip the one that kills.
func TestOverIsTakenOver(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		const n, at = 1100, 1000
		names := make([]string, n)
		for i := range names {
			names[i] = strconv.Itoa(i)
		}
		names = slices.Insert(names, at, "poison")
		id := submitted(t, db, skippingOver, namesSpec{}, taskkit.WithTargets(slices.Values(names)))
		defer keepAlive(t, db, workerArgs{Name: "w"})()
		task := ended(t, db, id)
		if want := (taskkit.Progress{Total: n + 1, Done: n, Failed: 1}); task.Status != taskkit.StatusCompleted || task.Progress != want {
			t.Fatalf("%s %+v, want %+v: %s", task.Status, task.Progress, want, task.StatusDetail)
		}
		checkTouched(t, db.DB, id, n)
		failed := listed(t, db, id, taskkit.OutcomeFailed)
		if len(failed) != 1 || failed[0].Text() != "poison" || failed[0].Code != "poison" || failed[0].Position != at+1 {
			t.Errorf("failed items %+v", failed)
		}
	})
}
