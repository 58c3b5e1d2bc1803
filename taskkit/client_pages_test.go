package taskkit_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// A list that looks for tasks which are rare reads a part of the table at a time, and says where it goes on.
func TestTasksInParts(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		common, rare := newKind[countSpec, countState]("common", 10), newKind[countSpec, countState]("rare", 10)
		owner := uuid.New()
		options := []taskkit.SubmitOption{taskkit.OwnedBy(owner), taskkit.WithSchema(schemaOf(db))}
		want := []taskkit.ID{submitted(t, db, rare, countSpec{Items: 1}, options...)}
		for range 12 {
			if _, err := taskkit.SubmitMany(t.Context(), db.DB, common, make([]countSpec, 1000), options...); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, submitted(t, db, rare, countSpec{Items: 1}, options...))
		slices.Reverse(want)
		c := clientOf(db)
		for what, f := range map[string]taskkit.Filter{
			"kind":  {Kinds: []string{"rare"}},
			"owner": {Kinds: []string{"rare"}, Owner: owner},
		} {
			var got []taskkit.ID
			pages := 0
			for more := true; more; pages++ {
				page, next, err := c.Tasks(t.Context(), f)
				if err != nil {
					t.Fatal(err)
				}
				for _, task := range page {
					got = append(got, task.ID)
				}
				f.Before, more = next, next != taskkit.ID{}
			}
			if !slices.Equal(got, want) || pages != 2 {
				t.Errorf("by %s: %v in %d pages, want %v in 2", what, got, pages, want)
			}
		}
	})
}

// Filters that cannot be meant are refused; what no task has is found nowhere.
func TestBadFilters(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		c, k := clientOf(db), newKind[countSpec, countState]("count", 10)
		var ids []taskkit.ID
		for range 3 {
			ids = append(ids, submitted(t, db, k, countSpec{Items: 1}))
		}
		for _, limit := range []int{-1, 1001, 1_000_000_000, math.MinInt, math.MaxInt} {
			var option *taskkit.OptionError
			if _, _, err := c.Tasks(t.Context(), taskkit.Filter{Limit: limit}); !errors.As(err, &option) || option.Option != "Filter.Limit" {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
		var kinds []string
		for n := range 1000 {
			kinds = append(kinds, fmt.Sprint("kind", n))
		}
		for what, f := range map[string]taskkit.Filter{
			"1,000 kinds":      {Kinds: kinds},
			"another queue":    {Queue: "none"},
			"another owner":    {Owner: uuid.New()},
			"another parent":   {Parent: ids[0]},
			"before the first": {Before: taskkit.ID{1}},
		} {
			if page, next, err := c.Tasks(t.Context(), f); err != nil || len(page) != 0 || next != (taskkit.ID{}) {
				t.Errorf("%s: %d tasks, next %v, %v", what, len(page), next, err)
			}
		}
		// A cursor is a place in the order of all tasks, so it goes with another filter.
		_, next, err := c.Tasks(t.Context(), taskkit.Filter{Queue: "default", Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		page, _, err := c.Tasks(t.Context(), taskkit.Filter{Kinds: append(kinds, "count"), Before: next})
		if err != nil || len(page) != 2 || page[0].ID != ids[1] {
			t.Errorf("the cursor of another filter: %d tasks, %v", len(page), err)
		}
	})
}
