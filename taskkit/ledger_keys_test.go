package taskkit_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// Whatever an item is, it is listed with the same key as succeeded, failed and skipped,
// also if a spec must not have it.
func TestLedgerKeys(t *testing.T) {
	t.Parallel()
	odd := []any{
		"nul \x00", "\xff", "\u2028 <&> \"' \\", "", nil, -0.5, 1e300, true, strings.Repeat("x", 2000), func() {},
		json.RawMessage(`{"a": 1, "a": 2}`), json.RawMessage(`"\ud800"`), json.RawMessage(strings.Repeat("[", 500) + strings.Repeat("]", 500)),
	}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newLedgerKind("odd_keys", 1, true)
		record := map[taskkit.Outcome]func(b *countBatch, item any){
			taskkit.OutcomeSucceeded: func(b *countBatch, item any) { b.Succeed(item) },
			taskkit.OutcomeFailed:    func(b *countBatch, item any) { b.Fail(item, errPlanned) },
			taskkit.OutcomeSkipped:   func(b *countBatch, item any) { b.Skip(item, "") },
		}
		outcomes := []taskkit.Outcome{taskkit.OutcomeSucceeded, taskkit.OutcomeFailed, taskkit.OutcomeSkipped}
		started(t, db, registered(k, walking(func(_ context.Context, b *countBatch, _ []int) error {
			for _, item := range odd {
				record[outcomes[b.Spec.Items-1]](b, item)
			}
			return nil
		})), quick(t, db))
		var want []string
		for n, o := range outcomes {
			// A spec of n + 1 items makes as many batches, each of which records all.
			id := submitted(t, db, k, countSpec{Items: n + 1})
			if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
				t.Fatalf("%s: %s: %s", o, task.Status, task.StatusDetail)
			}
			var got []string
			for _, i := range listed(t, db, id, o) {
				got = append(got, string(i.Key))
			}
			slices.Sort(got)
			if want == nil {
				want = got
			}
			if len(got) != len(odd) || !slices.Equal(got, want) {
				t.Errorf("%s: %d items %q, want %q", o, len(got), got, want)
			}
		}
	})
}
