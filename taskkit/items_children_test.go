package taskkit_test

import (
	"context"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskkind"
)

// sortedParts records each row of its bucket: rows that end in 0 fail, those that end in 5 are skipped, and the others
// succeed.
type sortedParts struct{ table string }

func (*sortedParts) Segments(_ context.Context, b *rowsBatch) (*segment.Plan, error) {
	return segment.Numeric{To: big.NewInt(int64(b.Spec.Rows)), Count: b.Spec.Buckets}.Plan()
}

func (x *sortedParts) Execute(ctx context.Context, b *rowsBatch) (taskkit.Next, error) {
	where, args, err := b.Segment.SQL(dialectOf(b), "n", 3)
	if err != nil {
		return taskkit.More, err
	}
	rows, err := b.Tx.QueryContext(ctx, "SELECT n FROM "+x.table+" WHERE n > $1 AND "+where+" ORDER BY n LIMIT $2", append([]any{b.State.After, b.Limit}, args...)...)
	if err != nil {
		return taskkit.More, err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		if err := rows.Scan(&b.State.After); err != nil {
			return taskkit.More, err
		}
		switch b.State.After % 10 {
		case 0:
			b.Fail(b.State.After, taskkit.Permanent("round", errPlanned))
		case 5:
			b.Skip(b.State.After, "half")
		default:
			b.Succeed(b.State.After)
		}
	}
	if err := rows.Err(); err != nil || n == b.Limit {
		return taskkit.More, err
	}
	return taskkit.Done, nil
}

// The items of a task are those of its buckets and of its stages, in their order and page by page.
func TestItemsOfChildren(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "item_rows", 200)
		parts := taskkit.NewKind(taskkind.Definition[rowsSpec, rowsState, string]{Name: "item_parts", BatchSize: 7, Segments: true, Ledger: true})
		listed := taskkit.NewKind(taskkind.Definition[countSpec, countState, string]{Name: "item_list", BatchSize: 7})
		composite := taskkit.NewKind(taskkind.Definition[familySpec, familyState, string]{Name: "item_stages", Stages: true})
		var reg taskkit.Registry
		taskkit.Register(&reg, parts, &sortedParts{"item_rows"})
		taskkit.Register(&reg, listed, &funcs[countSpec, countState]{execute: func(_ context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			_, next := taskkit.Take(b, make([]struct{}, b.Spec.Items))
			if next == taskkit.Done {
				b.Fail("the last", taskkit.Permanent("last", errPlanned))
			}
			return next, nil
		}})
		taskkit.Register(&reg, composite, &stagesOf{[]taskkit.Stage{
			taskkit.NewStage("list", listed, countSpec{Items: 20}), taskkit.NewStage("rows", parts, rowsSpec{Rows: 200, Buckets: 3}),
		}})
		started(t, db, &reg, quick(t, db))
		c := clientOf(db)

		id := submitted(t, db, parts, rowsSpec{Rows: 200, Buckets: 16})
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Progress != (taskkit.Progress{Total: -1, Done: 160, Failed: 20, Skipped: 20}) {
			t.Fatalf("the task ended in %s: %s, %+v", task.Status, task.StatusDetail, task.Progress)
		}
		buckets := map[taskkit.ID]bool{}
		for _, child := range childrenOf(t, db, id) {
			buckets[child.ID] = true
		}
		for outcome, want := range map[taskkit.Outcome]func(n int) bool{
			taskkit.OutcomeFailed:      func(n int) bool { return n%10 == 0 },
			taskkit.OutcomeSkipped:     func(n int) bool { return n%10 == 5 },
			taskkit.OutcomeSucceeded:   func(n int) bool { return n%5 != 0 },
			taskkit.OutcomeDeferred:    func(int) bool { return false },
			taskkit.OutcomeUnprocessed: func(int) bool { return false },
		} {
			var expected []string
			for n := 1; n <= 200; n++ {
				if want(n) {
					expected = append(expected, fmt.Sprint(n))
				}
			}
			items := all(t, c.Items(t.Context(), id, outcome))
			if got := textsOf(items); !slices.Equal(got, expected) {
				t.Errorf("%s: %v, want %v", outcome, got, expected)
			}
			for _, i := range items {
				if !buckets[i.Task] || i.Stage != "" {
					t.Errorf("%s: item %s is of task %v and stage %q", outcome, i.Key, i.Task, i.Stage)
				}
			}
			for _, limit := range []int{1, 3, 1000} {
				var paged []taskkit.Item
				for cursor := ""; ; {
					page, next, err := c.ItemsPage(t.Context(), id, outcome, cursor, limit)
					if err != nil || len(page) > limit {
						t.Fatalf("%s: a page of %d: %d items, %v", outcome, limit, len(page), err)
					}
					paged = append(paged, page...)
					if cursor = next; next == "" {
						break
					}
				}
				if got := textsOf(paged); !slices.Equal(got, expected) {
					t.Errorf("%s in pages of %d: %v, want %v", outcome, limit, got, expected)
				}
			}
		}

		id = submitted(t, db, composite, familySpec{})
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Progress.Failed != 21 {
			t.Fatalf("the composite ended in %s: %s, %+v", task.Status, task.StatusDetail, task.Progress)
		}
		stages := map[string]int{}
		for _, i := range all(t, c.Items(t.Context(), id, taskkit.OutcomeFailed)) {
			stages[i.Stage]++
		}
		if len(stages) != 2 || stages["list"] != 1 || stages["rows"] != 20 {
			t.Errorf("failed items by stage: %v", stages)
		}
		page, next, err := c.ItemsPage(t.Context(), id, taskkit.OutcomeFailed, "", 5)
		if err != nil || len(page) != 5 || next == "" {
			t.Fatalf("the first page: %d items, next %q, %v", len(page), next, err)
		}
		rest, next, err := c.ItemsPage(t.Context(), id, taskkit.OutcomeFailed, next, 100)
		if err != nil || len(rest) != 16 || next != "" {
			t.Errorf("the second page: %d items, next %q, %v", len(rest), next, err)
		}
	})
}

// stagesOf is a composite of given stages.
type stagesOf struct{ stages []taskkit.Stage }

func (x *stagesOf) Stages(context.Context, *familyBatch) ([]taskkit.Stage, error) {
	return x.stages, nil
}

func (*stagesOf) Execute(context.Context, *familyBatch) (taskkit.Next, error) {
	return taskkit.Done, nil
}

// all returns the elements of a sequence without an error.
func all[T any](tb testing.TB, seq iter.Seq2[T, error]) (list []T) {
	tb.Helper()
	for v, err := range seq {
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

func textsOf(items []taskkit.Item) (keys []string) {
	for _, i := range items {
		keys = append(keys, string(i.Key))
	}
	return keys
}
