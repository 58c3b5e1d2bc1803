package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// The settings whose changes are recorded.
const (
	SettingQueue    = "queue"
	SettingLimit    = "limit"
	SettingSchedule = "schedule"
)

// SettingChange is an event of a setting: what changed it, from what and to what. "" stands for nothing: the setting did not
// exist, or exists no longer.
type SettingChange struct {
	ID       uuid.UUID
	Created  time.Time
	Setting  string
	Name     string // of the queue or the schedule, or the key of the limit
	Action   string
	Actor    uuid.UUID // zero: unknown
	Reason   string
	From, To string
}

// SettingFilter selects changes of settings. Zero fields do not filter.
type SettingFilter struct {
	Setting, Name string
	Before        uuid.UUID // only older ones
	Limit         int
}

// Selects reports whether a filter selects a change, apart from its place.
func (f *SettingFilter) Selects(c *SettingChange) bool {
	return (f.Setting == "" || f.Setting == c.Setting) && (f.Name == "" || f.Name == c.Name)
}

// Change returns what is recorded of the change of a queue that was not so.
func (c *QueueChange) Change() *SettingChange {
	out := &SettingChange{Setting: SettingQueue, Name: c.Queue, Action: "resume", Actor: c.Actor, Reason: c.Reason, From: "paused", To: "open"}
	if c.Paused {
		out.Action, out.From, out.To = "pause", "open", "paused"
	}
	return out
}

// LimitChange returns what is recorded of a limit that is set or (0) removed; nil: it stays as it is.
func LimitChange(key string, from, to int, by uuid.UUID, reason string) *SettingChange {
	text := func(n int) string {
		if n <= 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	out := &SettingChange{Setting: SettingLimit, Name: key, Action: "set", Actor: by, Reason: reason, From: text(from), To: text(to)}
	if out.To == "" {
		out.Action = "remove"
	}
	if out.From == out.To {
		return nil
	}
	return out
}

// ScheduleChange returns what is recorded of a change of a schedule: as JSON objects, what is different. The zero schedule does
// not exist. Nil: nothing that a person sets is different. A spec may have secrets: only that it changed is recorded.
func ScheduleChange(before, after *Schedule, by uuid.UUID, reason string) (*SettingChange, error) {
	out := &SettingChange{Setting: SettingSchedule, Name: before.Name, Action: "set", Actor: by, Reason: reason}
	was, is := before.settings(), after.settings()
	maps.DeleteFunc(was, func(field string, value any) bool {
		same := is[field] == value
		if same {
			delete(is, field)
		}
		return same
	})
	if was != nil && is != nil && !bytes.Equal(before.Spec, after.Spec) {
		is["spec"] = "changed"
	}
	switch {
	case len(was)+len(is) == 0:
		return nil, nil //nolint:nilnil // nothing is an answer
	case is == nil:
		out.Action = "delete"
	case was == nil:
	case before.Paused != after.Paused:
		out.Action = map[bool]string{true: "pause", false: "resume"}[after.Paused]
	case after.Triggered && !before.Triggered:
		out.Action = "trigger"
	}
	var err error
	for _, side := range []struct {
		text   *string
		fields map[string]any
	}{{&out.From, was}, {&out.To, is}} {
		if side.fields != nil && err == nil {
			var text []byte
			text, err = json.Marshal(side.fields)
			*side.text = string(text)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("encode the change of a schedule: %w", err)
	}
	return out, nil
}

// settings returns what a person sets of a schedule, besides its spec; nil for one that does not exist.
func (s *Schedule) settings() map[string]any {
	if s.Kind == "" {
		return nil
	}
	all := map[string]any{
		"kind": s.Kind, "revision": s.Revision, "cron": s.Cron, "zone": s.Zone, "misfire": s.Misfire, "overlap": cmp.Or(s.Overlap, "allow"),
		"queue": s.Queue, "priority": s.Priority, "owner": s.Owner, "run_as": s.RunAs, "options": s.Options, "paused": s.Paused, "triggered": s.Triggered,
	}
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == "" || value == false })
	return all
}
