package taskkit_test

import (
	"context"
	"slices"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// An item has the same key whether it failed, succeeded or was not processed, however the
// text is escaped in JSON.
func TestItemsHaveTheSameKey(t *testing.T) {
	t.Parallel()
	names := []string{"<&>", "\u2028", "a\u2029\\", "\b\f\n\x01\x7f", `\u003c`, "é🙂", `"`}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := overKind[string]("same_key")
		id := submitted(t, db, k, overSpec[string]{Remark: "n"}, taskkit.WithTargets(slices.Values(names)))
		keys := func(id taskkit.ID, o taskkit.Outcome) (all []string) {
			for _, i := range listed(t, db, id, o) {
				all = append(all, string(i.Key))
			}
			return all
		}
		want := keys(id, taskkit.OutcomeUnprocessed)
		started(t, db, registered(k, &funcs[overSpec[string], countState]{execute: func(_ context.Context, b *taskkit.Batch[overSpec[string], countState]) (taskkit.Next, error) {
			items, next := taskkit.Take(b, b.Spec.Targets)
			for _, i := range items {
				if b.Task == id {
					b.Fail(i, errPlanned)
				}
			}
			return next, nil
		}}), quick(t, db))
		ended(t, db, id)
		failed := keys(id, taskkit.OutcomeFailed)
		retry, err := clientOf(db).RetryFailed(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		ended(t, db, retry)
		if succeeded := keys(retry, taskkit.OutcomeSucceeded); len(want) != len(names) || !slices.Equal(failed, want) || !slices.Equal(succeeded, want) {
			t.Errorf("the keys are\n%q before,\n%q of those that failed, and\n%q of those that succeeded", want, failed, succeeded)
		}
	})
}
