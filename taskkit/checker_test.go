package taskkit_test

import (
	"context"
	"encoding/csv"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// checkedKind is a kind over numbers with a condition for them.
func checkedKind(parallel int) *taskkit.Kind[rangedSpec, rangedState, struct{}] {
	list := func(s *rangedSpec) *[]int { return &s.Numbers }
	return taskkit.NewKind(taskkind.Definition[rangedSpec, rangedState, struct{}]{
		Name: "checked", BatchSize: 7, Preview: true, Parallel: parallel,
		Targets: taskkit.TargetsFoundIn[rangedState]("numbers", list), CheckItems: taskkit.ItemsCheckedIn[rangedState](list),
	})
}

// checked skips the even numbers, counts those that end in 5, and in its first round defers 3.
type checked struct {
	mu        sync.Mutex
	processed []int
	empty     int          // batches without a number that succeeded
	before    func() error // each batch
}

func (x *checked) Targets(_ context.Context, _ *taskkit.Batch[rangedSpec, rangedState]) ([]int, taskkit.Next, error) {
	return upTo(100), taskkit.Done, nil
}

func (x *checked) CheckItems(ctx context.Context, b *taskkit.Batch[rangedSpec, rangedState], numbers []int) ([]taskkit.Processing, error) {
	rows, err := b.Tx.QueryContext(ctx, "SELECT 1") // it works in the transaction of the batch
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if err := rows.Err(); err != nil {
		return nil, err
	}
	decided := make([]taskkit.Processing, len(numbers))
	for i, n := range numbers {
		switch {
		case n%2 == 0:
			decided[i] = taskkit.Skip("even")
		case n%10 == 5:
			decided[i] = taskkit.CountOnly
		}
	}
	b.State.Parts++
	return decided, nil
}

func (x *checked) Execute(_ context.Context, b *taskkit.Batch[rangedSpec, rangedState]) (taskkit.Next, error) {
	numbers, next := taskkit.Take(b, b.Spec.Numbers)
	again, _ := taskkit.Take(b, b.Spec.Numbers)
	if !slices.Equal(numbers, again) {
		return next, taskkit.Permanent("differs", nil)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.before != nil {
		if err := x.before(); err != nil {
			return next, err
		}
	}
	if len(numbers) == 0 {
		x.empty++
	}
	for _, n := range numbers {
		if n == 3 && !slices.Contains(x.processed, 3) && !b.Preview {
			b.Defer(n, errPlanned)
		}
	}
	x.processed = append(x.processed, numbers...)
	b.State.Done += len(numbers)
	return next, nil
}

// Items that the condition of their kind leaves out never reach Execute, whatever the form of the task.
func TestMID42ConditionOfItems(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		x := &checked{}
		c := quick(t, db)
		started(t, db, registered(checkedKind(0), x), c)
		for name, test := range map[string]struct {
			list bool
			opts []taskkit.SubmitOption
		}{
			"list":       {true, nil},
			"found":      {false, nil},
			"frozen set": {false, []taskkit.SubmitOption{taskkit.WithTargets(slices.Values(upTo(100)))}},
			"preview":    {true, []taskkit.SubmitOption{taskkit.WithPreview()}},
			"ranges":     {false, []taskkit.SubmitOption{taskkit.WithTargets(slices.Values(upTo(100))), taskkit.WithMaxParallel(3)}},
		} {
			x.mu.Lock()
			x.processed = []int{3} // not deferred
			x.mu.Unlock()
			spec := rangedSpec{}
			if test.list {
				spec.Numbers = upTo(100)
			}
			task := ended(t, db, submitted(t, db, checkedKind(0), spec, test.opts...))
			if task.Status != taskkit.StatusCompleted || task.Partial || task.Progress.Skipped != 50 || task.Progress.Done != 50 || task.Progress.Failed != 0 {
				t.Errorf("%s: the task ended in %s (%s) with %+v", name, task.Status, task.StatusDetail, task.Progress)
			}
			x.mu.Lock()
			for _, n := range x.processed {
				if n%2 == 0 || n%10 == 5 {
					t.Errorf("%s: %d reached Execute", name, n)
				}
			}
			if len(x.processed) != 1+40 {
				t.Errorf("%s: %d numbers reached Execute, want 40: %v", name, len(x.processed)-1, x.processed)
			}
			x.mu.Unlock()
			skipped := listed(t, db, task.ID, taskkit.OutcomeSkipped)
			for i, item := range skipped {
				if item.Text() != strconv.Itoa(2*i) || item.Code != "even" || item.Position != int64(2*i+1) {
					t.Errorf("%s: item %d that was skipped is %+v", name, i, item)
				}
			}
			if done := listed(t, db, task.ID, taskkit.OutcomeSucceeded); len(skipped) != 50 || len(done) != 50 {
				t.Errorf("%s: %d items are listed as skipped and %d as succeeded", name, len(skipped), len(done))
			}
		}
	})
}

// The condition holds in later rounds and when a batch is tried again, and Execute is left out of batches without items.
func TestMID42ConditionIsTriedAgain(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var calls atomic.Int32
		x := &checked{before: func() error {
			if calls.Add(1)%2 == 1 {
				return errPlanned
			}
			return nil
		}}
		list := func(s *rangedSpec) *[]int { return &s.Numbers }
		k := taskkit.NewKind(taskkind.Definition[rangedSpec, rangedState, struct{}]{
			Name: "again", BatchSize: 7, MaxBatchSize: 7, DeferDelays: []time.Duration{time.Millisecond},
			Targets: taskkit.TargetsFoundIn[rangedState]("numbers", list), CheckItems: taskkit.ItemsCheckedIn[rangedState](list),
		})
		started(t, db, registered(k, x), quick(t, db))
		// Batches of even numbers, of others, and of even numbers.
		numbers := []int{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 1, 3, 5, 7, 9, 11, 13, 28, 30, 32, 34, 36, 38, 40, 42}
		task := ended(t, db, submitted(t, db, k, rangedSpec{numbers}))
		if task.Status != taskkit.StatusCompleted || task.Progress.Skipped != 22 || task.Progress.Done != 7 {
			t.Errorf("the task ended in %s (%s) with %+v", task.Status, task.StatusDetail, task.Progress)
		}
		// Each batch fails first, and the next ones have fewer. Of the last one nothing is left, and then 3 is tried again.
		if want := []int{1, 3, 7, 9, 11, 13, 3}; !slices.Equal(x.processed, want) || x.empty != 1 {
			t.Errorf("Execute had %v and %d batches without a number, want %v and 1", x.processed, x.empty, want)
		}
	})
}

// emptyBuckets leaves out the buckets that a condition rejects.
type emptyBuckets struct {
	rowsExecutor

	check func(ctx context.Context, b *rowsBatch) (taskkit.Processing, error)
}

func (x *emptyBuckets) CheckBucket(ctx context.Context, b *rowsBatch) (taskkit.Processing, error) {
	return x.check(ctx, b)
}

// No child is submitted for a bucket that the condition of its kind leaves out.
func TestMID42ConditionOfBuckets(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "checked_rows", 2000)
		if _, err := db.DB.ExecContext(t.Context(), "DELETE FROM checked_rows WHERE n >= 200"); err != nil {
			t.Fatal(err)
		}
		k := taskkit.NewKind(taskkind.Definition[rowsSpec, rowsState, string]{Name: "checked_rows", BatchSize: 10, Segments: true, CheckBucket: true})
		var failures atomic.Int32
		x := &emptyBuckets{rowsExecutor: rowsExecutor{table: "checked_rows"}}
		x.check = func(ctx context.Context, b *rowsBatch) (taskkit.Processing, error) {
			where, args, err := b.Segment.SQL(dialectOf(b), "n", 1)
			if err != nil {
				return taskkit.Process, err
			}
			rows, err := b.Tx.QueryContext(ctx, "SELECT min(n), max(n) FROM checked_rows WHERE "+where, args...)
			if err != nil {
				return taskkit.Process, err
			}
			defer rows.Close()
			var from, to *int
			for rows.Next() {
				if err := rows.Scan(&from, &to); err != nil {
					return taskkit.Process, err
				}
			}
			switch {
			case rows.Err() != nil:
				return taskkit.Process, rows.Err()
			case from == nil && failures.Add(1) == 30:
				return taskkit.Process, errPlanned // the batch is tried again
			case from == nil:
				return taskkit.Skip("no_rows"), nil
			case *from >= 100:
				return taskkit.CountOnly, nil
			}
			return taskkit.Process, nil
		}
		started(t, db, registered(k, x), quick(t, db))
		for _, opts := range [][]taskkit.SubmitOption{nil, {taskkit.WithMaxParallel(2)}} {
			id := submitted(t, db, k, rowsSpec{Rows: 2000, Buckets: 200}, opts...)
			task := ended(t, db, id)
			if task.Status != taskkit.StatusCompleted || task.Partial || task.Progress.Done != 99 || task.Progress.Skipped != 0 || task.Children == nil || task.Children.Completed != 10 {
				t.Fatalf("the task ended in %s (%s) with %+v and %+v", task.Status, task.StatusDetail, task.Progress, task.Children)
			}
			if got, err := taskkit.Fetch(t.Context(), clientOf(db), k, id); err != nil || got != "99 rows, sum 4950, 10 buckets" {
				t.Errorf("the result is %q (%v)", got, err)
			}
			skipped := listed(t, db, id, taskkit.OutcomeSkipped)
			if len(skipped) != 180 || skipped[0].Code != "no_rows" || skipped[0].Position != 21 {
				t.Errorf("%d buckets are listed as skipped", len(skipped))
			}
			var text strings.Builder
			if err := clientOf(db).WriteBuckets(t.Context(), id, &text); err != nil {
				t.Fatal(err)
			}
			lines, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
			if err != nil || len(lines) != 1+10+180 {
				t.Fatalf("the report has %d lines (%v)", len(lines), err)
			}
			if got := strings.Join(lines[11], ","); got != "21,,from 200 to below 210,SKIPPED,,,,,,,,,,no_rows" || lines[10][0] != "10" {
				t.Errorf("the line of the first bucket that was skipped is %q, after %q", got, lines[10])
			}
		}
		// Of another task no bucket is left.
		x.check = func(context.Context, *rowsBatch) (taskkit.Processing, error) { return taskkit.CountOnly, nil }
		task := ended(t, db, submitted(t, db, k, rowsSpec{Rows: 2000, Buckets: 200}))
		if task.Status != taskkit.StatusCompleted || task.Partial || task.Progress.Done != 0 {
			t.Errorf("the task without buckets ended in %s (%s) with %+v", task.Status, task.StatusDetail, task.Progress)
		}
	})
}

// A condition that its kind does not declare, or that has the wrong number of values, is an error.
func TestMID42ConditionIsDeclared(t *testing.T) {
	t.Parallel()
	list := func(s *rangedSpec) *[]int { return &s.Numbers }
	definition := taskkind.Definition[rangedSpec, rangedState, struct{}]{Name: "checked", Targets: taskkit.TargetsFoundIn[rangedState]("numbers", list)}
	var usage *taskkit.UsageError
	if err := registered(taskkit.NewKind(definition), &checked{}).Err(); !errors.As(err, &usage) || !strings.Contains(err.Error(), "CheckItems") {
		t.Errorf("a method that is not declared: %v", err)
	}
	if err := registered(checkedKind(0), &funcs[rangedSpec, rangedState]{}).Err(); !errors.As(err, &usage) || !strings.Contains(err.Error(), "CheckItems") {
		t.Errorf("a method that is missing: %v", err)
	}
	walks := taskkind.Definition[rangedSpec, rangedState, struct{}]{Name: "walks", CheckItems: taskkit.ItemsCheckedIn[rangedState](list)}
	for name, makes := range map[string]func(){
		"no Targets": func() { taskkit.NewKind(walks) },
		"no Segments": func() {
			taskkit.NewKind(taskkind.Definition[rangedSpec, rangedState, struct{}]{Name: "b", CheckBucket: true})
		},
	} {
		func() {
			defer func() {
				if r := recover(); r == nil {
					t.Errorf("%s: the kind was made", name)
				}
			}()
			makes()
		}()
	}
}
