package tasktest_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/taskops"
	"taskkit.dev/taskkit/tasktest"
)

var (
	stagedKind = taskkit.NewKind(taskkind.Definition[spec, state, struct{}]{Name: "greet_all", BatchSize: 2, Stages: true})
	parentKind = taskkit.NewKind(taskkind.Definition[spec, state, struct{}]{Name: "greet_by_child", BatchSize: 2, Children: true})
)

// delegates submits one child for all people, and waits for it.
type delegates struct{}

// Execute implements [taskkit.Executor].
func (delegates) Execute(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	if b.State.Greeted > 0 {
		return taskkit.Done, nil
	}
	b.State.Greeted = len(b.Spec.People)
	_, err := taskkit.Submit(ctx, b.Tx, kind, b.Spec, taskkit.WithParent(b.Task), taskkit.WithQueue("slow"))
	return taskkit.AwaitChildren(0, taskkit.FailParent), err
}

// Run runs a task with the kinds of its stages and children, in whatever queue they are. Without these
// kinds it fails at once, see the mistakes.
func TestRunWithKinds(t *testing.T) {
	t.Parallel()
	for name, open := range tasktest.Databases {
		for k, x := range map[*taskkit.Kind[spec, state, struct{}]]taskkit.Executor[spec, state]{stagedKind: staged{}, parentKind: delegates{}} {
			t.Run(name+"/"+k.Name(), func(t *testing.T) {
				t.Parallel()
				db := open(t)
				five := spec{People: []string{"Ada", "Emmy", "Kurt", "Paul", "Rosa"}}
				if err := setup(t.Context(), db); err != nil {
					t.Fatal(err)
				}
				out := tasktest.Run(t, k, x, five, tasktest.WithDB(db), tasktest.WithKind(kind, greeter{}))
				if out.Task.Status != taskkit.StatusCompleted || out.Task.Children == nil {
					t.Errorf("%s (%s) with the children %+v", out.Task.Status, out.Task.StatusDetail, out.Task.Children)
				}
				greeted, err := columnOf[string](t.Context(), db, "SELECT person FROM greeting ORDER BY person")
				if err != nil || !slices.Equal(greeted, five.People) {
					t.Errorf("greeted %q, %v", greeted, err)
				}
			})
		}
	}
}

// counted counts how many of its tasks execute at once: one, by its limit.
type counted struct {
	mu      sync.Mutex
	now     int
	highest int
}

// Limits implements [taskkit.Limiter].
func (*counted) Limits(taskkit.LimitedTask[spec]) map[string]int {
	return map[string]int{"greetings": 1}
}

// Execute implements [taskkit.Executor].
func (x *counted) Execute(_ context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if b.State.Greeted++; b.State.Greeted == 1 {
		x.now++
		x.highest = max(x.highest, x.now)
		return taskkit.More, nil
	}
	x.now--
	return taskkit.Done, nil
}

// A started worker runs the tasks of several kinds, those of schedules too, under their limits.
func TestStart(t *testing.T) {
	t.Parallel()
	for name, open := range tasktest.Databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), testdb.Patience(t))
			defer cancel()
			db, x := open(t), &counted{}
			if err := setup(ctx, db); err != nil {
				t.Fatal(err)
			}
			client := tasktest.Start(t, db, tasktest.WithKind(kind, greeter{}), tasktest.WithKind(plainKind, x))
			ids, err := taskkit.SubmitMany(ctx, db, plainKind, make([]spec, 3), taskkit.System(), taskkit.WithQueue("slow"))
			if err != nil {
				t.Fatal(err)
			}
			yearly := taskops.Schedule{Cron: "0 0 1 1 *"}
			if err := taskops.SetSchedule(ctx, db, kind, "greetings", spec{}, yearly); err != nil {
				t.Fatal(err)
			}
			scheduled, err := taskops.New(client).TriggerSchedule(ctx, "greetings")
			if err != nil {
				t.Fatal(err)
			}
			for scheduled.Triggered {
				if scheduled, err = taskops.New(client).Schedule(ctx, "greetings"); err != nil {
					t.Fatal(err)
				}
			}
			for _, id := range append(ids, scheduled.LastTask) {
				if got, err := client.Wait(ctx, id, nil); err != nil || got.Status != taskkit.StatusCompleted {
					t.Errorf("%v, %v", got, err)
				}
			}
			if x.highest != 1 {
				t.Errorf("%d tasks executed at once, want 1", x.highest)
			}
		})
	}
}
