package taskkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// followSpec has a list of targets, as elements that are larger than their keys.
type followSpec struct {
	Remark  string       `json:"remark"`
	Targets []followItem `json:"targets"`
}

type followItem struct {
	N    int    `json:"n"`
	Name string `json:"name"`
}

type followState struct {
	Seen int `json:"seen"`
}

var followKind = taskkit.NewKind(taskkind.Definition[followSpec, followState, string]{
	Name: "follow", BatchSize: 100, MaxBatchSize: 300,
	Targets: taskkind.TargetsIn("targets", func(s *followSpec) *[]followItem { return &s.Targets }),
})

// followItems are n targets, whose JSON has what must be escaped.
func followItems(n int) []followItem {
	items := make([]followItem, n)
	for i := range items {
		items[i] = followItemOf(i)
	}
	return items
}

func followItemOf(i int) followItem { return followItem{i, fmt.Sprintf(`<%d> "]},[{\ & é`, i)} }

// follower records outcomes as a function of the target says, and fails the task or
// stops it at one of them.
type follower struct {
	outcome func(n int) taskkit.Outcome
	at      func(ctx context.Context, b *taskkit.Batch[followSpec, followState]) error
	mu      sync.Mutex // tasks may run beside each other
	taken   []int
}

func (x *follower) Execute(ctx context.Context, b *taskkit.Batch[followSpec, followState]) (taskkit.Next, error) {
	items, next := taskkit.Take(b, b.Spec.Targets)
	if x.at != nil {
		if err := x.at(ctx, b); err != nil {
			return next, err
		}
	}
	for _, i := range items {
		switch x.outcome(i.N) {
		case taskkit.OutcomeFailed:
			b.Fail(i, taskkit.Permanent("odd", nil))
		case taskkit.OutcomeSkipped:
			b.Skip(i, "same")
		case taskkit.OutcomeSucceeded, taskkit.OutcomeUnprocessed, taskkit.OutcomeDeferred:
		}
		x.mu.Lock()
		x.taken = append(x.taken, i.N)
		x.mu.Unlock()
	}
	b.State.Seen += len(items)
	return next, nil
}

// byRest is the outcome of every 10th and every 7th target.
func byRest(n int) taskkit.Outcome {
	switch {
	case n%10 == 3:
		return taskkit.OutcomeFailed
	case n%7 == 0:
		return taskkit.OutcomeSkipped
	default:
		return taskkit.OutcomeSucceeded
	}
}

// submitFollow submits a task over n targets, from a list or from a frozen set.
func submitFollow(t *testing.T, db *testdb.DB, frozen bool, n int, opts ...taskkit.SubmitOption) taskkit.ID {
	t.Helper()
	spec := followSpec{Remark: "r", Targets: followItems(n)}
	if frozen {
		opts = append(opts, taskkit.WithTargets(slices.Values(spec.Targets)))
		spec.Targets = nil
	}
	return submitted(t, db, followKind, spec, opts...)
}

// itemNumbers are the numbers of the items with an outcome, in their order.
func itemNumbers(t *testing.T, db *testdb.DB, id taskkit.ID, o taskkit.Outcome) (numbers []int) {
	t.Helper()
	for _, i := range listed(t, db, id, o) {
		var item followItem
		decode(t, i.Key, &item)
		if want := followItemOf(item.N); item != want || i.Outcome != o {
			t.Fatalf("item %s is %s, want %+v as %s", i.Key, i.Outcome, want, o)
		}
		numbers = append(numbers, item.N)
	}
	return numbers
}

// numbersWith are the numbers from one to before another that have an outcome.
func numbersWith(from, to int, o taskkit.Outcome) (numbers []int) {
	for n := from; n < to; n++ {
		if byRest(n) == o {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// eachTargets runs a test on both databases, over a list and over a frozen set.
func eachTargets(t *testing.T, f func(t *testing.T, db *testdb.DB, frozen bool)) {
	t.Helper()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		for _, frozen := range []bool{false, true} {
			t.Run(map[bool]string{false: "list", true: "frozen"}[frozen], func(t *testing.T) { f(t, db, frozen) })
		}
	})
}

// The four outcomes of a task, each in the order of the set.
func TestItemsOfEveryOutcome(t *testing.T) {
	t.Parallel()
	eachTargets(t, func(t *testing.T, db *testdb.DB, frozen bool) {
		const n = 2345
		id := submitFollow(t, db, frozen, n)
		if got := itemNumbers(t, db, id, taskkit.OutcomeUnprocessed); len(got) != n || !slices.IsSorted(got) {
			t.Errorf("%d items are unprocessed before the run, want %d in their order", len(got), n)
		}
		stop := started(t, db, registered(followKind, &follower{outcome: byRest}), quick(t, db))
		ended(t, db, id)
		stop()
		for _, o := range []taskkit.Outcome{taskkit.OutcomeSucceeded, taskkit.OutcomeFailed, taskkit.OutcomeSkipped} {
			if got, want := itemNumbers(t, db, id, o), numbersWith(0, n, o); !slices.Equal(got, want) {
				t.Errorf("%s: %d items %v, want %d", o, len(got), head(got), len(want))
			}
		}
		if got := itemNumbers(t, db, id, taskkit.OutcomeUnprocessed); len(got) != 0 {
			t.Errorf("unprocessed at the end: %v", head(got))
		}
	})
}

// A retry has exactly the failed items, in their order, and all that is the task's.
func TestRetryFailed(t *testing.T) {
	t.Parallel()
	eachTargets(t, func(t *testing.T, db *testdb.DB, frozen bool) {
		const n = 3456
		owner, as, actor := uuid.New(), uuid.New(), uuid.New()
		id := submitFollow(t, db, frozen, n, taskkit.OwnedBy(owner), taskkit.RunAs(as), taskkit.WithPriority(taskkit.PriorityLow))
		stop := started(t, db, registered(followKind, &follower{outcome: byRest}), quick(t, db))
		ended(t, db, id)
		stop()
		c := clientOf(db)
		retry, err := c.RetryFailed(t.Context(), id, taskkit.WithActor(actor), taskkit.WithReason("once more"))
		if err != nil {
			t.Fatal(err)
		}
		task, err := taskkit.Get(t.Context(), c, followKind, retry)
		if err != nil {
			t.Fatal(err)
		}
		want := numbersWith(0, n, taskkit.OutcomeFailed)
		if task.Spec.Remark != "r" || len(task.Spec.Targets) != 0 || task.Task.Follows != id || task.Task.Owner != owner || task.Task.RunAs != as ||
			task.Task.CreatedBy != actor || task.Task.Priority != taskkit.PriorityLow || task.Task.Reason != "once more" || task.Task.Progress.Total != int64(len(want)) {
			t.Errorf("the retry is %+v", task)
		}
		if _, err := c.RetryFailed(t.Context(), id); !isDuplicateOf(err, retry) {
			t.Errorf("the second retry: %v, want a DuplicateError with the first", err)
		}
		x := &follower{outcome: func(n int) taskkit.Outcome {
			if n%20 == 3 {
				return taskkit.OutcomeFailed
			}
			return taskkit.OutcomeSucceeded
		}}
		stop = started(t, db, registered(followKind, x), quick(t, db))
		ended(t, db, retry)
		stop()
		if !slices.Equal(x.taken, want) {
			t.Errorf("the retry took %d items %v, want %d", len(x.taken), head(x.taken), len(want))
		}
		if got := itemNumbers(t, db, retry, taskkit.OutcomeFailed); len(got) != (len(want)+1)/2 {
			t.Errorf("%d items of the retry failed, want half of %d", len(got), len(want))
		}
		again, err := c.RetryFailed(t.Context(), retry)
		if err != nil {
			t.Fatal(err)
		}
		other, err := c.RetryFailed(t.Context(), id, taskkit.WithIdempotencyKey(fmt.Sprint("another ", frozen)), taskkit.OwnedBy(as))
		if err != nil {
			t.Fatal(err)
		}
		if got := itemNumbers(t, db, other, taskkit.OutcomeUnprocessed); !slices.Equal(got, want) {
			t.Errorf("another retry is over %d items, want %d", len(got), len(want))
		}
		if got := itemNumbers(t, db, again, taskkit.OutcomeUnprocessed); !slices.Equal(got, itemNumbers(t, db, retry, taskkit.OutcomeFailed)) {
			t.Errorf("a retry of the retry is over %v", head(got))
		}
		for _, left := range []taskkit.ID{again, other} { // the workers of the next subtest would take them
			if _, err := c.Delete(t.Context(), left); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A task that was stopped, or has failed, is continued where it ended: with its state,
// over the items that it has not processed.
func TestContinue(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end  func(ctx context.Context, c *taskkit.Client, id taskkit.ID) error
		want taskkit.Status
	}{
		"stopped": {want: taskkit.StatusCompleted, end: func(ctx context.Context, c *taskkit.Client, id taskkit.ID) error {
			_, err := c.Stop(ctx, id)
			return err
		}},
		"failed": {want: taskkit.StatusFailure, end: func(context.Context, *taskkit.Client, taskkit.ID) error {
			return taskkit.Permanent("broken", nil)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTargets(t, func(t *testing.T, db *testdb.DB, frozen bool) {
				const n, until = 2600, 1150
				c := clientOf(db)
				id := submitFollow(t, db, frozen, n, taskkit.WithUniqueKey(fmt.Sprint("one of ", frozen)))
				x := &follower{outcome: byRest, at: func(ctx context.Context, b *taskkit.Batch[followSpec, followState]) error {
					if b.State.Seen < until {
						return nil
					}
					return tc.end(ctx, c, b.Task)
				}}
				stop := started(t, db, registered(followKind, x), quick(t, db))
				first := ended(t, db, id)
				stop()
				if first.Status != tc.want {
					t.Fatalf("the first task ended as %s: %s", first.Status, first.StatusDetail)
				}
				next, err := c.Continue(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := c.Continue(t.Context(), id); !isDuplicateOf(err, next) {
					t.Errorf("the second continuation: %v, want a DuplicateError with the first", err)
				}
				if _, err := c.Retry(t.Context(), id); tc.want == taskkit.StatusFailure && !isDuplicateOf(err, next) {
					t.Errorf("retry of a task that is continued: %v, want a DuplicateError", err)
				}
				x.at, x.taken = nil, nil
				at := int(first.Progress.Processed())
				stop = started(t, db, registered(followKind, x), quick(t, db))
				second := ended(t, db, next)
				stop()
				got, err := taskkit.Get(t.Context(), c, followKind, next)
				if err != nil {
					t.Fatal(err)
				}
				if got.State.Seen != n || got.Task.Follows != id || len(got.Spec.Targets) != 0 {
					t.Errorf("the second task is %+v", got)
				}
				if second.Progress.Total != int64(n-at) || second.Progress.Processed() != int64(n-at) || len(x.taken) != n-at || x.taken[0] != at {
					t.Errorf("the second task has %+v and took %d items, want the %d from %d on", second.Progress, len(x.taken), n-at, at)
				}
				for _, o := range []taskkit.Outcome{taskkit.OutcomeSucceeded, taskkit.OutcomeFailed, taskkit.OutcomeSkipped} {
					if got, want := itemNumbers(t, db, id, o), numbersWith(0, at, o); !slices.Equal(got, want) {
						t.Errorf("%s in the first: %v, want %v", o, head(got), head(want))
					}
					if got, want := itemNumbers(t, db, next, o), numbersWith(at, n, o); !slices.Equal(got, want) {
						t.Errorf("%s in the second: %v, want %v", o, head(got), head(want))
					}
				}
			})
		})
	}
}

// What cannot be retried or continued is a typed error, and nothing is stored.
func TestFollowRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		c := clientOf(db)
		live := newKind[countSpec, countState]("live", 10)
		waits, walk, none := submitFollow(t, db, true, 10), submitted(t, db, live, countSpec{}), submitFollow(t, db, false, 10)
		if _, err := c.Pause(t.Context(), waits); err != nil {
			t.Fatal(err)
		}
		byID := &follower{outcome: func(int) taskkit.Outcome { return taskkit.OutcomeSucceeded }}
		var r taskkit.Registry
		taskkit.Register(&r, followKind, byID)
		taskkit.Register(&r, live, &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			b.Fail(1, errPlanned)
			b.Advance(2)
			return taskkit.Done, nil
		}})
		other := submitFollow(t, db, true, 10)
		byID.at = func(_ context.Context, b *taskkit.Batch[followSpec, followState]) error {
			if b.Task == other {
				b.Fail(b.Task, errPlanned)
			}
			return nil
		}
		stop := started(t, db, &r, quick(t, db))
		for _, id := range []taskkit.ID{walk, none, other} {
			ended(t, db, id)
		}
		stop()
		before, _, err := c.Counts(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		retry := func(id taskkit.ID, opts ...taskkit.SubmitOption) error {
			_, err := c.RetryFailed(t.Context(), id, opts...)
			return err
		}
		goOn := func(id taskkit.ID, opts ...taskkit.SubmitOption) error {
			_, err := c.Continue(t.Context(), id, opts...)
			return err
		}
		list := func(id taskkit.ID, o taskkit.Outcome) error {
			for _, err := range c.Items(t.Context(), id, o) {
				if err != nil {
					return err
				}
			}
			return nil
		}
		var (
			state *taskkit.StateError
			items *taskkit.ItemsError
			opt   *taskkit.OptionError
		)
		for name, tc := range map[string]struct {
			err  error
			as   any
			text string
		}{
			"retry of a paused task":      {retry(waits), &state, "stop it"},
			"retry of a live walk":        {retry(walk), &items, "targets=FIELD"},
			"retry without failed items":  {retry(none), &items, "no item failed"},
			"retry of unknown items":      {retry(other), &items, other.String()},
			"retry over others":           {retry(other, taskkit.WithTargets(slices.Values([]int{1}))), &opt, "WithTargets"},
			"retry with a reference":      {retry(other, taskkit.WithCoalescing("r")), &opt, "WithCoalescing"},
			"retry with another task":     {retry(other, taskkit.WithPredecessor(none)), &opt, "WithPredecessor"},
			"retry with a total":          {retry(other, taskkit.WithTotal(7)), &opt, "WithTotal"},
			"retry with a bad priority":   {retry(other, taskkit.WithPriority(9)), &opt, "WithPriority"},
			"continuing a paused task":    {goOn(waits), &state, "stopped"},
			"continuing a completed task": {goOn(none), &state, "stopped"},
			"succeeded of a live walk":    {list(walk, taskkit.OutcomeSucceeded), &items, "word ledger"},
			"unprocessed of a live walk":  {list(walk, taskkit.OutcomeUnprocessed), &items, "targets=FIELD"},
			"succeeded beside unknown":    {list(other, taskkit.OutcomeSucceeded), &items, other.String()},
		} {
			if !errors.As(tc.err, tc.as) || !strings.Contains(tc.err.Error(), tc.text) {
				t.Errorf("%s: %v, want a %s with %q", name, tc.err, reflect.TypeOf(tc.as).Elem(), tc.text)
			}
		}
		if err := retry(uuid.New()); !errors.Is(err, taskkit.ErrNotFound) {
			t.Errorf("retry of no task: %v", err)
		}
		if err := goOn(uuid.New()); !errors.Is(err, taskkit.ErrNotFound) {
			t.Errorf("continuing no task: %v", err)
		}
		if after, _, err := c.Counts(t.Context(), ""); err != nil || !reflect.DeepEqual(after, before) {
			t.Errorf("the tasks are %v (%v), want %v", after, err, before)
		}
	})
}

// isDuplicateOf reports whether an error says that a task has a key.
func isDuplicateOf(err error, id taskkit.ID) bool {
	dup, ok := errors.AsType[*taskkit.DuplicateError](err)
	return ok && dup.ID == id
}

// head is the beginning of numbers, for a message.
func head(numbers []int) []int { return numbers[:min(len(numbers), 20)] }

// decode decodes JSON.
func decode(tb testing.TB, raw []byte, v any) {
	tb.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		tb.Fatalf("decode %s: %v", raw, err)
	}
}
