package taskkit_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// A canary processes exactly as many items as it is told, and the others after the approval.
func TestCanary(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		client, owner := clientOf(db), uuid.New()
		for name, c := range map[string]struct {
			execute func(context.Context, *numbersBatch) (taskkit.Next, error)
			options []taskkit.SubmitOption
		}{
			"take": {execute: func(ctx context.Context, b *numbersBatch) (taskkit.Next, error) { return touching(ctx, b, 7) }},
			"live": {execute: func(ctx context.Context, b *numbersBatch) (taskkit.Next, error) {
				from := b.State.Next
				b.State.Next = min(from+b.Limit, len(b.Spec.Numbers))
				b.Advance(b.State.Next - from)
				for i := from; i < b.State.Next; i++ {
					if i%7 == 6 {
						b.Fail(i, errPlanned)
					}
				}
				if err := touch(ctx, b.Tx, b.Task, from, b.State.Next, "w"); err != nil || b.State.Next < len(b.Spec.Numbers) {
					return taskkit.More, err
				}
				return taskkit.Done, nil
			}},
			"approval_too": {execute: func(ctx context.Context, b *numbersBatch) (taskkit.Next, error) { return touching(ctx, b, 7) }, options: []taskkit.SubmitOption{taskkit.WithApproval()}},
		} {
			k := badEvery("canary_"+name, "")
			id := submitted(t, db, k, below(60), append(c.options, taskkit.WithCanary(23), taskkit.OwnedBy(owner))...)
			stop := started(t, db, registered(k, &funcs[numbersSpec, countState]{execute: c.execute}), unhurried(t, db))
			task := paused(t, db, id)
			if p := task.Progress; p.Processed() != 23 || p.Failed != 3 {
				t.Errorf("%s: paused at %+v", name, p)
			}
			checkTouched(t, db.DB, id, 23)
			if failed := listed(t, db, id, taskkit.OutcomeFailed); len(failed) != 3 || failed[2].Text() != "20" {
				t.Errorf("%s: failed items %+v", name, failed)
			}
			if !strings.HasPrefix(task.ControlReason, "it waits for approval after its first 23 items") {
				t.Errorf("%s: paused because %s", name, task.ControlReason)
			}
			if text, err := client.Explain(t.Context(), id); err != nil || !strings.HasSuffix(text.Text, "approve continues it.") {
				t.Errorf("%s: explained as %s, %v", name, text, err)
			}
			_, err := client.Resume(t.Context(), id)
			refusedState(t, err, "approve it")
			by := owner
			if len(c.options) > 0 {
				_, err := client.Approve(t.Context(), id, taskkit.WithActor(owner))
				refusedState(t, err, "somebody other than its owner")
				by = uuid.New()
			}
			if _, err := client.Approve(t.Context(), id, taskkit.WithActor(by), taskkit.WithReason("fine")); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			task = ended(t, db, id)
			stop()
			if task.Status != taskkit.StatusCompleted || task.Progress.Processed() != 60 || task.Progress.Failed != 8 {
				t.Errorf("%s: ended as %s %+v", name, task.Status, task.Progress)
			}
			checkTouched(t, db.DB, id, 60)
			events, err := client.Events(t.Context(), id, 10)
			if err != nil || len(events) != 2 || events[0].Action != "approve" || events[0].Actor != by || events[0].Reason != "fine" {
				t.Errorf("%s: events %+v, %v", name, events, err)
			}
			_, err = client.Approve(t.Context(), id, taskkit.WithActor(by))
			refusedState(t, err, "only a task that waits for approval")
		}
	})
}

// A task that needs approval does not begin without it. It can be stopped and deleted, and
// a person's pause before a canary is an ordinary one.
func TestWithApproval(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		client, owner, runAs, submitter := clientOf(db), uuid.New(), uuid.New(), uuid.New()
		k := badEvery("approved", "")
		approval := []taskkit.SubmitOption{taskkit.OwnedBy(owner), taskkit.RunAs(runAs), taskkit.WithActor(submitter), taskkit.WithApproval()}
		id := submitted(t, db, k, below(20), approval...)
		stopped, deleted := submitted(t, db, k, below(20), approval...), submitted(t, db, k, below(20), approval...)
		begun := submitted(t, db, k, below(20), taskkit.WithCanary(5))
		canary := submitted(t, db, k, below(20), taskkit.WithCanary(20))
		_, err := client.Pause(t.Context(), canary)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Approve(t.Context(), canary, taskkit.WithActor(uuid.Max))
		refusedState(t, err, "does not wait for approval: resume it")
		plain := submitted(t, db, k, below(20))
		started(t, db, registered(k, &funcs[numbersSpec, countState]{execute: func(ctx context.Context, b *numbersBatch) (taskkit.Next, error) {
			return touching(ctx, b, 50)
		}}), unhurried(t, db))
		ended(t, db, plain)
		paused(t, db, begun)
		if _, err := client.Resume(t.Context(), canary); err != nil {
			t.Error(err)
		}
		ended(t, db, canary)
		for _, actor := range []uuid.UUID{owner, runAs, submitter} {
			_, err := client.Approve(t.Context(), id, taskkit.WithActor(actor))
			refusedState(t, err, "must come from somebody other than its owner, who submitted it, and the person as whom it runs")
		}
		task, err := client.Task(t.Context(), id)
		if err != nil || task.Checkpoints != 0 || task.Control != taskkit.ControlPause || task.ControlReason != "it waits for approval before its first batch, by a second person" {
			t.Errorf("before the approval: %+v, %v", task, err)
		}
		if _, err := client.Approve(t.Context(), id, taskkit.WithActor(uuid.Max)); err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
			t.Errorf("ended as %s", task.Status)
		}
		checkTouched(t, db.DB, id, 20)

		if task, err := client.Stop(t.Context(), stopped); err != nil || !task.Partial {
			t.Errorf("stopped: %+v, %v", task, err)
		}
		if _, err := client.Delete(t.Context(), deleted); err != nil {
			t.Error(err)
		}
		if _, err := client.Stop(t.Context(), begun); err != nil {
			t.Error(err)
		}
		if task := ended(t, db, begun); !task.Partial || task.Progress.Done != 5 {
			t.Errorf("stopped at its canary: %+v", task)
		}
		checkTouched(t, db.DB, stopped, 0)
		checkTouched(t, db.DB, begun, 5)
	})
}
