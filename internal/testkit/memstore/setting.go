package memstore

import (
	"context"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/store"
)

// recordSetting appends the change of a setting to the log of events. Nil is no change.
func (s *Store) recordSetting(c *store.SettingChange) {
	if c == nil {
		return
	}
	c.ID, c.Created, c.Reason = store.NewID(), s.now(), classify.Clean(c.Reason)
	s.events = append(s.events, event{setting: c, Event: store.Event{Created: c.Created, Action: c.Action, Actor: c.Actor, Reason: c.Reason}})
}

// SettingChanges implements [store.Ops].
func (s *Store) SettingChanges(ctx context.Context, f store.SettingFilter) (found []store.SettingChange, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for i := len(s.events) - 1; i >= 0 && len(found) < limit(f.Limit); i-- {
		c := s.events[i].setting
		if c != nil && f.Selects(c) && (f.Before == uuid.Nil || compareIDs(c.ID, f.Before) < 0) {
			found = append(found, *c)
		}
	}
	return found, nil
}
