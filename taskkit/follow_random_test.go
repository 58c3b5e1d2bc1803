package taskkit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// Whatever becomes of a task and of those that are made from it, by stops, failures,
// retries and continuations in any order, each item of a set has exactly one outcome in
// the task whose set it is in, and those of a new task are exactly the failed or the
// unprocessed items of the one that it follows.
func TestItemsAreASetAfterAnything(t *testing.T) {
	t.Parallel()
	eachTargets(t, func(t *testing.T, db *testdb.DB, frozen bool) {
		for seed := range uint64(3) {
			followRandomly(t, db, frozen, seed)
		}
	})
}

func followRandomly(t *testing.T, db *testdb.DB, frozen bool, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a test
	c, n := clientOf(db), 900+random.IntN(1500)
	id := submitFollow(t, db, frozen, n)
	want := numbersFrom(n)
	for round := range 5 {
		odd, until, stops := 2+random.IntN(9), random.IntN(len(want)+1), random.IntN(2) == 0
		var seen atomic.Int64 // that of a seed before may run beside this one
		x := &follower{
			outcome: func(n int) taskkit.Outcome {
				return map[int]taskkit.Outcome{0: taskkit.OutcomeFailed, 1: taskkit.OutcomeSkipped}[n%odd]
			},
			at: func(ctx context.Context, b *taskkit.Batch[followSpec, followState]) error {
				if seen.Add(int64(b.Limit)) < int64(until) {
					return nil
				}
				if !stops {
					return taskkit.Permanent("broken", nil) // the batch is not committed
				}
				_, err := c.Stop(ctx, b.Task)
				return err
			},
		}
		stop := started(t, db, registered(followKind, x), quick(t, db))
		task := ended(t, db, id)
		stop()
		by := make(map[taskkit.Outcome][]int)
		var all []int
		for _, o := range []taskkit.Outcome{taskkit.OutcomeSucceeded, taskkit.OutcomeFailed, taskkit.OutcomeSkipped, taskkit.OutcomeUnprocessed} {
			by[o] = itemNumbers(t, db, id, o)
			all = append(all, by[o]...)
		}
		slices.Sort(all)
		what := fmt.Sprintf("seed %d, round %d, %s", seed, round, task.Status)
		if !slices.Equal(all, want) {
			t.Fatalf("%s: the outcomes are of %d items, want each of %d once", what, len(all), len(want))
		}
		p := task.Progress
		if p.Done != int64(len(by[taskkit.OutcomeSucceeded])) || p.Failed != int64(len(by[taskkit.OutcomeFailed])) || p.Skipped != int64(len(by[taskkit.OutcomeSkipped])) {
			t.Fatalf("%s: counters %+v, items %d %d %d", what, p, len(by[taskkit.OutcomeSucceeded]), len(by[taskkit.OutcomeFailed]), len(by[taskkit.OutcomeSkipped]))
		}
		next, from := c.RetryFailed, by[taskkit.OutcomeFailed]
		if rest := by[taskkit.OutcomeUnprocessed]; len(rest) > 0 && (len(from) == 0 || random.IntN(2) == 0) {
			next, from = c.Continue, rest
		}
		if len(from) == 0 {
			return
		}
		var err error
		if id, err = next(t.Context(), id); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		want = from
	}
}

// numbersFrom are the numbers from 0 to before n.
func numbersFrom(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
