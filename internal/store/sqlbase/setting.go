package sqlbase

import (
	"context"
	"fmt"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/ent/taskevent"
	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/store"
)

// recordSetting appends the change of a setting to the log of events, under the zero id of a task. Nil is no change.
func (t Statements) recordSetting(ctx context.Context, q store.Querier, c *store.SettingChange) error {
	if c == nil {
		return nil
	}
	return do(ctx, q, Step{
		Text: t.SQL(`INSERT INTO {s}taskkit_task_event (id, task_id, action, actor, reason, was, setting, name, became)
VALUES ($1, $2, $3, $4, nullif($5, ''), $6, $7, $8, $9)`),
		Args: []any{store.NewID().String(), uuid.Nil.String(), c.Action, optionalID(c.Actor), classify.Clean(c.Reason), c.From, c.Setting, c.Name, c.To},
	})
}

// SettingChanges implements [store.Ops].
func (b *Base) SettingChanges(ctx context.Context, f store.SettingFilter) ([]store.SettingChange, error) {
	query := b.ent.TaskEvent.Query().Where(taskevent.TaskID(uuid.Nil))
	if f.Setting != "" {
		query.Where(taskevent.Setting(f.Setting))
	}
	if f.Name != "" {
		query.Where(taskevent.Name(f.Name))
	}
	if f.Before != uuid.Nil {
		query.Where(taskevent.IDLT(f.Before))
	}
	rows, err := query.Order(taskevent.ByID(entsql.OrderDesc())).Limit(limit(f.Limit)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the changes of settings: %w", err)
	}
	changes := make([]store.SettingChange, len(rows))
	for i, r := range rows {
		changes[i] = store.SettingChange{
			ID: r.ID, Created: r.CreatedDate, Setting: deref(r.Setting), Name: deref(r.Name), Action: r.Action,
			Actor: deref(r.Actor), Reason: deref(r.Reason), From: r.Was, To: deref(r.Became),
		}
	}
	return changes, nil
}
