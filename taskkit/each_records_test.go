package taskkit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// What f records in a call that is rolled back is undone: each item counts once.
func TestEachUndoesRecords(t *testing.T) {
	t.Parallel()
	spec := rowSpec{Items: 100, Bad: []int{0, 41, 42, 99}}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeRows(t, db)
		x := &funcs[rowSpec, rowState]{execute: func(ctx context.Context, b *rowBatch) (taskkit.Next, error) {
			return taskkit.Done, taskkit.Each(ctx, b, upTo(b.Spec.Items), func(ctx context.Context, items []int) error {
				b.Advance(len(items))
				b.Total(len(items))
				for _, i := range items {
					switch i % 10 {
					case 5:
						b.Fail(i, taskkit.Permanent("declined", nil))
					case 7:
						b.Skip(i, "not_needed")
					}
				}
				return insertRows(ctx, b, items)
			})
		}}
		task := ranRows(t, db, x, spec)
		// The bad items were never advanced over, since their calls were undone.
		if task.Status != taskkit.StatusCompleted || task.Progress.Failed != 14 || task.Progress.Skipped != 10 || task.Progress.Done != 100-4-14-10 {
			t.Errorf("ended in %s %q with %+v, want 14 failed, 10 skipped", task.Status, task.StatusDetail, task.Progress)
		}
		seen := make(map[string]string)
		for _, i := range listed(t, db, task.ID, taskkit.OutcomeFailed) {
			seen[i.Text()] = i.Code
		}
		for i := range 100 {
			want := ""
			switch {
			case slices.Contains(spec.Bad, i):
				want = "item_failed"
			case i%10 == 5:
				want = "declined"
			}
			if got := seen[fmt.Sprint(i)]; got != want {
				t.Errorf("item %d has failed with %q, want %q", i, got, want)
			}
		}
	})
}

// Take inside f gives each call the same elements, and those of a call that was
// rolled back are not counted twice.
func TestEachUndoesTake(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeRows(t, db)
		x := &funcs[rowSpec, rowState]{execute: func(ctx context.Context, b *rowBatch) (next taskkit.Next, err error) {
			err = taskkit.Each(ctx, b, []string{"a", "b"}, func(ctx context.Context, names []string) error {
				var items []int
				items, next = taskkit.Take(b, upTo(b.Spec.Items))
				if len(names) == 2 || names[0] == "a" {
					return taskkit.Permanent("not_a", nil)
				}
				return insertRows(ctx, b, items)
			})
			return next, err
		}}
		task := ranRows(t, db, x, rowSpec{Items: 10})
		if want := (taskkit.Progress{Total: 10, Done: 9, Failed: 1}); task.Progress != want || task.Status != taskkit.StatusCompleted {
			t.Errorf("ended in %s %q with %+v, want %+v", task.Status, task.StatusDetail, task.Progress, want)
		}
	})
}

// Each inside Each: an item of the outer call whose own rows are wrong is failed as
// a whole, with what the inner call had recorded for it undone, and the error of the
// inner call that concerns the batch is that of the outer one.
func TestEachNested(t *testing.T) {
	t.Parallel()
	spec := rowSpec{Items: 40, Bad: []int{3, 13, 14, 25}}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeRows(t, db)
		var transient atomic.Bool
		x := &funcs[rowSpec, rowState]{execute: func(ctx context.Context, b *rowBatch) (taskkit.Next, error) {
			tens, next := taskkit.Take(b, upTo(b.Spec.Items/10))
			return next, taskkit.Each(ctx, b, tens, func(ctx context.Context, tens []int) error {
				for _, ten := range tens {
					members := upTo(b.Spec.Items)[10*ten : 10*ten+10]
					if err := taskkit.Each(ctx, b, members, func(ctx context.Context, items []int) error {
						if err := insertRows(ctx, b, items); err != nil {
							return err
						}
						if ten == 2 && !transient.Swap(true) {
							return deadlock{}
						}
						return nil
					}); err != nil {
						return err
					}
					if ten == 1 {
						return taskkit.Permanent("no_group", nil)
					}
				}
				return nil
			})
		}}
		task := ranRows(t, db, x, spec)
		if task.Status != taskkit.StatusCompleted || task.Checkpoints != 1 || task.Progress.Failed != 3 {
			t.Fatalf("ended in %s %q with %+v", task.Status, task.StatusDetail, task.Progress)
		}
		var got []string
		for _, i := range listed(t, db, task.ID, taskkit.OutcomeFailed) {
			got = append(got, i.Text()+" "+i.Code)
		}
		// 3 and 25 are members; 1 is the group of 13 and 14. 25 is no element of the list
		// of Take and comes first; 1 and 3 are.
		if want := "25 item_failed, 1 no_group, 3 item_failed"; strings.Join(got, ", ") != want {
			t.Errorf("failures %v, want %s", got, want)
		}
		var rows, wrong int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*), count(CASE WHEN item / 10 = 1 THEN 1 END) FROM line").Scan(&rows, &wrong); err != nil || rows != 28 || wrong != 0 {
			t.Errorf("%d rows and %d of the failed group (%v), want 28 and 0", rows, wrong, err)
		}
	})
}

// Each works in every mode of pgx and through PgBouncer.
func TestEachConnections(t *testing.T) {
	t.Parallel()
	spec := rowSpec{Items: 500, Bad: []int{1, 250, 498}}
	open := map[string]func(t *testing.T) *testdb.DB{"PgBouncer": func(t *testing.T) *testdb.DB { return testdb.PgBouncer(t) }}
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		open[mode] = func(t *testing.T) *testdb.DB { return testdb.Postgres(t, testdb.ExecMode(mode)) }
	}
	for name, open := range open {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			makeRows(t, db)
			checkRows(t, db, ranRows(t, db, eachRow(insertRows), spec), spec, "item_failed", "positive")
		})
	}
}
