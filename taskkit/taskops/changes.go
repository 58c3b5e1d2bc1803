package taskops

import (
	"context"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit"
)

// Setting is what an operator can change besides tasks.
type Setting string

// The settings.
const (
	SettingQueue    Setting = store.SettingQueue    // paused or open
	SettingLimit    Setting = store.SettingLimit    // as [Operator.SetLimit] sets it
	SettingSchedule Setting = store.SettingSchedule // all that [SetSchedule] sets, and whether it is paused
)

// SettingChange is one change of a setting. It is stored in the transaction of the change, and kept as long as the events of tasks.
type SettingChange struct {
	ID      taskkit.ID `json:"id"`
	Created time.Time  `json:"created"` // by the database's clock
	Setting Setting    `json:"setting"`
	Name    string     `json:"name"`   // of the queue or the schedule, or the key of the limit
	Action  string     `json:"action"` // pause, resume, set, remove, trigger or delete
	Actor   uuid.UUID  `json:"actor,omitzero"`
	Reason  string     `json:"reason,omitempty"`
	// From and To are the setting before and after: paused or open, a number, or of a schedule a JSON object of
	// what is different. Empty: there was none, or there is none any more. The spec of a schedule is not in them.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// ChangeFilter selects changes of settings. Zero fields do not filter.
type ChangeFilter struct {
	Setting Setting
	Name    string // as in [SettingChange]
	// Before: only changes before this one, which is the last of the previous page.
	Before taskkit.ID
	// Limit is the greatest length of the page, at most 1,000. Defaults to 100.
	Limit int
}

// SettingChanges lists the changes of queues, limits and schedules, the newest first. What changed nothing, such as
// the pause of a paused queue, is not among them.
func (o *Operator) SettingChanges(ctx context.Context, f ChangeFilter) ([]SettingChange, error) {
	op, err := o.store(ctx)
	if err != nil {
		return nil, err
	}
	found, err := op.SettingChanges(ctx, store.SettingFilter{
		Setting: storable(string(f.Setting)), Name: storable(f.Name), Before: f.Before, Limit: min(f.Limit, 1000),
	})
	if err != nil {
		return nil, o.public(ctx, err)
	}
	changes := make([]SettingChange, len(found))
	for i, c := range found {
		changes[i] = SettingChange{c.ID, c.Created, Setting(c.Setting), c.Name, c.Action, c.Actor, c.Reason, c.From, c.To}
	}
	return changes, nil
}
