package taskkit_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// What became of an item is listed across tasks: the newest first, by kind, bounded by number, by task and by age.
func TestMID44ItemHistory(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k, other := mailingKind("history"), mailingKind("history_other")
		var r taskkit.Registry
		taskkit.Register(&r, k, mailer{})
		taskkit.Register(&r, other, mailer{})
		started(t, db, &r, quick(t, db))
		c := clientOf(db)
		var ids []taskkit.ID
		for n := range 7 {
			opts := []taskkit.SubmitOption{}
			if n == 3 {
				opts = append(opts, taskkit.WithMaxParallel(2)) // the item is in a range
			}
			ids = append(ids, submitted(t, db, k, mailing{Numbers: []int{n * 3, 1, 2, n*3 + 3}}, opts...))
			ended(t, db, ids[n])
		}
		ended(t, db, submitted(t, db, other, mailing{Numbers: []int{1}}))
		slices.Reverse(ids)
		tops := func(items []taskkit.Item) (all []taskkit.ID) {
			for _, i := range items {
				task := mustTask(t, db, i.Task)
				if task.Parent != (taskkit.ID{}) {
					task = mustTask(t, db, task.Parent)
				}
				if all = append(all, task.ID); i.Text() != "1" || i.Outcome != taskkit.OutcomeFailed || i.Code != "full" || i.Created.IsZero() {
					t.Errorf("the record is %+v", i)
				}
			}
			return all
		}
		for name, tc := range map[string]struct {
			kind string
			b    taskkit.ItemBounds
			want []taskkit.ID
		}{
			"the defaults": {"history", taskkit.ItemBounds{}, ids[:5]},
			"all":          {"history", taskkit.ItemBounds{Records: 100}, ids},
			"an age":       {"history", taskkit.ItemBounds{Records: 2, Age: time.Hour}, ids[:2]},
			"too old":      {"history", taskkit.ItemBounds{Age: time.Nanosecond}, nil},
			"no such kind": {"history_none", taskkit.ItemBounds{}, nil},
		} {
			got, err := c.ItemHistory(t.Context(), tc.kind, 1, tc.b)
			if tasks := tops(got); err != nil || !slices.Equal(tasks, tc.want) {
				t.Errorf("%s: records of %v (%v), want %v", name, tasks, err, tc.want)
			}
		}
		if got, err := c.ItemHistory(t.Context(), "", 1, taskkit.ItemBounds{Records: 100}); err != nil || len(got) != 8 {
			t.Errorf("of all kinds: %d records (%v), want 8", len(got), err)
		}
		if got, err := c.ItemHistory(t.Context(), "", "1", taskkit.ItemBounds{}); err != nil || len(got) != 0 {
			t.Errorf("of a text: %d records (%v), want none", len(got), err)
		}
		for _, b := range []taskkit.ItemBounds{{Records: -1}, {Records: 1001}, {PerTask: -1}, {Age: -1}} {
			var opt *taskkit.OptionError
			if _, err := c.ItemHistory(t.Context(), "", 1, b); !errors.As(err, &opt) || !strings.HasPrefix(opt.Option, "ItemBounds.") {
				t.Errorf("%+v: %v", b, err)
			}
		}
	})
}

// A task with children has as many records of an item as a task without.
func TestMID44RecordsOfATask(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := mailingKind("history_ranges")
		started(t, db, registered(k, mailer{}), quick(t, db))
		c := clientOf(db)
		// A list may have an item more than once, and each range its own record of it.
		id := submitted(t, db, k, mailing{Numbers: slices.Repeat([]int{1}, 10)}, taskkit.WithMaxParallel(5))
		ended(t, db, id)
		for most, want := range map[int]int{0: 3, 1: 1, 1000: 5} {
			got, err := c.ItemHistory(t.Context(), "history_ranges", 1, taskkit.ItemBounds{PerTask: most})
			if err != nil || len(got) != want {
				t.Errorf("%d per task: %d records (%v), want %d: %s", most, len(got), err, want, fmt.Sprint(got))
			}
		}
	})
}
