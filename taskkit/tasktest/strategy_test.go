package tasktest_test

import (
	"context"
	"testing"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/taskpolicy"
	"taskkit.dev/taskkit/tasktest"
)

// Deferred items are tried again at once, however long their strategy waits.
func TestMID43RunDoesNotWait(t *testing.T) {
	t.Parallel()
	k := taskkit.NewKind(taskkind.Definition[spec, state, struct{}]{
		Name: "strategic", Strategy: taskpolicy.Strategy{{Codes: []string{"busy"}, Do: taskpolicy.DeferItem, First: time.Hour, Tries: 4}},
	})
	tries := map[string]int{}
	out := tasktest.Run(t, k, function(func(_ context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
		people, next := taskkit.Take(b, b.Spec.People)
		for _, p := range people {
			if tries[p]++; p == "Once" && tries[p] == 1 || p == "Forever" {
				b.Fail(p, taskkit.Permanent("busy", nil))
			}
		}
		return next, nil
	}), spec{People: []string{"Once", "Forever", "Never"}})
	if p := out.Task.Progress; p.Done != 2 || p.Failed != 1 || tries["Once"] != 2 || tries["Forever"] != 4 || tries["Never"] != 1 {
		t.Errorf("%+v after the tries %v", p, tries)
	}
}
