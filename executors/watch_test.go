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
