package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// rangedSpec is a list of numbers, or none for a frozen set.
type rangedSpec struct {
	Numbers []int `json:"numbers"`
}

// rangedState counts what a task has processed.
type rangedState struct {
	Done  int `json:"done"`
	Parts int `json:"parts"`
}

// ranged processes numbers: those that end in 0 fail. It can be divided into ranges.
type ranged struct {
	mu     sync.Mutex
	seen   map[taskkit.ID][]int // by task, in the order of the batches
	defers bool
}

func (x *ranged) Execute(_ context.Context, b *taskkit.Batch[rangedSpec, rangedState]) (taskkit.Next, error) {
	numbers, next := taskkit.Take(b, b.Spec.Numbers)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, n := range numbers {
		switch {
		case n%10 == 0:
			b.Fail(n, taskkit.Permanent("round", errPlanned))
		case n%7 == 0 && x.defers && !slices.Contains(x.seen[b.Task], n):
			b.Defer(n, errPlanned)
		default:
			b.State.Done++
		}
	}
	x.seen[b.Task] = append(x.seen[b.Task], numbers...)
	b.State.Parts = 1
	return next, nil
}

func (*ranged) Merge(total *rangedState, part rangedState) error {
	total.Done += part.Done
	total.Parts += part.Parts
	return nil
}

func (*ranged) Report(_ context.Context, b *taskkit.Batch[rangedSpec, rangedState]) (string, error) {
	return fmt.Sprintf("%d done in %d parts", b.State.Done, b.State.Parts), nil
}

// A list and a frozen set are divided into ranges, which are executed side by side.
func TestMID37Ranges(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := taskkit.NewKind(taskkind.Definition[rangedSpec, rangedState, string]{
			Name: "ranged", BatchSize: 7, Merge: true, Targets: taskkind.TargetsIn("numbers", func(s *rangedSpec) *[]int { return &s.Numbers }),
		})
		x := &ranged{seen: map[taskkit.ID][]int{}}
		started(t, db, registered(k, x), quick(t, db))
		c := clientOf(db)
		numbers := make([]int, 5500)
		for i := range numbers {
			numbers[i] = i + 1
		}
		for name, test := range map[string]struct {
			n, parallel, parts int
			frozen             bool
		}{
			"list":           {500, 4, 16, false},
			"frozen set":     {5500, 3, 12, true},
			"whole pages":    {5500, 1, 3, true},
			"one at a time":  {100, 1, 4, false},
			"few":            {3, 8, 3, true},
			"more than each": {30, 8, 8, false},
		} {
			spec, opts := rangedSpec{numbers[:test.n]}, []taskkit.SubmitOption{taskkit.WithMaxParallel(test.parallel)}
			if test.frozen {
				spec, opts = rangedSpec{}, append(opts, taskkit.WithTargets(slices.Values(numbers[:test.n])))
			}
			id := submitted(t, db, k, spec, opts...)
			task := ended(t, db, id)
			failed := int64(test.n / 10)
			if want := (taskkit.Progress{Total: int64(test.n), Done: int64(test.n) - failed, Failed: failed}); task.Status != taskkit.StatusCompleted || task.Progress != want {
				t.Fatalf("%s: ended in %s: %s, %+v, want %+v", name, task.Status, task.StatusDetail, task.Progress, want)
			}
			got, err := taskkit.Fetch(t.Context(), c, k, id)
			if want := fmt.Sprintf("%d done in %d parts", int64(test.n)-failed, test.parts); err != nil || got != want {
				t.Errorf("%s: the result is %q (%v), want %q", name, got, err, want)
			}
			var seen []int
			for _, child := range childrenOf(t, db, id) {
				part := x.seen[child.ID]
				if len(part) == 0 || int64(part[0]) != child.First || int64(part[len(part)-1]) != child.Last || !slices.IsSorted(part) {
					t.Errorf("%s: the range from %d to %d has processed %v", name, child.First, child.Last, part)
				}
				seen = append(seen, part...)
			}
			slices.Sort(seen)
			if !slices.Equal(seen, numbers[:test.n]) {
				t.Errorf("%s: not each number was processed once: %d of %d", name, len(seen), test.n)
			}
			for outcome, want := range map[taskkit.Outcome]func(n int) bool{
				taskkit.OutcomeFailed:      func(n int) bool { return n%10 == 0 },
				taskkit.OutcomeSucceeded:   func(n int) bool { return n%10 != 0 },
				taskkit.OutcomeUnprocessed: func(int) bool { return false },
			} {
				var expected []int
				for n := 1; n <= test.n; n++ {
					if want(n) {
						expected = append(expected, n)
					}
				}
				var listed []int
				for _, i := range all(t, c.Items(t.Context(), id, outcome)) {
					listed = append(listed, int(i.Position))
					if string(i.Key) != fmt.Sprint(i.Position) {
						t.Errorf("%s: item %s has position %d", name, i.Key, i.Position)
					}
				}
				if !slices.Equal(listed, expected) {
					t.Errorf("%s, %s: %v, want %v", name, outcome, listed, expected)
				}
			}
		}
	})
}

// Deferred items of ranges are tried again in their range; failed and unprocessed items of a divided task are retried and
// continued like the items of any other task.
func TestMID37FollowRanges(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := taskkit.NewKind(taskkind.Definition[rangedSpec, rangedState, string]{
			Name: "ranged_follow", BatchSize: 5, MaxBatchSize: 5, Targets: taskkind.TargetsIn("numbers", func(s *rangedSpec) *[]int { return &s.Numbers }),
			Parallel: 3, Merge: true, DeferDelays: []time.Duration{time.Millisecond},
		})
		x := &ranged{seen: map[taskkit.ID][]int{}, defers: true}
		started(t, db, registered(k, x), quick(t, db))
		c := clientOf(db)
		numbers := make([]int, 300)
		for i := range numbers {
			numbers[i] = i + 1
		}
		id := submitted(t, db, k, rangedSpec{}, taskkit.WithTargets(slices.Values(numbers)))
		task := ended(t, db, id)
		if want := (taskkit.Progress{Total: 300, Done: 270, Failed: 30}); task.Status != taskkit.StatusCompleted || task.Progress != want || task.Children.Completed != 12 {
			t.Fatalf("ended in %s: %s, %+v, %+v", task.Status, task.StatusDetail, task.Progress, task.Children)
		}
		if err := c.CheckRetryFailed(t.Context(), id); err != nil {
			t.Errorf("the failed items cannot be retried: %v", err)
		}
		retry, err := c.RetryFailed(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, retry); task.Progress != (taskkit.Progress{Total: 30, Failed: 30}) {
			t.Errorf("the retry ended with %+v, %s: %s", task.Progress, task.Status, task.StatusDetail)
		}
		if got := textsOf(all(t, c.Items(t.Context(), retry, taskkit.OutcomeFailed))); len(got) != 30 || got[0] != "10" || got[29] != "300" {
			t.Errorf("the retry has the items %v", got)
		}

		// Stopped in the middle: what was not processed is continued.
		x.mu.Lock()
		x.defers = false
		x.mu.Unlock()
		id = submitted(t, db, k, rangedSpec{numbers}, taskkit.WithStopAfter("5"), taskkit.WithMaxParallel(2))
		until(t, "the task is paused", func() bool { return mustTask(t, db, id).Control == taskkit.ControlPause })
		if _, err := c.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		stopped := ended(t, db, id)
		left := all(t, c.Items(t.Context(), id, taskkit.OutcomeUnprocessed))
		if p := stopped.Progress; !stopped.Partial || int64(len(left)) != 300-p.Processed() || p.Failed < 5 {
			t.Fatalf("stopped with %+v, and %d items are unprocessed", p, len(left))
		}
		var paged []taskkit.Item
		for cursor := ""; ; {
			page, next, err := c.ItemsPage(t.Context(), id, taskkit.OutcomeUnprocessed, cursor, 7)
			if err != nil {
				t.Fatal(err)
			}
			paged = append(paged, page...)
			if cursor = next; next == "" {
				break
			}
		}
		if !slices.Equal(textsOf(paged), textsOf(left)) {
			t.Errorf("unprocessed in pages: %v, want %v", textsOf(paged), textsOf(left))
		}
		next, err := c.Continue(t.Context(), id, taskkit.WithStopAfter("100")) // else it stops as the other did
		if err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, next); task.Status != taskkit.StatusCompleted || task.Progress.Total != int64(len(left)) || task.Progress.Processed() != int64(len(left)) {
			t.Errorf("continued: %s: %s, %+v, want %d", task.Status, task.StatusDetail, task.Progress, len(left))
		}

		// What cannot be divided.
		for name, opts := range map[string][]taskkit.SubmitOption{
			"rate": {taskkit.WithMaxRate(5)}, "canary": {taskkit.WithCanary(5)},
		} {
			opts = append(opts, taskkit.WithMaxParallel(2), taskkit.System(), taskkit.WithSchema(schemaOf(db)))
			if _, err := taskkit.Submit(t.Context(), db.DB, k, rangedSpec{numbers}, opts...); !isOption(err, "WithMaxParallel") {
				t.Errorf("ranges with a %s: %v", name, err)
			}
		}
		if _, err := taskkit.Submit(t.Context(), db.DB, k, rangedSpec{}, taskkit.WithMaxParallel(2), taskkit.System(), taskkit.WithSchema(schemaOf(db))); !isOption(err, "WithMaxParallel") {
			t.Errorf("ranges without targets: %v", err)
		}
		whole := ended(t, db, submitted(t, db, k, rangedSpec{numbers[:30]}, taskkit.WithMaxRate(1000)))
		if whole.Children != nil || whole.Progress.Processed() != 30 {
			t.Errorf("a task with a rate: %+v, %+v", whole.Children, whole.Progress)
		}
	})
}

// rangedFinder finds the numbers to 5,500 in its search.
type rangedFinder struct{ *ranged }

func (rangedFinder) Targets(_ context.Context, b *taskkit.Batch[rangedSpec, rangedState]) (found []int, next taskkit.Next, err error) {
	for range min(b.Limit, 5500-b.State.Done) {
		b.State.Done++
		found = append(found, b.State.Done)
	}
	if b.State.Done == 5500 {
		next = taskkit.Done
	}
	return found, next, nil
}

// Targets that a task finds itself are divided when the search is done.
func TestMID37RangesOfASearch(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := taskkit.NewKind(taskkind.Definition[rangedSpec, rangedState, string]{
			Name: "ranged_found", BatchSize: 100, Parallel: 2, Merge: true,
			Targets: taskkit.TargetsFoundIn[rangedState]("numbers", func(s *rangedSpec) *[]int { return &s.Numbers }),
		})
		x := &ranged{seen: map[taskkit.ID][]int{}}
		id := submitted(t, db, k, rangedSpec{})
		started(t, db, registered(k, rangedFinder{x}), quick(t, db))
		task := ended(t, db, id)
		if want := (taskkit.Progress{Total: 5500, Done: 4950, Failed: 550}); task.Status != taskkit.StatusCompleted || task.Progress != want {
			t.Fatalf("ended in %s: %s, %+v, want %+v", task.Status, task.StatusDetail, task.Progress, want)
		}
		if got, err := taskkit.Fetch(t.Context(), clientOf(db), k, id); err != nil || got != "4950 done in 8 parts" {
			t.Errorf("the result is %q, %v", got, err)
		}
		if items := all(t, clientOf(db).Items(t.Context(), id, taskkit.OutcomeFailed)); len(items) != 550 || items[549].Position != 5500 {
			t.Errorf("%d items have failed", len(items))
		}
	})
}

func isOption(err error, option string) bool {
	e, ok := errors.AsType[*taskkit.OptionError](err)
	return ok && e.Option == option
}
