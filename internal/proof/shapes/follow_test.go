package shapes_test

import (
	"errors"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskpolicy"
)

// eachFollowed runs a test on both databases, with a worker for the kind of shapes and its numbers.
func eachFollowed(t *testing.T, test func(s *shapeTest)) {
	t.Helper()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		test(prepared(t, db))
	})
}

// as submits a task of a shape.
func (s *shapeTest) as(shape string, opts ...taskkit.SubmitOption) taskkit.ID {
	s.Helper()
	for _, of := range shapes {
		if of.name != shape {
			continue
		}
		id, err := of.submit(s, opts...)
		if err != nil {
			s.Fatal(err)
		}
		return id
	}
	s.Fatalf("there is no shape %s", shape)
	return taskkit.ID{}
}

// heldAs submits a task of a shape and waits until its batches wait for release.
func (s *shapeTest) heldAs(shape string, opts ...taskkit.SubmitOption) (id taskkit.ID, release func()) {
	s.Helper()
	s.submit = func(opts ...taskkit.SubmitOption) (taskkit.ID, error) { return s.as(shape, opts...), nil }
	return s.held(opts...)
}

// forget makes the numbers as if no task had processed them.
func (s *shapeTest) forget() {
	s.Helper()
	if _, err := s.db.ExecContext(s.Context(), "UPDATE shape_numbers SET touched = 0"); err != nil {
		s.Fatal(err)
	}
}

// refusedBy fails the test unless an option was refused.
func (s *shapeTest) refusedBy(what, option string, err error) {
	s.Helper()
	if e, ok := errors.AsType[*taskkit.OptionError](err); !ok || e.Option != option {
		s.Errorf("%s: %v, want a refusal of %s", what, err, option)
	}
}

// A task made from a divided one keeps to its canary and its rate, and is executed as a whole then.
func TestFollowWithCanaryOrRate(t *testing.T) {
	t.Parallel()
	eachFollowed(t, func(s *shapeTest) {
		canary := func(what string, id taskkit.ID, err error) {
			s.Helper()
			if err != nil {
				s.Fatalf("%s: %v", what, err)
			}
			s.until(what+" waits after its canary", func() bool {
				task := s.task(id)
				return task.Control == taskkit.ControlPause || task.Status == taskkit.StatusCompleted
			})
			if task := s.task(id); task.Progress.Processed() != 2 || task.Children != nil {
				s.Errorf("%s, with a canary of 2: %s, %+v, %+v", what, task.Status, task.Progress, task.Children)
			}
		}
		whole := []taskkit.SubmitOption{taskkit.WithCanary(2), taskkit.WithMaxParallel(4)}
		id := s.as("ranges")
		s.ended(id)
		_, err := s.client.RetryFailed(s.Context(), id, whole...)
		s.refusedBy("a retry with a canary and ranges", "WithMaxParallel", err)
		retry, err := s.client.RetryFailed(s.Context(), id, taskkit.WithCanary(2))
		canary("the retry", retry, err)
		selected, err := s.client.RetrySelected(s.Context(), taskkit.Failures{Tasks: []taskkit.ID{id}}, taskkit.WithCanary(2), taskkit.WithIdempotencyKey("selected"))
		canary("the retry of a selection", selected, err)
		rate, err := s.client.RetryFailed(s.Context(), id, taskkit.WithMaxRate(1000), taskkit.WithIdempotencyKey("rate"))
		if err != nil {
			s.Fatal(err)
		}
		if task := s.ended(rate); task.Children != nil || task.Progress.Processed() != 12 {
			s.Errorf("the retry with a rate: %s, %+v, %+v", task.Status, task.Progress, task.Children)
		}
		_, err = s.client.RetryFailed(s.Context(), rate, taskkit.WithMaxParallel(2))
		s.refusedBy("a retry with ranges and the rate of the first task", "WithMaxParallel", err)
		divided, err := s.client.RetryFailed(s.Context(), id, taskkit.WithIdempotencyKey("divided"))
		if err != nil {
			s.Fatal(err)
		}
		if task := s.ended(divided); task.Children == nil {
			s.Error("the retry of ranges without a canary is not divided")
		}

		dry := s.as("ranges", taskkit.WithDryRun())
		s.ended(dry)
		_, err = s.client.Continue(s.Context(), dry, whole...)
		s.refusedBy("a continuation with a canary and ranges", "WithMaxParallel", err)
		next, err := s.client.Continue(s.Context(), dry, taskkit.WithCanary(2))
		canary("the continuation", next, err)

		preview := s.as("plain", taskkit.WithPreview())
		s.ended(preview)
		_, err = s.client.Apply(s.Context(), preview, whole...)
		s.refusedBy("an application with a canary and ranges", "WithMaxParallel", err)
		applied, err := s.client.Apply(s.Context(), preview, taskkit.WithCanary(2))
		canary("the application", applied, err)
	})
}

// An item that several buckets have found is retried and continued once.
func TestFollowBucketsWithDuplicates(t *testing.T) {
	t.Parallel()
	eachFollowed(t, func(s *shapeTest) {
		s.x.overlap.Store(true)
		id := s.as("buckets")
		if task := s.ended(id); task.Progress.Failed != 4*12 {
			s.Fatalf("four buckets with the same numbers: %+v", task.Progress)
		}
		s.forget()
		s.x.repairs.Store(true)
		retry, err := s.client.RetryFailed(s.Context(), id)
		if err != nil {
			s.Fatal(err)
		}
		if task, touched := s.ended(retry), s.touched(); task.Progress.Total != 12 || touched != 11 { // 70 is skipped
			s.Errorf("the retry: %+v, %d were processed", task.Progress, touched)
		}
		dry := s.as("buckets", taskkit.WithDryRun())
		s.ended(dry)
		next, err := s.client.Continue(s.Context(), dry)
		if err != nil {
			s.Fatal(err)
		}
		if task, touched := s.ended(next), s.touched(); task.Progress.Total != shapeNumbers || int64(touched) != task.Progress.Done {
			s.Errorf("the continuation: %+v, %d were processed", task.Progress, touched)
		}
	})
}

// A preview that has reached a policy which halts it is not applied, also when its last batch has reached it.
func TestApplyOfHaltedPreview(t *testing.T) {
	t.Parallel()
	eachFollowed(t, func(s *shapeTest) {
		all := taskpolicy.Items{Of: taskpolicy.Failed, AtLeast: 12} // the last number is the twelfth that fails
		round, other := all, all
		round.Code, other.Code = "round", "other"
		for _, of := range []struct {
			items   taskpolicy.Items
			do      taskpolicy.Action
			refused bool
		}{
			{all, taskpolicy.Pause, true},
			{all, taskpolicy.Stop, true},
			{all, taskpolicy.Fail, true},
			{all, taskpolicy.Notify, false},
			{round, taskpolicy.Pause, true},
			{other, taskpolicy.Pause, false},
			{taskpolicy.Items{Of: taskpolicy.Skipped, Code: "seven", AtLeast: 16}, taskpolicy.Stop, true},
			{taskpolicy.Items{Of: taskpolicy.Skipped, Code: "seven", AtLeast: 17}, taskpolicy.Stop, false},
		} {
			id := s.as("plain", taskkit.WithPreview(), taskkit.WithPolicies(taskpolicy.Policy{Name: "many", When: taskpolicy.Condition{Items: &of.items}, Do: of.do}))
			task := s.ended(id)
			_, err := s.client.Apply(s.Context(), id)
			if _, ok := errors.AsType[*taskkit.PreviewError](err); ok != of.refused || !of.refused && err != nil {
				s.Errorf("apply a preview with the policy %+v: %s, %s, %+v: %v", of.items, of.do, task.Status, task.Progress, err)
			}
		}
	})
}

// A policy that restarts its task is not for one with children, however it comes about, and a follow-up's policies are checked.
func TestRestartOfDividedTasks(t *testing.T) {
	t.Parallel()
	eachFollowed(t, func(s *shapeTest) {
		many := taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Failed, AtLeast: 100}}
		restart := taskpolicy.Policy{Name: "again", When: many, Do: taskpolicy.Restart}
		_, err := taskkit.Submit(s.Context(), s.db.DB, parallelKind, shapeSpec{s.numbers}, s.options([]taskkit.SubmitOption{taskkit.WithPolicies(restart)})...)
		s.refusedBy("a kind with parallel= and a policy that restarts", "WithPolicies", err)

		notify := taskkit.WithPolicies(taskpolicy.Policy{Name: "many", When: many, Do: taskpolicy.Notify})
		for _, shape := range []string{"ranges", "buckets", "stage"} {
			paused, release := s.heldAs(shape, notify)
			_, err = s.client.Change(s.Context(), paused, taskkit.Settings{Policies: &taskpolicy.Policies{restart}})
			s.refusedBy("a change to a policy that restarts "+shape, "Settings.Policies", err)
			release()
			s.ended(paused)
		}

		// The kind may have buckets, and so no policy that restarts: the follow-up of one of its tasks has none either.
		id := s.as("ranges")
		s.ended(id)
		_, err = s.client.RetryFailed(s.Context(), id, taskkit.WithPolicies(restart))
		s.refusedBy("a retry of ranges with a policy that restarts", "WithPolicies", err)
		plain := s.as("plain")
		s.ended(plain)
		_, err = s.client.RetryFailed(s.Context(), plain, taskkit.WithPolicies(restart), taskkit.WithMaxParallel(2))
		s.refusedBy("a retry in ranges with a policy that restarts", "WithPolicies", err)
		_, err = s.client.RetryFailed(s.Context(), plain, taskkit.WithPolicies(taskpolicy.Policy{Do: "no"}))
		s.refusedBy("a retry with an invalid policy", "WithPolicies", err)
	})
}

// The items of a part are retried and continued with its task, and so once.
func TestFollowPartsRefused(t *testing.T) {
	t.Parallel()
	eachFollowed(t, func(s *shapeTest) {
		for _, shape := range []string{"ranges", "buckets"} {
			id := s.as(shape)
			s.ended(id)
			part := s.stage(id)
			for action, follow := range map[string]func() error{
				"retry": func() error { _, err := s.client.RetryFailed(s.Context(), part); return err },
				"retry of a selection": func() error {
					_, err := s.client.RetrySelected(s.Context(), taskkit.Failures{Tasks: []taskkit.ID{part}})
					return err
				},
				"continuation": func() error { _, err := s.client.Continue(s.Context(), part); return err },
				"check":        func() error { return s.client.CheckRetryFailed(s.Context(), part) },
			} {
				err := follow()
				if e, ok := errors.AsType[*taskkit.ItemsError](err); !ok || !strings.Contains(e.Problem, id.String()) {
					s.Errorf("%s of one of the %s: %v, want an error that names task %s", action, shape, err, id)
				}
			}
			if _, err := s.client.RetryFailed(s.Context(), id); err != nil {
				s.Error(err)
			}
		}
	})
}

// What RetryFailed has retried is not selected, and what was selected is not retried, as long as the new task is kept.
func TestFollowOnce(t *testing.T) {
	t.Parallel()
	eachFollowed(t, func(s *shapeTest) {
		s.x.repairs.Store(false)
		ids := map[string]taskkit.ID{}
		for _, shape := range []string{"ranges", "buckets", "plain"} {
			ids[shape] = s.as(shape)
			s.ended(ids[shape])
		}
		duplicate := func(what string, of taskkit.ID, err error) {
			s.Helper()
			if e, ok := errors.AsType[*taskkit.DuplicateError](err); !ok || e.ID != of {
				s.Errorf("%s: %v, want an error that names task %s", what, err, of)
			}
		}
		s.x.repairs.Store(true)
		retry, err := s.client.RetryFailed(s.Context(), ids["buckets"])
		if err != nil {
			s.Fatal(err)
		}
		s.ended(retry)
		for _, tasks := range [][]taskkit.ID{{ids["buckets"]}, {ids["buckets"], ids["plain"]}, {ids["ranges"], ids["buckets"]}} {
			_, err = s.client.RetrySelected(s.Context(), taskkit.Failures{Tasks: tasks})
			duplicate("a selection of a task that was retried", retry, err)
		}
		// The same items failed in both, so the new task has none from the older one.
		selected, err := s.client.RetrySelected(s.Context(), taskkit.Failures{Tasks: []taskkit.ID{ids["ranges"], ids["plain"]}})
		if err != nil {
			s.Fatal(err)
		}
		if task := s.ended(selected); task.Progress.Total != 12 {
			s.Errorf("the selection: %+v", task.Progress)
		}
		for _, shape := range []string{"ranges", "plain"} {
			_, err = s.client.RetryFailed(s.Context(), ids[shape])
			duplicate("a retry of what was selected", selected, err)
			duplicate("its check", selected, s.client.CheckRetryFailed(s.Context(), ids[shape]))
		}
		again, err := s.client.RetryFailed(s.Context(), ids["ranges"], taskkit.WithIdempotencyKey("again"))
		if err != nil {
			s.Fatal(err)
		}
		s.ended(again)
		if _, err := s.client.Delete(s.Context(), selected); err != nil {
			s.Fatal(err)
		}
		if _, err := s.client.RetryFailed(s.Context(), ids["plain"]); err != nil {
			s.Errorf("a retry after the selection was deleted: %v", err)
		}
		// Of the kind, only the ranges are left, since the key of their retry was another, and the selection was deleted.
		rest, err := s.client.RetrySelected(s.Context(), taskkit.Failures{Kind: "shape", From: s.task(ids["ranges"]).Created})
		if err != nil {
			s.Fatal(err)
		}
		if task := s.ended(rest); task.Follows != ids["ranges"] {
			s.Errorf("the selection by kind follows %s, want the ranges of %v", task.Follows, ids)
		}
	})
}

// An item of a range or a bucket is skipped as the refusal for its task says.
func TestSkipInParts(t *testing.T) {
	t.Parallel()
	eachFollowed(t, func(s *shapeTest) {
		s.x.poison.Store(6) // where the second batch of a part begins
		for _, shape := range []string{"ranges", "buckets"} {
			failed := s.as(shape)
			s.ended(failed)
			_, err := s.client.Retry(s.Context(), failed, taskkit.WithSkip())
			s.refusedBy("skip an item of "+shape, "WithSkip", err)
			if err == nil || !strings.Contains(err.Error(), "PauseParent") {
				s.Errorf("skip an item of %s: %v", shape, err)
			}

			s.forget()
			id := s.as(shape, taskkit.WithChildFailure(taskkit.PauseParent))
			s.until("the task is paused", func() bool { return s.task(id).Control == taskkit.ControlPause })
			children, err := s.client.Children(s.Context(), id, taskkit.ID{}, 100)
			if err != nil {
				s.Fatal(err)
			}
			for _, child := range children {
				if child.Status != taskkit.StatusFailure {
					continue
				}
				if _, err := s.client.Retry(s.Context(), child.ID, taskkit.WithSkip()); err != nil {
					s.Fatal(err)
				}
			}
			if _, err := s.client.Resume(s.Context(), id); err != nil {
				s.Fatal(err)
			}
			if task, touched := s.ended(id), s.touched(); task.Status != taskkit.StatusCompleted || task.Progress.Failed != 13 || int64(touched) != task.Progress.Done {
				s.Errorf("%s: %s, %s, %+v, %d were processed", shape, task.Status, task.StatusDetail, task.Progress, touched)
			}
		}
	})
}
