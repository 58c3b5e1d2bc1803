package taskkit_test

import (
	"context"
	"slices"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// Lists by a reference or a unique key have all tasks that had it, also those that have ended, page by page, and what
// else is given selects among them.
func TestTasksByReferenceAndKey(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("count", 10)
		x := &funcs[countSpec, countState]{execute: func(context.Context, *countBatch) (taskkit.Next, error) { return taskkit.Done, nil }}
		started(t, db, registered[countSpec, countState](k, x), quick(t, db))
		c := clientOf(db)
		var want []taskkit.ID
		for range 3 {
			id := submitted(t, db, k, countSpec{Items: 1}, taskkit.WithCoalescing("r"), taskkit.WithUniqueKey("k"))
			ended(t, db, id)
			want = append(want, id)
		}
		ended(t, db, submitted(t, db, k, countSpec{Items: 1}, taskkit.WithCoalescing("other"), taskkit.WithUniqueKey("other")))
		slices.Reverse(want)
		for what, f := range map[string]taskkit.Filter{
			"reference":     {Reference: "r"},
			"key":           {UniqueKey: "k"},
			"both":          {Reference: "r", UniqueKey: "k"},
			"kind":          {Reference: "r", Kinds: []string{"count"}},
			"owner, status": {UniqueKey: "k", Owner: taskkit.SystemOwner, Statuses: []taskkit.Status{taskkit.StatusCompleted}, Queue: "default"},
		} {
			for _, limit := range []int{1, 2, 100} {
				var got []taskkit.ID
				for f.Limit, f.Before = limit, (taskkit.ID{}); ; f.Before = got[len(got)-1] {
					page, _, err := c.Tasks(t.Context(), f)
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					for _, task := range page {
						got = append(got, task.ID)
					}
					if len(page) < limit {
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("by %s, %d a page: %v, want %v", what, limit, got, want)
				}
			}
		}
		for what, f := range map[string]taskkit.Filter{
			"another reference":   {Reference: "none"},
			"another key":         {UniqueKey: "none"},
			"the key of another":  {Reference: "r", UniqueKey: "other"},
			"another kind":        {Reference: "r", Kinds: []string{"other"}},
			"another owner":       {UniqueKey: "k", Owner: taskkit.ID{1}},
			"another status":      {UniqueKey: "k", Statuses: []taskkit.Status{taskkit.StatusQueued}},
			"the key in capitals": {UniqueKey: "K"},
		} {
			if page, _, err := c.Tasks(t.Context(), f); err != nil || len(page) != 0 {
				t.Errorf("by %s: %d tasks, %v", what, len(page), err)
			}
		}
	})
}
