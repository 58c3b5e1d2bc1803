package taskkit_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskkind"
)

// rowsSpec says how many rows the table has, and into how many buckets it is split.
type rowsSpec struct {
	Rows    int `json:"rows"`
	Buckets int `json:"buckets"`
}

// rowsState is what a bucket has counted, and after a merge what all have.
type rowsState struct {
	After   int   `json:"after"`
	Rows    int   `json:"rows"`
	Sum     int64 `json:"sum"`
	Buckets int   `json:"buckets"`
}

type rowsBatch = taskkit.Batch[rowsSpec, rowsState]

func rowsKind(name string) *taskkit.Kind[rowsSpec, rowsState, string] {
	return taskkit.NewKind(taskkind.Definition[rowsSpec, rowsState, string]{Name: name, BatchSize: 10, Segments: true})
}

// rowsExecutor adds up the rows of a table in buckets.
type rowsExecutor struct {
	table  string
	plan   func(b *rowsBatch) (*segment.Plan, error)
	before func(ctx context.Context, b *rowsBatch) error
	splits atomic.Int32
}

func (x *rowsExecutor) Segments(_ context.Context, b *rowsBatch) (*segment.Plan, error) {
	x.splits.Add(1)
	if x.plan != nil {
		return x.plan(b)
	}
	return segment.Numeric{To: big.NewInt(int64(b.Spec.Rows)), Count: b.Spec.Buckets}.Plan()
}

func (x *rowsExecutor) Execute(ctx context.Context, b *rowsBatch) (taskkit.Next, error) {
	if x.before != nil {
		if err := x.before(ctx, b); err != nil {
			return taskkit.More, err
		}
	}
	where, args, err := b.Segment.SQL(dialectOf(b), "n", 3)
	if err != nil {
		return taskkit.More, err
	}
	rows, err := b.Tx.QueryContext(ctx, "SELECT n FROM "+x.table+" WHERE n > $1 AND "+where+" ORDER BY n LIMIT $2",
		append([]any{b.State.After, b.Limit}, args...)...)
	if err != nil {
		return taskkit.More, err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		if err := rows.Scan(&b.State.After); err != nil {
			return taskkit.More, err
		}
		b.State.Sum += int64(b.State.After)
		n++
	}
	b.State.Rows += n
	b.State.Buckets = 1
	b.Advance(n)
	if err := rows.Err(); err != nil || n == b.Limit {
		return taskkit.More, err
	}
	return taskkit.Done, nil
}

func (x *rowsExecutor) Merge(total *rowsState, part rowsState) error {
	total.Rows += part.Rows
	total.Sum += part.Sum
	total.Buckets += part.Buckets
	return nil
}

func (x *rowsExecutor) Report(_ context.Context, b *rowsBatch) (string, error) {
	return fmt.Sprintf("%d rows, sum %d, %d buckets", b.State.Rows, b.State.Sum, b.State.Buckets), nil
}

func dialectOf(b *rowsBatch) string { return b.EntDriver().Dialect() }

// numberTable makes a table with the numbers from 1 to n.
func numberTable(tb testing.TB, db *testdb.DB, table string, n int) {
	tb.Helper()
	for _, q := range []string{
		"CREATE TABLE " + table + " (n integer PRIMARY KEY)",
		fmt.Sprintf("INSERT INTO %s WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d) SELECT i FROM c", table, n),
	} {
		if _, err := db.DB.ExecContext(tb.Context(), q); err != nil {
			tb.Fatal(err)
		}
	}
}

// A task with segments is done by buckets, side by side, whose states are merged.
func TestBuckets(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "bucket_rows", 2000)
		k, x := rowsKind("rows"), &rowsExecutor{table: "bucket_rows"}
		started(t, db, registered(k, x), quick(t, db))
		for _, buckets := range []int{1, 2, 16, 150} {
			id := submitted(t, db, k, rowsSpec{Rows: 2000, Buckets: buckets})
			if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
				t.Fatalf("%d buckets: the task ended in %s: %s", buckets, task.Status, task.StatusDetail)
			}
			got, err := taskkit.Fetch(t.Context(), clientOf(db), k, id)
			if want := fmt.Sprintf("2000 rows, sum %d, %d buckets", 2000*2001/2, buckets); err != nil || got != want {
				t.Errorf("%d buckets: the result is %q (%v), want %q", buckets, got, err, want)
			}
		}
		if n := x.splits.Load(); n != 4 {
			t.Errorf("Segments was called %d times for 4 tasks", n)
		}
	})
}

// A plan with a gap ends the task before its first bucket.
func TestBucketsIncomplete(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := rowsKind("gap")
		x := &rowsExecutor{table: "none", plan: func(*rowsBatch) (*segment.Plan, error) {
			return segment.Explicit{Segments: []segment.Segment{segment.Below(segment.Int(1)).OrNull(), segment.AtLeast(segment.Int(3))}}.Plan()
		}, before: func(context.Context, *rowsBatch) error { return errors.New("a bucket was executed") }}
		started(t, db, registered(k, x), quick(t, db))
		task := ended(t, db, submitted(t, db, k, rowsSpec{}))
		if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "segments: ") || !strings.Contains(task.StatusDetail, "1") || task.Children != nil {
			t.Errorf("the task ended in %s (%s) with %+v", task.Status, task.StatusDetail, task.Children)
		}
	})
}

// The report of the buckets has a line for each.
func TestWriteBuckets(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "report_rows", 100)
		k := rowsKind("report_rows")
		started(t, db, registered(k, &rowsExecutor{table: "report_rows"}), quick(t, db))
		id := submitted(t, db, k, rowsSpec{Rows: 100, Buckets: 4})
		ended(t, db, id)
		var text strings.Builder
		if err := clientOf(db).WriteBuckets(t.Context(), id, &text); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
		if err != nil || len(lines) != 5 {
			t.Fatalf("the report has %d lines (%v):\n%s", len(lines), err, text.String())
		}
		done := 0
		for i, l := range lines[1:] {
			n, _ := strconv.Atoi(l[6])
			if done += n; l[0] != strconv.Itoa(i+1) || l[3] != "COMPLETED" || l[12] == "" {
				t.Errorf("line %d: %q", i+1, l)
			}
		}
		if done != 100 || lines[2][2] != "from 25 to below 50" {
			t.Errorf("%d rows in all:\n%s", done, text.String())
		}
		var refused *taskkit.OptionError
		buckets, err := clientOf(db).Children(t.Context(), id, taskkit.ID{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := clientOf(db).WriteBuckets(t.Context(), buckets[0].ID, io.Discard); !errors.As(err, &refused) {
			t.Errorf("the report of a task without buckets: %v", err)
		}
		if err := clientOf(db).WriteBuckets(t.Context(), taskkit.ID{1}, io.Discard); !errors.Is(err, taskkit.ErrNotFound) {
			t.Errorf("the report of a task that does not exist: %v", err)
		}
	})
}

// WithMaxParallel bounds the buckets that are open at once, and can be changed meanwhile.
func TestMaxParallel(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "parallel_rows", 10)
		k := rowsKind("parallel_rows")
		var now, most atomic.Int32
		proceed := make(chan struct{})
		x := &rowsExecutor{table: "parallel_rows", before: func(ctx context.Context, _ *rowsBatch) error {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m; m = most.Load() {
				if most.CompareAndSwap(m, n) {
					break
				}
			}
			select {
			case <-proceed:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		c := quick(t, db)
		c.Slots = 8
		started(t, db, registered(k, x), c)
		id := submitted(t, db, k, rowsSpec{Rows: 10, Buckets: 10}, taskkit.WithMaxParallel(2))
		client := clientOf(db)
		until(t, "two buckets run", func() bool { return now.Load() == 2 })
		if n := len(childrenOf(t, db, id)); n != 2 {
			t.Errorf("%d buckets are open, want 2", n)
		}
		if _, err := client.Change(t.Context(), id, taskkit.Settings{MaxParallel: 6}); err != nil {
			t.Fatal(err)
		}
		until(t, "six buckets run", func() bool { return now.Load() == 6 })
		if n := len(childrenOf(t, db, id)); n != 6 {
			t.Errorf("%d buckets are open, want 6", n)
		}
		close(proceed)
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || most.Load() != 6 {
			t.Errorf("the task ended in %s, and %d buckets ran at once", task.Status, most.Load())
		}
		var option *taskkit.OptionError
		if _, err := client.Change(t.Context(), id, taskkit.Settings{MaxParallel: 0}); !errors.As(err, &option) {
			t.Errorf("no bucket at all: %v", err)
		}
		var state *taskkit.StateError
		if _, err := client.Change(t.Context(), id, taskkit.Settings{MaxParallel: 3}); !errors.As(err, &state) {
			t.Errorf("of a task that has ended: %v", err)
		}
		plain := newKind[countSpec, countState]("not_in_buckets", 10)
		lone := submitted(t, db, plain, countSpec{})
		if _, err := client.Change(t.Context(), lone, taskkit.Settings{MaxParallel: 3}); !errors.As(err, &option) {
			t.Errorf("of a task without buckets: %v", err)
		}
		for _, o := range []taskkit.SubmitOption{taskkit.WithMaxParallel(3), taskkit.WithChildFailure(taskkit.PauseParent)} {
			if _, err := taskkit.Submit(t.Context(), db.DB, plain, countSpec{}, taskkit.System(), taskkit.WithSchema(schemaOf(db)), o); !errors.As(err, &option) {
				t.Errorf("an option of a kind without buckets: %v", err)
			}
		}
		for range 20 { // the same of two is named each time
			_, err := taskkit.Submit(t.Context(), db.DB, plain, countSpec{}, taskkit.System(), taskkit.WithSchema(schemaOf(db)),
				taskkit.WithChildFailure(taskkit.PauseParent), taskkit.WithMaxParallel(3))
			if !errors.As(err, &option) || option.Option != "WithMaxParallel" {
				t.Fatalf("two options of a kind without buckets: %v, want MaxParallel named", err)
			}
		}
		for _, o := range []taskkit.SubmitOption{taskkit.WithMaxParallel(0), taskkit.WithChildFailure("explode")} {
			if _, err := taskkit.Submit(t.Context(), db.DB, k, rowsSpec{}, taskkit.System(), taskkit.WithSchema(schemaOf(db)), o); !errors.As(err, &option) {
				t.Errorf("a wrong option: %v", err)
			}
		}
	})
}

// A stopped task reports what its buckets had done.
func TestStoppedBucketsAreMerged(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "stopped_rows", 1000)
		k := rowsKind("stopped_rows")
		var calls atomic.Int32
		x := &rowsExecutor{table: "stopped_rows", before: func(context.Context, *rowsBatch) error {
			if calls.Add(1) > 20 { // until the stop
				return taskkit.RetryAfter(errPlanned, 10*time.Millisecond)
			}
			return nil
		}}
		c := quick(t, db)
		c.MaxAttempts = 1000
		started(t, db, registered(k, x), c)
		id := submitted(t, db, k, rowsSpec{Rows: 1000, Buckets: 4})
		until(t, "some rows are added up", func() bool { return calls.Load() > 20 })
		if _, err := clientOf(db).Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		task := ended(t, db, id)
		got, err := taskkit.Fetch(t.Context(), clientOf(db), k, id)
		if want := fmt.Sprintf("%d rows, ", task.Progress.Done); err != nil || !task.Partial || task.Progress.Done < 100 || !strings.HasPrefix(got, want) {
			t.Errorf("the stopped task has the result %q (%v) with %+v", got, err, task.Progress)
		}
	})
}
