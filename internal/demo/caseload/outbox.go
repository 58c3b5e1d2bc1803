package caseload

import (
	"context"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/letter"
)

// Letter is the outcome of a mail to a person.
type Letter struct {
	Person    uuid.UUID
	Address   string
	MessageID string
	Refused   string // why it was not sent and never will be; "" when it was
}

// Settled returns the people whose mail for a task is settled: sent, or refused
// permanently.
func Settled(ctx context.Context, c *ent.Client, task uuid.UUID, people []uuid.UUID) (map[uuid.UUID]bool, error) {
	settled := make(map[uuid.UUID]bool)
	for part := range chunks(people) {
		var rows []struct {
			PersonID uuid.UUID `sql:"person_id"`
		}
		err := c.Letter.Query().Where(letter.Task(task), letter.PersonIDIn(part...)).
			Select(letter.FieldPersonID).Scan(ctx, &rows)
		if err != nil {
			return nil, wrap("read the outbox", err)
		}
		for _, r := range rows {
			settled[r.PersonID] = true
		}
	}
	return settled, nil
}

// Record writes letters into the outbox. A second one for the same task and
// person is refused by the database.
func Record(ctx context.Context, c *ent.Client, task uuid.UUID, letters []Letter) error {
	for part := range chunks(letters) {
		rows := make([]*ent.LetterCreate, len(part))
		for i, l := range part {
			rows[i] = c.Letter.Create().SetTask(task).SetPersonID(l.Person).
				SetAddress(l.Address).SetMessageID(l.MessageID).SetRefused(l.Refused)
		}
		if err := c.Letter.CreateBulk(rows...).Exec(ctx); err != nil {
			return wrap("write the outbox", err)
		}
	}
	return nil
}
