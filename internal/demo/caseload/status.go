package caseload

import (
	"context"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/enrolment"
)

// The statuses of an enrolment.
const (
	Active = "active"
	Paused = "paused"
	Exited = "exited"
)

// Outcome is the outcome of a function for several people.
type Outcome struct {
	Already []uuid.UUID // needed nothing, and were confirmed
	Missing []uuid.UUID // are not there to be changed
	NoCoach []uuid.UUID // have no coach to be addressed
}

// SetStatus sets the status of people in a program for a task. People who are not
// enrolled in it are Missing. The status of people who have it Already is written as
// well, with the task that confirmed it.
func SetStatus(ctx context.Context, c *ent.Client, task uuid.UUID, program, status string, people []uuid.UUID) (Outcome, error) {
	var out Outcome
	for part := range chunks(people) {
		theirs := enrolment.And(enrolment.ProgramID(program), enrolment.PersonIDIn(part...))
		rows, err := c.Enrolment.Query().Where(theirs).All(ctx)
		if err != nil {
			return Outcome{}, wrap("read enrolments", err)
		}
		found := make(map[uuid.UUID]bool, len(rows))
		for _, e := range rows {
			found[e.PersonID] = true
			if e.Status == status {
				out.Already = append(out.Already, e.PersonID)
			}
		}
		out.Missing = append(out.Missing, without(part, found)...)
		if err := c.Enrolment.Update().Where(theirs).SetStatus(status).SetStatusTask(task).Exec(ctx); err != nil {
			return Outcome{}, wrap("set the status of enrolments", err)
		}
	}
	return out, nil
}
