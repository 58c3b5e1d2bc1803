package executors_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"
)

func TestWatchUnderFaults(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open func(testing.TB) *sql.DB) {
		tasktest.TestExecutor(t, tasktest.Case[watch.Spec, watch.State, struct{}]{
			Kind: watchtask.Kind, Open: open, Setup: setup, Limit: limit,
			New:  func(testing.TB, *sql.DB) taskkit.Executor[watch.Spec, watch.State] { return &watch.Executor{} },
			Spec: watch.Spec{Targets: everyone(), Action: watch.Start},
			Snapshot: func(ctx context.Context, db *sql.DB) (any, error) {
				return ledger(ctx, db)
			},
			Part: partOf,
		})
	})
}

func TestWatchAndUnwatch(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open0 func(testing.TB) *sql.DB) {
		db, c, people := filled(t, open0)
		me := uuid.New()
		run := func(action string, people []uuid.UUID) *tasktest.Outcome[watch.Spec, watch.State, struct{}] {
			return tasktest.Run(t, watchtask.Kind, &watch.Executor{}, watch.Spec{
				Targets: targets.Targets{People: people}, Action: action,
			}, tasktest.WithDB(db), tasktest.WithLimit(limit), tasktest.WithSubmitOptions(taskkit.OwnedBy(me)))
		}
		o := run(watch.Start, append([]uuid.UUID{uuid.New()}, people[:60]...))
		completed(t, o, 60, 1, 0)
		clean(t, c, caseload.ActionWatch, o.Task.ID, people[:60])
		if n := c.Watch.Query().FirstX(t.Context()).Watcher; n != me {
			t.Errorf("%v watches, want who asked, %v", n, me)
		}
		completed(t, run(watch.Start, people[:70]), 10, 0, 60)
		completed(t, run(watch.Stop, people), 70, 0, len(people)-70)
		completed(t, run(watch.Stop, people[:70]), 0, 0, 70)
	})
}

// A task over a query stores the people whom it has processed. A task over a list does not,
// since the positions show them.
func TestWatchLedger(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open0 func(testing.TB) *sql.DB) {
		db, _, people := filled(t, open0)
		me := uuid.New()
		run := func(to targets.Targets) (succeeded map[string]bool, stored int) {
			o := tasktest.Run(t, watchtask.Kind, &watch.Executor{}, watch.Spec{Targets: to, Action: watch.Start},
				tasktest.WithDB(db), tasktest.WithLimit(limit), tasktest.WithSubmitOptions(taskkit.OwnedBy(me)))
			succeeded = make(map[string]bool)
			for i, err := range o.Client.Items(t.Context(), o.Task.ID, taskkit.OutcomeSucceeded) {
				if err != nil {
					t.Fatal(err)
				}
				succeeded[i.Text()] = true
				if !i.Created.IsZero() {
					stored++
				}
			}
			if len(succeeded) != int(o.Task.Progress.Done) {
				t.Errorf("%d people, and %d were counted", len(succeeded), o.Task.Progress.Done)
			}
			return succeeded, stored
		}
		if listed, stored := run(targets.Targets{People: people[:30]}); len(listed) != 30 || stored != 0 {
			t.Errorf("%d people of a list of 30, %d stored", len(listed), stored)
		}
		chosen, stored := run(everyone())
		if len(chosen) != len(people)-30 || stored != len(chosen) || chosen[people[0].String()] || !chosen[people[30].String()] {
			t.Errorf("%d people of a query for %d, of whom 30 were watched; %d stored", len(chosen), len(people), stored)
		}
	})
}
