package taskkit_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
	"taskkit.dev/taskkit/taskkind"
)

// A stop policy counts the failed items of all buckets. It pauses the task with its buckets, which go on with a higher limit.
func TestStopAfterOverBuckets(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "policy_rows", 1000)
		k := taskkit.NewKind(taskkind.Definition[rowsSpec, rowsState, string]{Name: "policy_rows", BatchSize: 1, MaxBatchSize: 10, Segments: true, StopAfter: "90"})
		x := &sortedParts{table: "policy_rows"}
		started(t, db, registered(k, x), quick(t, db))
		c := clientOf(db)
		for name, test := range map[string]struct {
			opts           []taskkit.SubmitOption
			least, raised  int64
			higher, inside string
		}{
			"of the submission": {[]taskkit.SubmitOption{taskkit.WithStopAfter("20")}, 20, 60, "60", "20"},
			"of the kind":       {nil, 90, 100, "200", "90"},
		} {
			id := submitted(t, db, k, rowsSpec{Rows: 1000, Buckets: 8}, test.opts...)
			until(t, name+": the task is paused", func() bool { return mustTask(t, db, id).Control == taskkit.ControlPause })
			until(t, name+": no bucket runs", func() bool {
				for _, child := range childrenOf(t, db, id) {
					if child.Status == taskkit.StatusExecuting || child.Status == taskkit.StatusScheduling {
						return false
					}
				}
				return true
			})
			task := mustTask(t, db, id)
			// A batch of each bucket may have been in flight, or claimed with its bucket. One item of a batch fails.
			if f := task.Progress.Failed; f < test.least || f > test.least+8 || !strings.Contains(task.ControlReason, "the limit is "+test.inside) {
				t.Errorf("%s: paused with %d failed items: %s", name, f, task.ControlReason)
			}
			if cause := task.Cause(); cause != taskcause.StopPolicy {
				t.Errorf("%s: the cause is %s", name, cause)
			}
			_, err := c.Resume(t.Context(), id)
			if state, ok := errors.AsType[*taskkit.StateError](err); !ok || state.Condition != taskkit.ConditionLimitReached {
				t.Errorf("%s: resumed at the limit: %v", name, err)
			}
			refusals, err := c.Refusals(t.Context(), task.Owner, task)
			if err != nil || refusals[id].Resume == nil {
				t.Errorf("%s: a resume at the limit is offered: %v", name, err)
			}
			if _, err := c.Resume(t.Context(), id, taskkit.WithStopAfter(test.higher)); err != nil {
				t.Fatal(name, err)
			}
			if test.raised < 100 {
				until(t, name+": the task is paused again", func() bool {
					again := mustTask(t, db, id)
					return again.Control == taskkit.ControlPause && again.Progress.Failed >= test.raised
				})
				if _, err := c.Change(t.Context(), id, taskkit.Settings{StopAfter: "101"}); err != nil {
					t.Fatal(name, err)
				}
				if _, err := c.Resume(t.Context(), id); err != nil {
					t.Fatal(name, err)
				}
			}
			if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Partial || task.Progress != (taskkit.Progress{Total: -1, Done: 800, Failed: 100, Skipped: 100}) {
				t.Errorf("%s: ended in %s: %s, %+v", name, task.Status, task.StatusDetail, task.Progress)
			}
		}
	})
}

// A stop policy of a composite task counts the failed items of its stages, and of their buckets.
func TestStopAfterOverStages(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "policy_stages", 400)
		parts := taskkit.NewKind(taskkind.Definition[rowsSpec, rowsState, string]{Name: "policy_parts", BatchSize: 10, MaxBatchSize: 10, Segments: true})
		listed := taskkit.NewKind(taskkind.Definition[countSpec, countState, string]{Name: "policy_list", BatchSize: 5})
		composite := taskkit.NewKind(taskkind.Definition[familySpec, familyState, string]{Name: "policy_stages", Stages: true})
		var reg taskkit.Registry
		var failed atomic.Int32
		taskkit.Register(&reg, parts, &sortedParts{"policy_stages"})
		taskkit.Register(&reg, listed, &funcs[countSpec, countState]{execute: func(_ context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			_, next := taskkit.Take(b, make([]struct{}, b.Spec.Items))
			b.Fail(int(failed.Add(1)), taskkit.Permanent("planned", errPlanned))
			return next, nil
		}})
		taskkit.Register(&reg, composite, &stagesOf{[]taskkit.Stage{
			taskkit.NewStage("list", listed, countSpec{Items: 20}), taskkit.NewStage("rows", parts, rowsSpec{Rows: 400, Buckets: 4}),
		}})
		started(t, db, &reg, quick(t, db))
		id := submitted(t, db, composite, familySpec{}, taskkit.WithStopAfter("10"))
		until(t, "the composite is paused", func() bool { return mustTask(t, db, id).Control == taskkit.ControlPause })
		task := mustTask(t, db, id)
		if f := task.Progress.Failed; f < 10 || f > 14 {
			t.Errorf("paused with %d failed items, %d of the first stage: %s", f, failed.Load(), task.ControlReason)
		}
		if _, err := clientOf(db).Resume(t.Context(), id, taskkit.WithStopAfter("100")); err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Progress.Failed != 40+int64(failed.Load()) {
			t.Errorf("ended in %s: %s, %+v", task.Status, task.StatusDetail, task.Progress)
		}
	})
}
