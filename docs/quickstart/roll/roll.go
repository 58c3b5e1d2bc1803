// Package roll is a service of the application: it closes cohorts.
package roll

import (
	"context"
	"fmt"

	"taskkit.dev/taskkit"

	"example.com/campus/ent"
	"example.com/campus/ent/cohort"
	"example.com/campus/ent/student"
	"example.com/campus/gen/setstatustask"
)

// Close closes a cohort and has its students' status set to exited. Both happen
// or neither does: the task is submitted in the transaction that closes the
// cohort.
func Close(ctx context.Context, client *ent.Client, id int) (taskkit.ID, error) {
	tx, err := client.Tx(ctx)
	if err != nil {
		return taskkit.ID{}, fmt.Errorf("close cohort %d: %w", id, err)
	}
	defer func() { _ = tx.Rollback() }()

	if err := tx.Cohort.UpdateOneID(id).SetClosed(true).Exec(ctx); err != nil {
		return taskkit.ID{}, fmt.Errorf("close cohort %d: %w", id, err)
	}
	students, err := tx.Student.Query().Where(student.HasCohortWith(cohort.ID(id))).IDs(ctx)
	if err != nil {
		return taskkit.ID{}, fmt.Errorf("close cohort %d: %w", id, err)
	}
	task, err := setstatustask.Submit(ctx, tx, setstatustask.Spec{Students: students, Status: "exited"},
		taskkit.System(), taskkit.WithUniqueKey(fmt.Sprint("close cohort ", id)))
	if err != nil {
		return taskkit.ID{}, fmt.Errorf("close cohort %d: %w", id, err)
	}
	if err := tx.Commit(); err != nil {
		return taskkit.ID{}, fmt.Errorf("close cohort %d: %w", id, err)
	}
	return task, nil
}
