package caseload

import (
	"context"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/alert"
)

// Concern is the content of an early alert.
type Concern struct {
	Category string
	Reason   string
}

// RaiseAlerts raises an early alert for each of the people, addressed to their
// coach. People who do not exist are Missing, and people without a coach are NoCoach.
func RaiseAlerts(ctx context.Context, c *ent.Client, task, by uuid.UUID, what Concern, people []uuid.UUID) (Outcome, error) {
	var out Outcome
	for part := range chunks(people) {
		found, err := Find(ctx, c, part)
		if err != nil {
			return Outcome{}, err
		}
		rows := make([]*ent.AlertCreate, 0, len(part))
		for _, id := range part {
			p, ok := found[id]
			if !ok {
				out.Missing = append(out.Missing, id)
				continue
			}
			if p.Coach == "" {
				out.NoCoach = append(out.NoCoach, id)
				continue
			}
			rows = append(rows, c.Alert.Create().SetPersonID(id).SetTask(task).SetRaisedBy(by).
				SetCategory(what.Category).SetReason(what.Reason).SetCoach(p.Coach))
		}
		if err := c.Alert.CreateBulk(rows...).Exec(ctx); err != nil {
			return Outcome{}, wrap("raise alerts", err)
		}
	}
	return out, nil
}

// CountAlerts counts the alerts that a task has raised.
func CountAlerts(ctx context.Context, c *ent.Client, task uuid.UUID) (int, error) {
	n, err := c.Alert.Query().Where(alert.Task(task)).Count(ctx)
	return n, wrap("count alerts", err)
}
