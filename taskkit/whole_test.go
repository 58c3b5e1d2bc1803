package taskkit_test

import (
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskpolicy"
)

// The parts of a task that a policy has failed have failed with it, whether a worker had begun them or not. A retry of the task retries
// them, so that no item is left.
func TestRetryAfterAPolicyHasFailedParts(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := taskkit.NewKind(mixedKind("policy_retry"))
		config := quick(t, db)
		config.Slots = 2 // other parts wait
		started(t, db, registered(k, newMixed()), config)
		id := submitted(t, db, k, below(400), taskkit.WithMaxParallel(8),
			taskkit.WithPolicies(taskpolicy.Policy{When: when(taskpolicy.Failed, 4), Do: taskpolicy.Fail}))
		task := ended(t, db, id)
		if task.Status != taskkit.StatusFailure || task.Progress.Processed() == 400 {
			t.Fatalf("ended in %s: %s, %+v", task.Status, task.StatusDetail, task.Progress)
		}
		for _, child := range childrenOf(t, db, id) {
			if child.Status == taskkit.StatusCompleted && child.Partial {
				t.Errorf("items %d to %d were stopped: %s", child.First, child.Last, child.StatusDetail)
			}
		}
		if _, err := clientOf(db).Retry(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		task = ended(t, db, id)
		if task.Status != taskkit.StatusCompleted || task.Partial || task.Progress != (taskkit.Progress{Total: 400, Done: 320, Failed: 40, Skipped: 40}) {
			t.Errorf("after the retry it ended in %s: %s, partial %t, %+v", task.Status, task.StatusDetail, task.Partial, task.Progress)
		}
	})
}
