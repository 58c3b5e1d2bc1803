package dbstore_test

import (
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// queues records what pauses queues, groups dead letters, lists ids and finds unknown kinds.
func (c *calls) queues() {
	ctx, s := c.Context(), c.s
	for _, paused := range []bool{true, false} {
		c.record(map[bool]string{true: "pause_queue", false: "resume_queue"}[paused], func() error {
			return s.PauseQueue(ctx, store.QueueChange{Queue: "paused", Paused: paused})
		})
	}
	c.record("setting_changes", func() error {
		_, err := s.SettingChanges(ctx, store.SettingFilter{Setting: store.SettingQueue, Name: "paused", Before: uuid.Max, Limit: 10})
		return err
	})
	c.record("paused_queues", func() error { _, err := s.PausedQueues(ctx); return err })
	c.record("dead_groups", func() error {
		_, err := s.DeadGroups(ctx, store.Filter{Kinds: []string{"demo"}, Queue: "default", Code: "c", EndedFor: time.Hour}, 0)
		return err
	})
	c.record("dead_groups_of_a_total", func() error {
		_, err := s.DeadGroups(ctx, store.Filter{Roots: true}, 1000)
		return err
	})
	c.record("dead_page", func() error {
		_, _, err := s.Tasks(ctx, store.Filter{Statuses: []lifecycle.Status{lifecycle.Error, lifecycle.Failure}, Roots: true, Code: "c", EndedFor: time.Hour, Limit: 10})
		return err
	})
	c.record("dead_previews", func() error {
		_, _, err := s.Tasks(ctx, store.Filter{Statuses: []lifecycle.Status{lifecycle.Error}, Kinds: []string{"demo"}, Previews: true, Before: uuid.Max})
		return err
	})
	c.record("task_refs", func() error {
		_, _, err := s.TaskRefs(ctx, store.Filter{Roots: true, Kinds: []string{"demo"}, Limit: store.ListRead})
		return err
	})
	c.record("task_refs_all_dead", func() error {
		_, _, err := s.TaskRefs(ctx, store.Filter{Roots: true, Statuses: []lifecycle.Status{lifecycle.Error, lifecycle.Failure}, Limit: store.ListRead})
		return err
	})
	c.record("task_refs_previews", func() error {
		_, _, err := s.TaskRefs(ctx, store.Filter{Previews: true, Approval: true})
		return err
	})
	c.record("task_refs_previews_by_id", func() error {
		_, _, err := s.TaskRefs(ctx, store.Filter{Previews: true, IDs: []uuid.UUID{uuid.Max}})
		return err
	})
	c.record("task_refs_of_owner", func() error {
		_, _, err := s.TaskRefs(ctx, store.Filter{Roots: true, Owner: uuid.Max, Before: uuid.Max, Limit: store.ListRead})
		return err
	})
	c.record("task_refs_dead", func() error {
		_, _, err := s.TaskRefs(ctx, store.Filter{Roots: true, Statuses: []lifecycle.Status{lifecycle.Error, lifecycle.Failure}, Code: "c", Limit: store.ListRead})
		return err
	})
	c.insert("insert_one", false, newTask(func(t *store.NewTask) { t.Kind = "unknown" }))
	c.record("find_unknown_kinds", func() error { _, err := s.FindUnknownKinds(ctx); return err })
	c.record("see_unknown_kinds", func() error { _, _, err := s.SeeUnknownKinds(ctx); return err })
	c.record("end_unknown_kinds", func() error {
		_, err := s.EndUnknownKinds(ctx, "p", time.Nanosecond, 10)
		return err
	})
	c.insert("insert_expiring", false, newTask(func(t *store.NewTask) {
		t.Options = &store.Options{Times: lifecycle.Times{LatestStart: time.Unix(1, 0)}, Keep: time.Hour}
	}))
	var expired store.Expired
	c.record("expire_tasks", func() (err error) { expired, err = s.ExpireTasks(ctx, "p", 10, 10); return err })
	for _, id := range expired.Failed { // no later statement is about it
		if _, err := s.Request(ctx, id, store.Request{Action: lifecycle.ActDelete}); err != nil {
			c.Fatal(err)
		}
	}
	c.record("unknown_kinds", func() error { _, err := s.UnknownKinds(ctx); return err })
	c.record("waiting_causes", func() error { _, err := s.WaitingCauses(ctx, 1000); return err })
	c.record("tasks_paused", func() error {
		_, _, err := s.Tasks(ctx, store.Filter{Paused: true, Owner: uuid.Max, Before: uuid.Max, Limit: 10})
		return err
	})
	c.record("tasks_awaiting_approval", func() error {
		_, _, err := s.Tasks(ctx, store.Filter{Approval: true, Roots: true, Limit: 10})
		return err
	})
	c.record("elect_reader", func() error { _, err := s.ElectReader(ctx, "p", time.Minute); return err })
	c.record("ended_between", func() error {
		_, _, err := s.EndedBetween(ctx, time.Unix(0, 0), time.Unix(3600, 0), 10)
		return err
	})
	c.record("queue_counts", func() error { _, err := s.QueueCounts(ctx, store.QueueRead); return err })
}
