package taskkit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
)

// predicatesExecutor is a rowsExecutor whose buckets are conditions.
type predicatesExecutor struct {
	*rowsExecutor
	predicates segment.Predicates
}

func (x predicatesExecutor) Segments(ctx context.Context, b *rowsBatch) (*segment.Plan, error) {
	return x.predicates.Prove(ctx, b.Tx)
}

func (x predicatesExecutor) Execute(ctx context.Context, b *rowsBatch) (taskkit.Next, error) {
	var err error
	if b.Segment, err = x.predicates.Find(b.Segment); err != nil {
		return taskkit.More, err
	}
	return x.rowsExecutor.Execute(ctx, b)
}

// A task whose segments are conditions is done by a bucket for each, also for a row that is
// inserted after the count.
func TestMID3PredicateBuckets(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "predicate_rows", 100)
		k := rowsKind("predicate_rows")
		x := predicatesExecutor{&rowsExecutor{table: "predicate_rows"}, segment.Predicates{
			Table: "predicate_rows",
			Segments: []segment.Segment{
				segment.Predicate("low", "n <= $1", segment.Int(30)),
				segment.Predicate("even", "n > $1 AND n % 2 = 0 AND n <= $2", segment.Int(30), segment.Int(1000)),
			},
			Rest: "others",
		}}
		inserted := false
		x.before = func(ctx context.Context, b *rowsBatch) error {
			if inserted {
				return nil
			}
			inserted = true // the buckets run one after another
			_, err := b.Tx.ExecContext(ctx, "INSERT INTO predicate_rows VALUES (1001), (102)")
			return err
		}
		started(t, db, registered(k, x), quick(t, db))
		id := submitted(t, db, k, rowsSpec{}, taskkit.WithMaxParallel(1))
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
			t.Fatalf("the task ended in %s: %s", task.Status, task.StatusDetail)
		}
		got, err := taskkit.Fetch(t.Context(), clientOf(db), k, id)
		if want := fmt.Sprintf("102 rows, sum %d, 3 buckets", 100*101/2+1001+102); err != nil || got != want {
			t.Errorf("the result is %q (%v), want %q", got, err, want)
		}
		children, err := clientOf(db).Children(t.Context(), id, taskkit.ID{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, c := range children {
			list = append(list, fmt.Sprintf("%d %s: %d", c.Bucket, c.Segment, c.Progress.Processed()))
		}
		want := "1 low: n <= 30: 30; 2 even: n > 30 AND n % 2 = 0 AND n <= 1000: 36; " +
			"3 others: (n <= 30) IS NOT TRUE AND (n > 30 AND n % 2 = 0 AND n <= 1000) IS NOT TRUE: 36"
		if got := strings.Join(list, "; "); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}

// Conditions that leave out rows, or overlap, end the task before its first bucket.
func TestMID23PredicateBucketsRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "uncovered_rows", 10)
		k := rowsKind("uncovered_rows")
		x := predicatesExecutor{&rowsExecutor{table: "uncovered_rows"}, segment.Predicates{
			Table: "uncovered_rows",
			Segments: []segment.Segment{
				segment.Predicate("low", "n <= $1", segment.Int(5)), segment.Predicate("middle", "n BETWEEN $1 AND $2", segment.Int(4), segment.Int(8)),
			},
		}}
		started(t, db, registered(k, x), quick(t, db))
		task := ended(t, db, submitted(t, db, k, rowsSpec{}))
		const want = "segments: segment: rows that meet none of the conditions: 2. Add a predicate, name a segment for them with Rest, or state with Partial that they are not meant; " +
			"rows that meet several conditions: 2 (low and middle: 2). Let one of them exclude the other"
		if task.Status != taskkit.StatusFailure || task.StatusDetail != want || task.Children != nil {
			t.Errorf("the task ended in %s (%s) with %+v\nwant %s", task.Status, task.StatusDetail, task.Children, want)
		}
	})
}
