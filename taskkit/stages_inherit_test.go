package taskkit_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// What a composite task was submitted with reaches its stages, and the buckets of these: its limits, its window and the end of its time limit.
func TestStagesInherit(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "inherit_rows", 100)
		step := newKind[stepSpec, countState]("inherit_step", 10)
		parts := rowsKind("inherit_rows")
		composite := taskkit.NewKind(taskkind.Definition[familySpec, familyState, string]{Name: "inherit_all", Stages: true})
		var running, most atomic.Int32
		var reg taskkit.Registry
		work := func() {
			if n := running.Add(1); n > 1 {
				most.Store(n)
			}
			running.Add(-1)
		}
		taskkit.Register(&reg, step, &funcs[stepSpec, countState]{execute: func(_ context.Context, b *taskkit.Batch[stepSpec, countState]) (taskkit.Next, error) {
			work()
			if b.Spec.Name == "endless" {
				b.State.Next++
				b.Advance(1)
				return taskkit.More, nil
			}
			return taskkit.Done, nil
		}})
		taskkit.Register(&reg, parts, &rowsExecutor{table: "inherit_rows", before: func(context.Context, *rowsBatch) error { work(); return nil }})
		taskkit.Register(&reg, composite, &byName{step, parts})
		started(t, db, &reg, quick(t, db))

		id := submitted(t, db, composite, familySpec{Children: 3}, taskkit.WithLimit("inherited", 1))
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Progress.Done != 100 || most.Load() > 1 {
			t.Errorf("the composite with a limit of 1 ended in %s: %s, %+v, with %d batches at once", task.Status, task.StatusDetail, task.Progress, most.Load())
		}

		id = submitted(t, db, composite, familySpec{Children: 0}, taskkit.WithTimeLimit(300*time.Millisecond))
		if task := ended(t, db, id); task.Status != taskkit.StatusFailure || !strings.Contains(task.StatusDetail, "_exceeded") {
			t.Errorf("the composite with a time limit ended in %s: %s", task.Status, task.StatusDetail)
		}
		for _, child := range childrenOf(t, db, id) {
			if child.Status != taskkit.StatusFailure || !strings.HasPrefix(child.StatusDetail, "deadline_exceeded") {
				t.Errorf("its stage ended in %s: %s", child.Status, child.StatusDetail)
			}
		}

		// A window that is closed for hours keeps the composite from submitting a stage.
		hour := time.Now().UTC().Add(12 * time.Hour).Format("15:04")
		id = submitted(t, db, composite, familySpec{Children: 3}, taskkit.WithWindow(hour+"-"+time.Now().UTC().Add(13*time.Hour).Format("15:04")+" UTC"))
		until(t, "the composite waits for its window", func() bool { return strings.HasPrefix(mustTask(t, db, id).WaitingReason, "its window ") })
	})
}

// byName is a composite of steps and of buckets, or of an endless step.
type byName struct {
	step  *taskkit.Kind[stepSpec, countState, string]
	parts *taskkit.Kind[rowsSpec, rowsState, string]
}

func (x *byName) Stages(_ context.Context, b *familyBatch) ([]taskkit.Stage, error) {
	if b.Spec.Children == 0 {
		return []taskkit.Stage{taskkit.NewStage("endless", x.step, stepSpec{"endless"})}, nil
	}
	return []taskkit.Stage{
		taskkit.NewStage("a", x.step, stepSpec{"a"}), taskkit.NewStage("b", x.step, stepSpec{"b"}).After(),
		taskkit.NewStage("rows", x.parts, rowsSpec{Rows: 100, Buckets: 4}).After(),
	}, nil
}

func (*byName) Execute(context.Context, *familyBatch) (taskkit.Next, error) { return taskkit.Done, nil }
