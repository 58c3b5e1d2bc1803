package dbstore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskpolicy"
)

// children records what parents and their children need.
func (c *calls) children() {
	ctx, s := c.Context(), c.s
	p := store.Process{ID: "family", Version: "v", Kinds: map[string][]int{"parent": {1}, "part": {1}}, Queues: []string{"parents", "parts"}, Slots: 1, DeadAfter: time.Hour}
	c.ok(s.RegisterWorker(ctx, p))
	parent := c.newParent()
	child := func(t *store.NewTask) {
		t.Kind, t.Queue, t.Parent = "part", "parts", parent.ID
		t.Options.Child = &store.Child{Parent: parent.ID, Segment: json.RawMessage("1")}
	}
	c.insert("insert_child", false, newTask(child))
	ids := c.insert("insert_children", false, newTask(child), newTask(child), newTask(child), newTask(child), newTask(child))
	c.record("plan_of_bucket", func() error { _, err := s.Plan(ctx, ids[0]); return err })
	c.record("family", func() error { _, err := s.Family(ctx, parent.Lease); return err })
	c.record("count_children", func() error { _, err := s.CountChildren(ctx, []uuid.UUID{parent.ID}); return err })
	c.record("failed_child", func() error {
		if _, err := s.FailedChild(ctx, parent.ID); !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("want ErrNotFound, got %w", err)
		}
		return nil
	})
	c.record("request_max_parallel", func() error {
		_, err := s.Request(ctx, parent.ID, store.Request{Action: lifecycle.ActChange, MaxParallel: 3})
		return err
	})
	c.record("children", func() error { _, err := s.Children(ctx, parent.ID, uuid.Nil, 10, false); return err })
	c.record("children_with_failed_items", func() error {
		_, err := s.ChildrenHaving(ctx, parent.ID, uuid.Nil, 10, store.ItemFailed)
		return err
	})
	c.record("children_with_states", func() error { _, err := s.Children(ctx, parent.ID, ids[0], 10, true); return err })

	parts := c.claims("parts", 3)
	apply := func(name string, writes ...store.Write) {
		c.Helper()
		c.record(name, func() error { _, err := s.Apply(ctx, p.ID, pointers(writes)); return err })
	}
	memo := store.Write{Lease: parent.Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage("{}"), Memo: json.RawMessage("{}")}
	apply("apply_memo", memo)
	parent.Seq++
	apply("apply_end_with_open_child", store.Write{Lease: parent.Lease, To: lifecycle.Completed, HasChildren: true})
	wait := memo
	wait.Lease, wait.To, wait.At, wait.Reason = parent.Lease, lifecycle.Queued, store.Forever, lifecycle.ReasonChildren
	wait.Wait, wait.Pause = &store.Wait{OpenAtMost: 5, OnFailure: store.FailurePauses}, "a child has failed"
	apply("apply_wait", wait)
	parent.Seq++
	c.record("count_children_again", func() error { _, err := s.CountChildren(ctx, []uuid.UUID{parent.ID}); return err })
	c.ok(c.ended(parts[0], lifecycle.Failure), c.ended(parts[1], lifecycle.Error))
	c.record("request_retry_of_child", func() error {
		_, err := s.Request(ctx, parts[1].ID, store.Request{Action: lifecycle.ActRetry})
		return err
	})
	passOn := func(name string, control lifecycle.Action) {
		c.Helper()
		if control != "" {
			_, err := s.Request(ctx, parent.ID, store.Request{Action: control, Actor: uuid.Max})
			c.ok(err)
		}
		c.record(name, func() error { _, _, err := s.PassOn(ctx, []uuid.UUID{parent.ID}, 100); return err })
	}
	passOn("pass_on_pause", "")
	passOn("pass_on_resume", lifecycle.ActResume)
	c.record("wake_parents", func() error { _, err := s.WakeParents(ctx, []uuid.UUID{parent.ID}); return err })
	parent = c.claims("parents", 1)[0]
	c.record("retry_children", func() error {
		n, err := s.RetryChildren(ctx, parent.Lease, 100)
		if err == nil && n != 1 {
			err = errors.New("not one child was retried")
		}
		return err
	})
	passOn("pass_on_stop", lifecycle.ActStop)
	c.ok(c.insertInto([]store.NewTask{newTask(child)}, false)) // one that is removed at once
	passOn("pass_on_delete", lifecycle.ActDelete)
	c.ok(c.ended(parts[2], lifecycle.Completed))

	above := c.newParent()
	_, err := s.Request(ctx, above.ID, store.Request{Action: lifecycle.ActChange, StopAfter: lifecycle.StopPolicy{Failed: 1}})
	c.ok(err, c.insertInto([]store.NewTask{newTask(func(t *store.NewTask) {
		child(t)
		t.Parent, t.Options.Child.Parent, t.Queue = above.ID, above.ID, "above"
	})}, false))
	part := c.claims("above", 1)[0]
	failed := store.Write{
		Lease: part.Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage("{}"), CheckParents: true,
		Progress: lifecycle.Progress{Total: 2, Failed: 1}, Items: []store.Item{{Key: `"a"`, Outcome: store.ItemFailed, Code: "c"}},
	}
	apply("apply_failed_item_of_child", failed)
	if t, err := s.Task(ctx, above.ID); err != nil || t.Control != lifecycle.Pause {
		c.Fatalf("the parent is not paused: %v, %v", t.Control, err)
	}

	governed := c.newParent()
	c.ok(c.insertInto([]store.NewTask{newTask(func(t *store.NewTask) {
		child(t)
		t.Parent, t.Options.Child.Parent, t.Queue = governed.ID, governed.ID, "governed"
	})}, false))
	one := taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Failed, AtLeast: 1}}
	c.record("request_policies", func() error {
		coded := taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Failed, Code: "c", AtLeast: 1}}
		_, err := s.Request(ctx, governed.ID, store.Request{Action: lifecycle.ActChange, Policies: &taskpolicy.Policies{{When: coded, Do: taskpolicy.Notify}}})
		return err
	})
	_, err = s.Request(ctx, governed.ID, store.Request{Action: lifecycle.ActChange, Policies: &taskpolicy.Policies{
		{When: one, Do: taskpolicy.Notify}, {When: one, Do: taskpolicy.Stop},
	}})
	c.ok(err)
	failed.Lease, failed.CheckParents, failed.Watched = c.claims("governed", 1)[0].Lease, false, true
	apply("apply_policies", failed)
	if t, err := s.Task(ctx, governed.ID); err != nil || t.Control != lifecycle.Stop {
		c.Fatalf("the parent is not stopped: %v, %v", t.Control, err)
	}

	paused := c.newParent()
	_, err = s.Request(ctx, paused.ID, store.Request{Action: lifecycle.ActChange, Policies: &taskpolicy.Policies{{When: one, Do: taskpolicy.Pause}}})
	c.ok(err)
	apply("apply_policy_pausing", store.Write{
		Lease: paused.Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage("{}"), Policies: true, Progress: lifecycle.Progress{Total: 2, Failed: 1},
	})
	stopped := c.newParent()
	apply("apply_stopping", store.Write{Lease: stopped.Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage("{}"), Stop: "because"})

	ending := c.newParent()
	apply("apply_end_with_children", store.Write{Lease: ending.Lease, To: lifecycle.Failure, HasChildren: true})
	c.record("reap_parents", func() error {
		waiting := c.newParent()
		w := wait
		w.Lease, w.Pause = waiting.Lease, ""
		if _, err := s.Apply(ctx, p.ID, []*store.Write{&w}); err != nil {
			return err
		}
		c.rec.Take()
		r, err := s.Reap(ctx, nil)
		if err == nil && len(r.Woken) != 1 {
			err = errors.New("no parent was woken")
		}
		return err
	})
}

// ok fails the test on an error.
func (c *calls) ok(errs ...error) {
	c.Helper()
	if err := errors.Join(errs...); err != nil {
		c.Fatal(err)
	}
}

// newParent returns a new parent that is EXECUTING.
func (c *calls) newParent() store.ClaimedTask {
	c.Helper()
	c.ok(c.insertInto([]store.NewTask{newTask(func(t *store.NewTask) { t.Kind, t.Queue = "parent", "parents" })}, false))
	parent := c.claims("parents", 1)[0]
	_, err := c.s.Apply(c.Context(), "family", []*store.Write{{Lease: parent.Lease, To: lifecycle.Executing}})
	c.ok(err)
	return parent
}

// claims returns n tasks of a queue that were claimed.
func (c *calls) claims(queue string, n int) []store.ClaimedTask {
	c.Helper()
	r, err := c.s.Claim(c.Context(), store.Claim{Process: "family", Queues: []string{queue}, Kinds: map[string][]int{"parent": {1}, "part": {1}}, Limit: n})
	c.ok(err)
	if len(r.Tasks) != n {
		c.Fatalf("claimed %d tasks of %s, want %d", len(r.Tasks), queue, n)
	}
	return r.Tasks
}

// ended ends a task.
func (c *calls) ended(t store.ClaimedTask, to lifecycle.Status) error {
	_, err := c.s.Apply(c.Context(), "family", []*store.Write{{Lease: t.Lease, To: to}})
	return err
}

// pointers returns writes as Apply takes them.
func pointers(writes []store.Write) []*store.Write {
	all := make([]*store.Write, len(writes))
	for i := range writes {
		all[i] = &writes[i]
	}
	return all
}
