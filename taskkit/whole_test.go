package taskkit_test

import (
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskpolicy"
)

// The parts of a task that a policy has failed have failed with it, whether a worker had begun them or not. A retry of the task retries
// them, so that no item is left.
func TestRetryAfterAPolicyHasFailedParts(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := taskkit.NewKind(mixedKind("policy_retry"))
		config := quick(t, db)
		config.Slots = 2 // other parts wait
		started(t, db, registered(k, newMixed()), config)
		id := submitted(t, db, k, below(400), taskkit.WithMaxParallel(8),
			taskkit.WithPolicies(taskpolicy.Policy{When: when(taskpolicy.Failed, 4), Do: taskpolicy.Fail}))
		task := ended(t, db, id)
		if task.Status != taskkit.StatusFailure || task.Progress.Processed() == 400 {
			t.Fatalf("ended in %s: %s, %+v", task.Status, task.StatusDetail, task.Progress)
		}
		for _, child := range childrenOf(t, db, id) {
			if child.Status == taskkit.StatusCompleted && child.Partial {
				t.Errorf("items %d to %d were stopped: %s", child.First, child.Last, child.StatusDetail)
			}
		}
		if _, err := clientOf(db).Retry(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		task = ended(t, db, id)
		if task.Status != taskkit.StatusCompleted || task.Partial || task.Progress != (taskkit.Progress{Total: 400, Done: 320, Failed: 40, Skipped: 40}) {
			t.Errorf("after the retry it ended in %s: %s, partial %t, %+v", task.Status, task.StatusDetail, task.Partial, task.Progress)
		}
	})
}

// atEnd are the numbers below n, with the number that has trouble at this position, from 1.
func atEnd(n, position int) []int {
	numbers := below(n).Numbers
	numbers[trouble], numbers[position-1] = numbers[position-1], trouble
	return numbers
}

// A strategy that pauses or stops the task because of an item of a part pauses or stops the whole task, also when the item is in the last
// batch of the part.
func TestStrategyOfPartsIsForTheWholeTask(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		d := mixedKind("whole_strategy")
		d.BatchSize, d.MaxBatchSize = 5, 5
		k := taskkit.NewKind(d)
		started(t, db, registered(k, &troubled{err: taskkit.Permanent("odd", errPlanned), how: "fail"}), quick(t, db))
		c := clientOf(db)
		by := func(do taskpolicy.Reaction) taskkit.SubmitOption {
			return taskkit.WithStrategy(taskpolicy.Strategy{{Codes: []string{"odd"}, Do: do}})
		}
		for name, numbers := range map[string][]int{"in the first range": below(100).Numbers, "in the last batch of a range": atEnd(100, 25)} {
			id := submitted(t, db, k, numbersSpec{Numbers: numbers}, taskkit.WithMaxParallel(1), by(taskpolicy.PauseTask))
			until(t, name+": the task is paused", func() bool { return mustTask(t, db, id).Control == taskkit.ControlPause })
			if task := mustTask(t, db, id); !strings.HasPrefix(task.ControlReason, "strategy: pause_task: item 7 ") {
				t.Errorf("%s: %s", name, task.ControlReason)
			}
			if _, err := c.Resume(t.Context(), id); err != nil {
				t.Fatal(name, err)
			}
			if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Partial || task.Progress.Processed() != 100 {
				t.Errorf("%s: after the resume it ended in %s: %s, %+v", name, task.Status, task.StatusDetail, task.Progress)
			}
			id = submitted(t, db, k, numbersSpec{Numbers: numbers}, taskkit.WithMaxParallel(1), by(taskpolicy.StopTask))
			if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || !task.Partial || task.Progress.Processed() == 100 {
				t.Errorf("%s: stopped, it ended in %s: %s, partial %t, %+v", name, task.Status, task.StatusDetail, task.Partial, task.Progress)
			}
		}
	})
}

// A task that goes on without a part that has failed is not done: it ends partial, says which part it is, and can be continued. Its total
// is the total of all parts, also when it ends before all of them have begun.
func TestFailedPartsMakeTheTaskPartial(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		d := mixedKind("whole_partial")
		d.BatchSize, d.MaxBatchSize = 5, 5
		k := taskkit.NewKind(d)
		x := &troubled{err: taskkit.Permanent("odd", errPlanned), times: 1}
		started(t, db, registered(k, x), quick(t, db))
		id := submitted(t, db, k, below(100), taskkit.WithMaxParallel(2), taskkit.WithChildFailure(taskkit.ContinueParent))
		task := ended(t, db, id)
		if task.Status != taskkit.StatusCompleted || !task.Partial || task.Progress.Processed() == 100 || task.Progress.Total != 100 ||
			!strings.HasPrefix(task.StatusDetail, "left_out: the rest of items 1 to ") || !strings.Contains(task.StatusDetail, ", in FAILURE)") {
			t.Fatalf("ended in %s: %s, partial %t, %+v", task.Status, task.StatusDetail, task.Partial, task.Progress)
		}
		next, err := clientOf(db).Continue(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		rest := ended(t, db, next)
		if all := task.Progress.Done + rest.Progress.Done; rest.Status != taskkit.StatusCompleted || rest.Partial || all != 100 {
			t.Errorf("the task that continues it ended in %s: %s, and both have processed %d", rest.Status, rest.StatusDetail, all)
		}
		x.tries.Store(0)
		task = ended(t, db, submitted(t, db, k, below(400), taskkit.WithMaxParallel(2)))
		if task.Status != taskkit.StatusFailure || task.Progress.Total != 400 {
			t.Errorf("ended in %s: %s, %+v", task.Status, task.StatusDetail, task.Progress)
		}
	})
}

// A policy that is reached with the last items of a task does nothing, since nothing is left, whether the task is divided or not.
func TestPolicyReachedWithTheLastItems(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := taskkit.NewKind(mixedKind("policy_last"))
		started(t, db, registered(k, newMixed()), quick(t, db))
		for _, do := range []taskpolicy.Action{taskpolicy.Pause, taskpolicy.Stop, taskpolicy.Fail} {
			for shape, opts := range map[string][]taskkit.SubmitOption{"whole": nil, "ranges": {taskkit.WithMaxParallel(2)}} {
				policy := taskkit.WithPolicies(taskpolicy.Policy{When: taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Processed, AtLeast: 100}}, Do: do})
				task := ended(t, db, submitted(t, db, k, below(100), append(opts, policy)...))
				if task.Status != taskkit.StatusCompleted || task.Partial {
					t.Errorf("%s, %s: ended in %s: %s, partial %t", shape, do, task.Status, task.StatusDetail, task.Partial)
				}
			}
		}
	})
}
