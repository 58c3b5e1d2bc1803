package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// errBusy is why an item is deferred.
var errBusy = taskkit.Permanent("busy", errors.New("asks to wait"))

// deferSpec is a list of numbers. Number n is deferred at its first tries: as often as
// 2 divides it, and for ever if it is 0.
type deferSpec struct {
	Numbers []int `json:"numbers,omitempty"`
}

// deferKind tries deferred items twice again, at once.
func deferKind(delays ...time.Duration) *taskkit.Kind[deferSpec, countState, string] {
	return taskkit.NewKind(taskkind.Definition[deferSpec, countState, string]{
		Name: "deferring", BatchSize: 70, MaxBatchSize: 70, DeferDelays: delays,
		Targets: taskkind.TargetsIn("numbers", func(s *deferSpec) *[]int { return &s.Numbers }),
	})
}

// deferring is an executor of deferKind. It records each try that was committed.
type deferring struct {
	mu    sync.Mutex
	tries map[int]int      // by number
	order map[int][]int    // numbers by the number of the try
	fail  map[[2]int]error // errors of batches, once each, by the try and the first number
}

func newDeferring() *deferring {
	return &deferring{tries: map[int]int{}, order: map[int][]int{}, fail: map[[2]int]error{}}
}

// busy reports how often a number is deferred.
func busy(n int) int {
	if n == 0 {
		return 1 << 30
	}
	times := 0
	for ; n%2 == 0; n /= 2 {
		times++
	}
	return times
}

func (x *deferring) Execute(_ context.Context, b *taskkit.Batch[deferSpec, countState]) (taskkit.Next, error) {
	numbers, next := taskkit.Take(b, b.Spec.Numbers)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, n := range numbers {
		if try := x.tries[n]; try < busy(n) {
			b.Defer(n, errBusy)
		}
	}
	if len(numbers) > 0 {
		at := [2]int{x.tries[numbers[0]], numbers[0]}
		if err := x.fail[at]; err != nil {
			delete(x.fail, at)
			return next, err
		}
	}
	for _, n := range numbers {
		x.order[x.tries[n]] = append(x.order[x.tries[n]], n)
		x.tries[n]++
	}
	return next, nil
}

// oneTo returns the numbers from 1 to n.
func oneTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// Deferred items are tried again after the pass, in the order of their positions, and
// nothing else is. Those that are deferred once too often fail with the last error.
// It is the same for a list and for a frozen set, and when batches of each pass fail.
func TestDeferredItemsAreTriedAgain(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		const n = 9500
		k := deferKind(time.Millisecond, time.Millisecond)
		for name, submit := range map[string]func() taskkit.ID{
			"list": func() taskkit.ID { return submitted(t, db, k, deferSpec{Numbers: oneTo(n)}) },
			"set": func() taskkit.ID {
				return submitted(t, db, k, deferSpec{}, taskkit.WithTargets(slices.Values(oneTo(n))))
			},
		} {
			x := newDeferring()
			for _, at := range [][2]int{{0, 1}, {0, 71}, {1, 2}, {2, 4}} {
				x.fail[at] = errPlanned
			}
			id := submit()
			stop := started(t, db, registered(k, x), quick(t, db))
			task := ended(t, db, id)
			stop()
			want := taskkit.Progress{Total: n, Done: n - n/8, Failed: n / 8}
			if task.Status != taskkit.StatusCompleted || task.Progress != want {
				t.Errorf("%s: %s %+v, want %+v: %s", name, task.Status, task.Progress, want, task.StatusDetail)
			}
			for try, every := range []int{1, 2, 4} {
				var all []int
				for i := every; i <= n; i += every {
					all = append(all, i)
				}
				if !slices.Equal(x.order[try], all) {
					t.Errorf("%s: try %d had %d items, want the %d that were deferred, in their order", name, try+1, len(x.order[try]), len(all))
				}
			}
			if len(x.order) != 3 || len(x.fail) > 1 {
				t.Errorf("%s: %d tries, and %d errors were not used", name, len(x.order), len(x.fail))
			}
			failed := listed(t, db, id, taskkit.OutcomeFailed)
			for i, item := range failed {
				if n := 8 * (i + 1); item.Text() != fmt.Sprint(n) || item.Position != int64(n) || item.Code != "busy" || item.Detail != "asks to wait" {
					t.Fatalf("%s: failed item %d is %+v", name, i, item)
				}
			}
			if left := listed(t, db, id, taskkit.OutcomeDeferred); len(failed) != n/8 || len(left) != 0 {
				t.Errorf("%s: %d failed and %d deferred items, want %d and none", name, len(failed), len(left), n/8)
			}
		}
	})
}

// Between the passes the task waits, says why, and counts deferred items as neither
// done nor failed. A stop then ends it, and they are unprocessed.
func TestDeferredItemsWait(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k, x := deferKind(7*time.Hour), newDeferring()
		started(t, db, registered(k, x), quick(t, db))
		id := submitted(t, db, k, deferSpec{Numbers: oneTo(10)})
		var task *taskkit.Task
		until(t, "waits for the second pass", func() bool {
			var err error
			task, err = clientOf(db).Task(t.Context(), id)
			return err == nil && task.Status == taskkit.StatusQueued && task.NotBefore.After(task.Created.Add(6*time.Hour))
		})
		if want := (taskkit.Progress{Total: 10, Done: 5}); task.Progress != want {
			t.Errorf("progress %+v, want %+v", task.Progress, want)
		}
		if why, err := clientOf(db).Explain(t.Context(), id); err != nil || !strings.Contains(why.Text, "tries its deferred items again: try 2 of 2") {
			t.Errorf("explained as %q, %v", why, err)
		}
		items := listed(t, db, id, taskkit.OutcomeDeferred)
		if len(items) != 5 || items[4].Text() != "10" || items[4].Position != 10 || items[4].Attempt != 1 || items[4].Code != "busy" {
			t.Errorf("deferred items %+v", items)
		}
		if _, err := clientOf(db).Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		task = ended(t, db, id)
		if want := (taskkit.Progress{Total: 10, Done: 5}); task.Status != taskkit.StatusCompleted || !task.Partial || task.Progress != want {
			t.Errorf("stopped as %s %+v", task.Status, task.Progress)
		}
		if left := listed(t, db, id, taskkit.OutcomeDeferred); len(left) != 5 {
			t.Errorf("%d deferred items after the stop, want 5", len(left))
		}
	})
}

// An executor that returns Done before it has taken all deferred items leaves them for
// the next pass. After the last one they have failed.
func TestDeferredItemsThatAreNotTaken(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := deferKind(time.Millisecond, time.Millisecond)
		passes := 0
		id := submitted(t, db, k, deferSpec{Numbers: oneTo(300)})
		x := &funcs[deferSpec, countState]{execute: func(_ context.Context, b *taskkit.Batch[deferSpec, countState]) (taskkit.Next, error) {
			if b.State.Next == 300 {
				passes++
				if passes == 1 {
					numbers, _ := taskkit.Take(b, b.Spec.Numbers)
					b.Skip(numbers[0], "enough")
				}
				return taskkit.Done, nil
			}
			numbers, _ := taskkit.Take(b, b.Spec.Numbers)
			for _, n := range numbers {
				b.Defer(n, nil)
			}
			if b.State.Next += len(numbers); b.State.Next == 300 {
				return taskkit.Done, nil
			}
			return taskkit.More, nil
		}}
		started(t, db, registered(k, x), quick(t, db))
		task := ended(t, db, id)
		want := taskkit.Progress{Total: 300, Done: 69, Failed: 230, Skipped: 1}
		if task.Status != taskkit.StatusCompleted || task.Progress != want || passes != 2 {
			t.Errorf("%s %+v after %d passes, want %+v: %s", task.Status, task.Progress, passes, want, task.StatusDetail)
		}
		failed := listed(t, db, id, taskkit.OutcomeFailed)
		if len(failed) != 230 || failed[0].Code != "deferred" || len(listed(t, db, id, taskkit.OutcomeDeferred)) != 0 {
			t.Errorf("%d failed items", len(failed))
		}
	})
}

// What Take has not returned cannot be tried again.
func TestDeferOfWhatWasNotTaken(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := deferKind(time.Millisecond)
		for name, execute := range map[string]func(b *taskkit.Batch[deferSpec, countState]){
			"walk": func(b *taskkit.Batch[deferSpec, countState]) { b.Defer(1, errBusy) },
			"other": func(b *taskkit.Batch[deferSpec, countState]) {
				taskkit.Take(b, b.Spec.Numbers)
				b.Defer("one", errBusy)
			},
		} {
			id := submitted(t, db, k, deferSpec{Numbers: oneTo(3)})
			stop := started(t, db, registered(k, &funcs[deferSpec, countState]{execute: func(_ context.Context, b *taskkit.Batch[deferSpec, countState]) (taskkit.Next, error) {
				execute(b)
				return taskkit.Done, nil
			}}), quick(t, db))
			task := ended(t, db, id)
			stop()
			if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "misuse: Defer was given an item that Take did not return") {
				t.Errorf("%s: %s %q", name, task.Status, task.StatusDetail)
			}
			if rows := listed(t, db, id, taskkit.OutcomeDeferred); len(rows) != 0 {
				t.Errorf("%s: %d deferred items", name, len(rows))
			}
		}
	})
}

// An operator's retry skips an item of a task that has deferred others: in its first round
// the item after the last checkpoint, later the next deferred item.
func TestRetrySkipsAfterDeferredItem(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		for name, tc := range map[string]struct {
			fails  [2]int // the try of a batch and its first number
			failed string // item and position of the one that is skipped
		}{
			"in the first round": {[2]int{0, 71}, "position 71 71"},
			"in a later round":   {[2]int{1, 2}, "2 2"},
		} {
			x := newDeferring()
			x.fail[tc.fails] = taskkit.Permanent("planned", errPlanned)
			k := deferKind(time.Millisecond, time.Millisecond)
			id := submitted(t, db, k, deferSpec{Numbers: oneTo(143)})
			stop := started(t, db, registered(k, x), quick(t, db))
			if task := ended(t, db, id); task.Status != taskkit.StatusFailure {
				t.Fatalf("%s: %s %q, want FAILURE", name, task.Status, task.StatusDetail)
			}
			if _, err := clientOf(db).Retry(t.Context(), id, taskkit.WithSkip()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			task := ended(t, db, id)
			stop()
			want := taskkit.Progress{Total: 143, Done: 143 - 143/8 - 1, Failed: 143/8 + 1}
			if task.Status != taskkit.StatusCompleted || task.Progress != want {
				t.Errorf("%s: %s %+v, want COMPLETED %+v: %s", name, task.Status, task.Progress, want, task.StatusDetail)
			}
			var skipped []string
			for _, i := range listed(t, db, id, taskkit.OutcomeFailed) {
				if i.Code == "skipped" {
					skipped = append(skipped, fmt.Sprint(i.Text(), " ", i.Position))
				}
			}
			if len(skipped) != 1 || skipped[0] != tc.failed || len(listed(t, db, id, taskkit.OutcomeDeferred)) != 0 {
				t.Errorf("%s: skipped %q, want %q", name, skipped, tc.failed)
			}
		}
	})
}
