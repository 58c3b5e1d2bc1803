package executors_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/executors/programstatus"
	"taskkit.dev/executors/targets"
	"taskkit.dev/gen/programstatustask"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent/enrolment"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"
)

func TestProgramStatusUnderFaults(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open func(testing.TB) *sql.DB) {
		tasktest.TestExecutor(t, tasktest.Case[programstatus.Spec, programstatus.State, struct{}]{
			Kind: programstatustask.Kind, Open: open, Setup: setup, Limit: limit,
			New: func(testing.TB, *sql.DB) taskkit.Executor[programstatus.Spec, programstatus.State] {
				return &programstatus.Executor{}
			},
			Spec: programstatus.Spec{Targets: everyone(), Program: caseload.Success, Status: caseload.Paused},
			Snapshot: func(ctx context.Context, db *sql.DB) (any, error) {
				return ledger(ctx, db)
			},
			Part: partOf,
		})
	})
}

// TestProgramStatusOfOwnFilter sets the column by which the query filters: people leave
// the query with every batch, and nobody may be skipped.
func TestProgramStatusOfOwnFilter(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open0 func(testing.TB) *sql.DB) {
		db, c, _ := filled(t, open0)
		query := caseload.Query{Program: caseload.Success, Status: caseload.Active}
		active, err := caseload.People(t.Context(), c, query, uuid.Nil, uuid.Nil, population)
		if err != nil {
			t.Fatal(err)
		}
		o := tasktest.Run(t, programstatustask.Kind, &programstatus.Executor{}, programstatus.Spec{
			Targets: targets.Targets{Query: &targets.Query{Program: query.Program, Status: query.Status}},
			Program: caseload.Success, Status: caseload.Exited,
		}, tasktest.WithDB(db), tasktest.WithLimit(7))
		completed(t, o, len(active), 0, 0)
		clean(t, c, caseload.ActionStatus, o.Task.ID, active)
		if o.State.Changed != len(active) {
			t.Errorf("state counts %d changes, want %d", o.State.Changed, len(active))
		}
		if n := c.Enrolment.Query().Where(enrolment.ProgramID(caseload.Success), enrolment.Status(caseload.Active)).CountX(t.Context()); n != 0 {
			t.Errorf("%d are still active", n)
		}
	})
}

func TestProgramStatusByID(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open0 func(testing.TB) *sql.DB) {
		db, c, people := filled(t, open0)
		already := c.Enrolment.Query().Where(enrolment.ProgramID(caseload.Success), enrolment.Status(caseload.Exited),
			enrolment.PersonIDIn(people[:50]...)).CountX(t.Context())
		stranger := uuid.New()
		o := tasktest.Run(t, programstatustask.Kind, &programstatus.Executor{}, programstatus.Spec{
			Targets: targets.Targets{People: append([]uuid.UUID{stranger}, people[:50]...)},
			Program: caseload.Success, Status: caseload.Exited,
		}, tasktest.WithDB(db), tasktest.WithLimit(20))
		completed(t, o, 50-already, 1, already)
		clean(t, c, caseload.ActionStatus, o.Task.ID, people[:50])
		if len(o.Failed) != 1 || o.Failed[0].Text() != stranger.String() || o.Failed[0].Code != "not_enrolled" {
			t.Errorf("failed items %+v, want the stranger", o.Failed)
		}
		if len(o.Skipped) != already {
			t.Errorf("%d skipped items, want %d", len(o.Skipped), already)
		}
	})
}

// A frozen set replaces the list of people without a change of the executor.
func TestProgramStatusOverSet(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open0 func(testing.TB) *sql.DB) {
		db, c, people := filled(t, open0)
		stranger := uuid.New()
		o := tasktest.Run(t, programstatustask.Kind, &programstatus.Executor{}, programstatus.Spec{
			Program: caseload.Success, Status: caseload.Exited,
		}, tasktest.WithDB(db), tasktest.WithLimit(20),
			tasktest.WithSubmitOptions(taskkit.WithTargets(slices.Values(append([]uuid.UUID{stranger}, people[:50]...)))))
		if o.Task.Status != taskkit.StatusCompleted || o.Task.Progress.Total != 51 || o.Task.Progress.Failed != 1 ||
			o.Task.Progress.Done+o.Task.Progress.Skipped != 50 {
			t.Errorf("%s: %+v", o.Task.Status, o.Task.Progress)
		}
		clean(t, c, caseload.ActionStatus, o.Task.ID, people[:50])
	})
}
