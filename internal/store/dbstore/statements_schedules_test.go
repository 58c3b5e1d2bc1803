package dbstore_test

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// schedules records what is done with schedules.
func (c *calls) schedules() {
	ctx, s := c.Context(), c.s
	change := func(name string, f func(s *store.Schedule)) {
		c.Helper()
		c.record(name, func() error {
			_, err := s.ChangeSchedule(ctx, "nightly", func(now time.Time, s *store.Schedule) error {
				if s.Version == 0 {
					s.Kind, s.Spec, s.Revision, s.Cron, s.Priority, s.Misfire = "demo", json.RawMessage("{}"), 1, "0 2 * * *", 2, "once"
					s.NextAt, s.NextWall = now.Add(-time.Minute), "2026-03-29 02:00"
				}
				f(s)
				return nil
			})
			return err
		})
	}
	change("schedule_insert", func(*store.Schedule) {})
	change("schedule_unchanged", func(*store.Schedule) {})
	change("schedule_update", func(s *store.Schedule) { s.Cron = "0 3 * * *" })
	change("schedule_trigger", func(s *store.Schedule) { s.Triggered = true })
	c.record("schedule_list", func() error { _, err := s.ListSchedules(ctx, "", 10); return err })
	var found store.SchedulesFound
	c.record("schedules_due", func() (err error) {
		found, err = s.DueSchedules(ctx, store.DueSchedules{Kinds: map[string][]int{"demo": {1}}, Limit: 10})
		return err
	})
	if len(found.Due) != 1 {
		c.Fatalf("%d schedules are due, want 1", len(found.Due))
	}
	f := store.ScheduleFire{Schedule: found.Due[0], Tasks: []store.NewTask{newTask(func(t *store.NewTask) { t.IdempotencyKey = "s" })}}
	f.Triggered, f.LastTask = false, uuid.Max
	c.record("schedule_fire", func() error { _, err := s.FireSchedule(ctx, f); return err })
	f.Version, f.Tasks = f.Version+1, []store.NewTask{newTask(func(t *store.NewTask) { t.IdempotencyKey = "s" })}
	f.LastTask = f.Tasks[0].ID
	c.record("schedule_fire_taken", func() error { _, err := s.FireSchedule(ctx, f); return err })
	f.Version, f.Tasks = f.Version+1, []store.NewTask{newTask(func(t *store.NewTask) { t.IdempotencyKey = "t" })}
	c.record("schedules_fire", func() error { _, err := s.FireSchedules(ctx, []store.ScheduleFire{f}); return err })
	f.Version, f.Tasks, f.LastError, f.LastErrorAt = f.Version+1, nil, "failed", time.Time{}
	c.record("schedule_failed", func() error { _, err := s.FireSchedule(ctx, f); return err })
	change("schedule_pause", func(s *store.Schedule) { s.Paused = true })
	c.record("schedule_delete", func() error { return s.DeleteSchedule(ctx, "nightly", uuid.Max, "because") })
}
