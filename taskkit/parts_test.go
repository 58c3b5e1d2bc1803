package taskkit_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// A bucket is not stopped alone. When the rest of it is left out for a reason, its task is done and partial, and
// names it.
func TestBucketLeftOut(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "left_rows", 1000)
		k := rowsKind("left_rows")
		held := make(chan struct{})
		var waiting atomic.Int32
		x := &rowsExecutor{table: "left_rows", before: func(ctx context.Context, b *rowsBatch) error {
			if b.State.After >= 500 { // in the third and the fourth bucket, after a batch
				waiting.Add(1)
				select {
				case <-held:
				case <-ctx.Done():
				}
			}
			return nil
		}}
		started(t, db, registered(k, x), quick(t, db))
		id := submitted(t, db, k, rowsSpec{Rows: 1000, Buckets: 4})
		c := clientOf(db)
		until(t, "two buckets are held", func() bool { return waiting.Load() == 2 })
		task, err := c.Task(t.Context(), id)
		if err != nil || task.Status != taskkit.StatusQueued || !task.Running() || task.Children.Running < 2 {
			t.Errorf("the task while two buckets are executed: %v, running %t, %+v, %v", task, task.Running(), task.Children, err)
		}
		third := childrenOf(t, db, id)[2]
		_, err = c.Stop(t.Context(), third.ID, taskkit.WithReason("why"))
		if refused, ok := errors.AsType[*taskkit.ChildError](err); !ok || refused.Reason != taskkit.PartOfParent || refused.Parent != id || refused.ID != third.ID {
			t.Errorf("stop of a bucket: %v", err)
		}
		refusals, err := c.Refusals(t.Context(), uuid.New(), mustTask(t, db, third.ID))
		if err != nil || refusals[third.ID].Stop == nil {
			t.Errorf("refusals of a bucket: %+v, %v", refusals[third.ID], err)
		}
		for name, f := range map[string]func() (*taskkit.Task, error){
			"without a reason": func() (*taskkit.Task, error) { return c.Stop(t.Context(), third.ID, taskkit.WithSkip()) },
			"of the task": func() (*taskkit.Task, error) {
				return c.Stop(t.Context(), id, taskkit.WithSkip(), taskkit.WithReason("why"))
			},
			"with pause": func() (*taskkit.Task, error) {
				return c.Pause(t.Context(), third.ID, taskkit.WithSkip(), taskkit.WithReason("why"))
			},
		} {
			_, err := f()
			if option, ok := errors.AsType[*taskkit.OptionError](err); !ok || option.Option != "WithSkip" {
				t.Errorf("leave out %s: %v", name, err)
			}
		}
		_, err = c.Change(t.Context(), third.ID, taskkit.Settings{StopAfter: "5%"})
		if option, ok := errors.AsType[*taskkit.OptionError](err); !ok || option.Option != "WithStopAfter" {
			t.Errorf("a limit of a bucket: %v", err)
		}
		if _, err := c.Stop(t.Context(), third.ID, taskkit.WithSkip(), taskkit.WithReason("its rows are broken"), taskkit.WithActor(uuid.New())); err != nil {
			t.Fatal(err)
		}
		close(held)
		done := ended(t, db, id)
		if done.Status != taskkit.StatusCompleted || !done.Partial || !strings.Contains(done.StatusDetail, "bucket 3 (task "+third.ID.String()+")") {
			t.Errorf("the task ended in %s, partial %t: %q", done.Status, done.Partial, done.StatusDetail)
		}
		if done.Progress.Done >= 1000 || done.Children.Stopped != 1 || done.Children.Completed != 3 {
			t.Errorf("its children: %+v, progress %+v", done.Children, done.Progress)
		}
		e, err := c.Explain(t.Context(), id)
		if err != nil || !strings.Contains(e.Text, "bucket 3") || strings.Contains(e.Text, "stopped") {
			t.Errorf("explained as %q, %v", e.Text, err)
		}
	})
}

// A stage is not stopped alone either. The stages after one that was left out run.
func TestStageLeftOut(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var ran atomic.Int32
		held := make(chan struct{})
		step := newKind[stepSpec, countState]("left_step", 10)
		composite := taskkit.NewKind(taskkind.Definition[familySpec, familyState, string]{Name: "left_all", BatchSize: 10, Stages: true})
		var reg taskkit.Registry
		taskkit.Register(&reg, step, &funcs[stepSpec, countState]{execute: func(ctx context.Context, b *taskkit.Batch[stepSpec, countState]) (taskkit.Next, error) {
			if ran.Add(1); b.Spec.Name != "c" {
				return taskkit.Done, nil
			}
			select {
			case <-held:
			case <-ctx.Done():
			}
			b.Advance(1)
			return taskkit.More, nil
		}})
		taskkit.Register(&reg, composite, &staged{step: step, ran: func(string) {}})
		started(t, db, &reg, quick(t, db))
		id := submitted(t, db, composite, familySpec{})
		c := clientOf(db)
		var stage taskkit.ID
		until(t, "stage c is executed", func() bool {
			for _, child := range childrenOf(t, db, id) {
				if child.Stage == "c" && child.Status == taskkit.StatusExecuting {
					stage = child.ID
				}
			}
			return stage != taskkit.ID{}
		})
		if _, err := c.Stop(t.Context(), stage); !isChildError(err, taskkit.PartOfParent) {
			t.Errorf("stop of a stage: %v", err)
		}
		if _, err := c.Stop(t.Context(), stage, taskkit.WithSkip(), taskkit.WithReason("not needed")); err != nil {
			t.Fatal(err)
		}
		close(held)
		done := ended(t, db, id)
		if done.Status != taskkit.StatusCompleted || !done.Partial || !strings.Contains(done.StatusDetail, "stage c (task "+stage.String()+")") || done.Children.Completed != 5 {
			t.Errorf("the composite ended in %s, partial %t: %q, %+v", done.Status, done.Partial, done.StatusDetail, done.Children)
		}
	})
}

func isChildError(err error, reason taskkit.ChildReason) bool {
	e, ok := errors.AsType[*taskkit.ChildError](err)
	return ok && e.Reason == reason
}

func mustTask(tb testing.TB, db *testdb.DB, id taskkit.ID) *taskkit.Task {
	tb.Helper()
	task, err := clientOf(db).Task(tb.Context(), id)
	if err != nil {
		tb.Fatal(err)
	}
	return task
}
