package taskkit_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// A child cannot be deleted while its parent counts on it: a stage would be done again, and
// the rows of a bucket would be left out.
func TestDeleteChild(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		f := newFamily("deleted", taskkit.FailParent, func(_ context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			if b.Spec.Items == 1 {
				return taskkit.Done, nil
			}
			return taskkit.Later(taskkit.Never), nil
		})
		started(t, db, &f.reg, quick(t, db))
		c := clientOf(db)
		id := submitted(t, db, f.parent, familySpec{Children: 2})
		until(t, "a child is complete", func() bool {
			n, err := c.CountChildren(t.Context(), id)
			return err == nil && n.Completed == 1
		})
		for _, child := range childrenOf(t, db, id) {
			var needed *taskkit.ChildError
			if _, err := c.Delete(t.Context(), child.ID); !errors.As(err, &needed) || needed.ID != child.ID || needed.Parent != id || needed.Reason != taskkit.NeededByParent {
				t.Errorf("the delete of a child that is %s: %v", child.Status, err)
			}
		}
		if n := len(childrenOf(t, db, id)); n != 2 {
			t.Fatalf("%d children are left", n)
		}
		if _, err := c.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		ended(t, db, id)
		for _, child := range childrenOf(t, db, id) {
			if _, err := c.Delete(t.Context(), child.ID); err != nil {
				t.Errorf("the delete of a child whose parent has ended: %v", err)
			}
		}
	})
}

// The result of a stopped task has what its buckets have done. It cannot be continued by another
// task, and neither can a bucket.
func TestStoppedBuckets(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "stopped_rows", 1000)
		var hold atomic.Bool
		x := &rowsExecutor{table: "stopped_rows"}
		x.before = func(_ context.Context, b *rowsBatch) error {
			if !b.Segment.HasNull() && hold.Load() { // all but the first bucket
				return taskkit.RetryAfter(errPlanned, 1<<40)
			}
			return nil
		}
		hold.Store(true)
		k := rowsKind("stopped_rows")
		started(t, db, registered(k, x), quick(t, db))
		c := clientOf(db)
		id := submitted(t, db, k, rowsSpec{Rows: 1000, Buckets: 10}, taskkit.WithMaxParallel(4))
		until(t, "a bucket is complete", func() bool {
			n, err := c.CountChildren(t.Context(), id)
			return err == nil && n.Completed == 1
		})
		if _, err := c.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		task := ended(t, db, id)
		result, err := taskkit.Fetch(t.Context(), c, k, id)
		if !task.Partial || err != nil || result != "99 rows, sum 4950, 1 buckets" {
			t.Errorf("stopped %+v: the result is %q (%v)", task, result, err)
		}
		for of, says := range map[taskkit.ID]string{id: "anew", childrenOf(t, db, id)[1].ID: "part of task"} {
			var items *taskkit.ItemsError
			if _, err := c.Continue(t.Context(), of); !errors.As(err, &items) || !strings.Contains(err.Error(), says) {
				t.Errorf("continued: %v", err)
			}
			if _, err := c.RetryFailed(t.Context(), of); !errors.As(err, &items) {
				t.Errorf("its failed items retried: %v", err)
			}
		}
		if _, err := taskkit.Submit(t.Context(), db.DB, k, rowsSpec{}, taskkit.System(), taskkit.WithSchema(schemaOf(db)), taskkit.WithCanary(3), taskkit.WithMaxParallel(2)); !isOption(err, "WithMaxParallel") {
			t.Errorf("a canary of a task with buckets, two at once: %v", err)
		}
	})
}

// failingMerge fails the merge of the second page once.
type failingMerge struct {
	*rowsExecutor

	merged atomic.Int32
}

func (x *failingMerge) Merge(total *rowsState, part rowsState) error {
	if x.merged.Add(1) == 130 {
		return taskkit.Permanent("planned", errPlanned)
	}
	return x.rowsExecutor.Merge(total, part)
}

// A bucket that is retried after a page of buckets was merged counts with its new state.
func TestMergeAfterRetry(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "merge_rows", 1500)
		var broken atomic.Bool
		broken.Store(true)
		x := &rowsExecutor{table: "merge_rows", before: func(_ context.Context, b *rowsBatch) error {
			if b.Segment.HasNull() && broken.Load() {
				return taskkit.Permanent("planned", errPlanned)
			}
			return nil
		}}
		k := rowsKind("merge_rows")
		started(t, db, registered(k, &failingMerge{rowsExecutor: x}), quick(t, db))
		id := submitted(t, db, k, rowsSpec{Rows: 1500, Buckets: 150}, taskkit.WithChildFailure(taskkit.ContinueParent))
		if task := ended(t, db, id); task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "planned") {
			t.Fatalf("the task ended in %s: %s", task.Status, task.StatusDetail)
		}
		broken.Store(false)
		if _, err := clientOf(db).Retry(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		task := ended(t, db, id)
		got, err := taskkit.Fetch(t.Context(), clientOf(db), k, id)
		if err != nil || got != "1500 rows, sum 1125750, 150 buckets" || task.Children.Completed != 150 {
			t.Errorf("the result is %q (%v), %+v", got, err, task.Children)
		}
	})
}

// Children of a batch that is rolled back do not exist, and neither do those of b.Try.
func TestChildrenRolledBack(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		child, parent := newKind[countSpec, countState]("undone_child", 10), familyKind("undone")
		var (
			reg   taskkit.Registry
			tries atomic.Int32
		)
		taskkit.Register(&reg, child, &funcs[countSpec, countState]{execute: doneAtOnce})
		taskkit.Register(&reg, parent, &funcs[familySpec, familyState]{execute: func(ctx context.Context, b *familyBatch) (taskkit.Next, error) {
			if b.State.Submitted {
				return taskkit.Done, nil
			}
			submit := func() error {
				_, err := taskkit.SubmitMany(ctx, b.Tx, child, make([]countSpec, 3), taskkit.WithParent(b.Task))
				return err
			}
			if err := b.Try(ctx, func() error { return errors.Join(submit(), errPlanned) }); !errors.Is(err, errPlanned) {
				return taskkit.Done, taskkit.Permanent("undone", err)
			}
			if b.Spec.Children == 0 {
				return taskkit.Done, nil
			}
			if err := submit(); err != nil || tries.Add(1) == 1 {
				return taskkit.AwaitChildren(0, taskkit.FailParent), errors.Join(err, errPlanned)
			}
			b.State.Submitted = true
			return taskkit.AwaitChildren(0, taskkit.FailParent), nil
		}})
		started(t, db, &reg, quick(t, db))
		task := ended(t, db, submitted(t, db, parent, familySpec{Children: 0}))
		if task.Status != taskkit.StatusCompleted || task.Children != nil {
			t.Errorf("all children undone: %s (%s) %+v", task.Status, task.StatusDetail, task.Children)
		}
		task = ended(t, db, submitted(t, db, parent, familySpec{Children: 3}))
		if task.Status != taskkit.StatusCompleted || task.Children == nil || task.Children.Completed != 3 {
			t.Errorf("after a batch that failed once: %s (%s) %+v", task.Status, task.StatusDetail, task.Children)
		}
	})
}

// A predicate that cannot be built does not become right by waiting.
func TestSegmentPredicate(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := rowsKind("predicate")
		x := &rowsExecutor{table: "none", before: func(_ context.Context, b *rowsBatch) error {
			_, _, err := b.Segment.SQL("oracle", "n", 1)
			return err
		}}
		started(t, db, registered(k, x), quick(t, db))
		task := ended(t, db, submitted(t, db, k, rowsSpec{Rows: 10, Buckets: 1}))
		if task.Status != taskkit.StatusFailure || !strings.Contains(task.StatusDetail, "segments: ") {
			t.Errorf("the task ended in %s (%s)", task.Status, task.StatusDetail)
		}
	})
}

// Retention leaves the complete children of a parent that has failed, so that a retry does not
// do their work again.
func TestRetentionOfFailedParent(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var (
			broken atomic.Bool
			runs   atomic.Int32
		)
		broken.Store(true)
		child, plain := newKind[countSpec, countState]("kept_child", 10), newKind[countSpec, countState]("swept", 10)
		reg := registered(plain, &funcs[countSpec, countState]{execute: doneAtOnce})
		taskkit.Register(reg, child, &funcs[countSpec, countState]{execute: func(_ context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			if runs.Add(1); b.Spec.Items == 2 && broken.Load() {
				return taskkit.Done, taskkit.Permanent("planned", errPlanned)
			}
			return taskkit.Done, nil
		}})
		composite := taskkit.NewKind(taskkind.Definition[familySpec, familyState, string]{Name: "failed_parent", BatchSize: 10, Stages: true, Children: true})
		x := &listedStages{}
		x.set([]taskkit.Stage{taskkit.NewStage("one", child, countSpec{Items: 1}), taskkit.NewStage("two", child, countSpec{Items: 2})})
		taskkit.Register(reg, composite, x)
		c := quick(t, db)
		c.Retention = taskkit.Retention{Ended: time.Millisecond}
		c.KindRetention = map[string]taskkit.Retention{"failed_parent": {Ended: taskkit.Never}}
		started(t, db, reg, taskkit.CleanEvery(c, 10*time.Millisecond))
		id := submitted(t, db, composite, familySpec{})
		if task := ended(t, db, id); task.Status != taskkit.StatusFailure {
			t.Fatalf("the task ended in %s: %s", task.Status, task.StatusDetail)
		}
		for range 3 { // the cleaner has run
			other := submitted(t, db, plain, countSpec{})
			until(t, "another task is removed", func() bool {
				_, err := clientOf(db).Task(t.Context(), other)
				return errors.Is(err, taskkit.ErrNotFound)
			})
		}
		broken.Store(false)
		if _, err := clientOf(db).Retry(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || runs.Load() != 3 {
			t.Errorf("the task ended in %s (%s), and the stages ran %d times, want 3", task.Status, task.StatusDetail, runs.Load())
		}
	})
}

// A parent that is paused because a child has failed does not pause the others.
func TestPauseParentLeavesOthers(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var passes atomic.Int32
		f := newFamily("others", taskkit.PauseParent, func(_ context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			switch {
			case b.Spec.Items == 1:
				return taskkit.Done, taskkit.Permanent("planned", errPlanned)
			case passes.Load() > 0:
				return taskkit.Done, nil
			}
			return taskkit.Later(10 * time.Millisecond), nil
		})
		reg := &f.reg
		started(t, db, reg, quick(t, db))
		id := submitted(t, db, f.parent, familySpec{Children: 4})
		c := clientOf(db)
		until(t, "the parent is paused", func() bool {
			task, err := c.Task(t.Context(), id)
			return err == nil && task.Control == taskkit.ControlPause
		})
		started(t, db, reg, quick(t, db)) // its reaper begins with a pass
		for range 20 {
			held := submitted(t, db, f.child, countSpec{Items: 1})
			ended(t, db, held)
		}
		passes.Store(1)
		until(t, "the others are complete", func() bool {
			n, err := c.CountChildren(t.Context(), id)
			return err == nil && n.Completed == 3
		})
	})
}
