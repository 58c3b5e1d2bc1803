package taskkit_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// TestRoles does what a submitter, a reader, an operator and a worker do, each as a role with exactly the rights of
// docs/operations.md, and what they may not do is refused.
func TestRoles(t *testing.T) {
	t.Parallel()
	owner := migrated(t, testdb.Postgres(t))
	makeTouch(t, owner.DB)
	roles := testdb.NewRoles(t, owner, "../docs/operations.md")
	submitter, reader, operator, worker := roles.As("submitter"), roles.As("reader"), roles.As("operator"), roles.As("worker")
	if _, err := owner.ExecContext(t.Context(), "GRANT INSERT ON touch TO "+roles.Name("worker")); err != nil {
		t.Fatal(err)
	}
	k := newKind[countSpec, countState]("count", 10)
	x := &aborting[countSpec, countState]{
		funcs: funcs[countSpec, countState]{execute: func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			if b.Spec.Items == 13 {
				return taskkit.More, taskkit.Permanent("unlucky", errors.New("13 items"))
			}
			b.Total(b.Spec.Items)
			return taskkit.Done, touch(ctx, b.Tx, b.Task, 0, b.Spec.Items, "worker")
		}},
		abort:  func(context.Context, *countBatch) error { return nil },
		report: func(context.Context, *countBatch) (string, error) { return "result", nil },
	}
	ctx, ann := t.Context(), uuid.New()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	refused := func(what string, err error) {
		t.Helper()
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "42501" {
			t.Errorf("%s: %v, want that the server refuses it", what, err)
		}
	}
	request := []taskkit.RequestOption{taskkit.WithActor(ann), taskkit.WithReason("because")}

	// A submission in the transaction of a service, with all kinds of keys.
	id := submitted(t, submitter, k, countSpec{Items: 5}, taskkit.WithUniqueKey("u"), taskkit.WithIdempotencyKey("i"))
	for _, key := range []taskkit.SubmitOption{taskkit.WithUniqueKey("u"), taskkit.WithIdempotencyKey("i")} {
		_, err := taskkit.Submit(ctx, submitter.DB, k, countSpec{}, taskkit.System(), taskkit.WithSchema(schemaOf(submitter)), key)
		if e, ok := errors.AsType[*taskkit.DuplicateError](err); !ok || e.ID != id {
			t.Errorf("submitted again: %v, want the duplicate of %s", err, id)
		}
	}
	later := submitted(t, submitter, k, countSpec{Items: 1}, taskkit.WithDelay(time.Hour), taskkit.WithDeadline(time.Now().Add(48*time.Hour)))
	bad := submitted(t, submitter, k, countSpec{Items: 13})
	_, err := clientOf(submitter).Task(ctx, id)
	refused("a submitter reads", err)
	if want := fmt.Sprintf("role %q lacks a right: see Roles in docs/operations.md", roles.Name("submitter")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a submitter reads: %v, want %s", err, want)
	}
	_, err = clientOf(submitter).Pause(ctx, later, request...)
	refused("a submitter pauses", err)
	_, err = taskkit.Submit(ctx, reader.DB, k, countSpec{}, taskkit.System(), taskkit.WithSchema(schemaOf(reader)))
	refused("a reader submits", err)

	stop := started(t, worker, registered[countSpec, countState](k, x), quick(t, worker))
	ended(t, reader, id)
	ended(t, reader, bad)

	c := clientOf(reader)
	_, err = c.Task(ctx, id)
	ok(err)
	_, _, err = c.Tasks(ctx, taskkit.Filter{})
	ok(err)
	_, _, err = c.Counts(ctx, "count")
	ok(err)
	_, err = c.Explain(ctx, later)
	ok(err)
	_, err = c.Attempts(ctx, bad, 10)
	ok(err)
	_, err = c.Progress(ctx, id)
	ok(err)
	if r, err := taskkit.Fetch(ctx, c, k, id); err != nil || r != "result" {
		t.Errorf("fetch: %q, %v", r, err)
	}
	_, err = c.Pause(ctx, later, request...)
	refused("a reader pauses", err)
	refused("a reader pauses a queue", taskops.New(c).PauseQueue(ctx, "default", request...))

	c = clientOf(operator)
	for _, f := range []func(context.Context, taskkit.ID, ...taskkit.RequestOption) (*taskkit.Task, error){c.Pause, c.Resume, c.Stop} {
		_, err = f(ctx, later, request...)
		ok(err)
	}
	ended(t, operator, later)
	_, err = c.Delete(ctx, later, request...)
	ok(err)
	_, err = c.Retry(ctx, bad, request...)
	ok(err)
	ended(t, operator, bad)
	ops := taskops.New(c)
	_, err = ops.Dead(ctx, taskops.DeadFilter{})
	ok(err)
	_, err = ops.DropDead(ctx, taskops.DeadFilter{Kinds: []string{"count"}}, request...)
	ok(err)
	ok(ops.PauseQueue(ctx, "default", request...))
	ok(ops.ResumeQueue(ctx, "default", request...))
	ok(ops.SetLimit(ctx, "key", 2, request...))
	ok(taskops.SetSchedule(ctx, operator.DB, k, "nightly", countSpec{Items: 1}, taskops.Schedule{Cron: "0 3 * * *"}, taskkit.WithSchema(schemaOf(operator))))
	_, err = ops.TriggerSchedule(ctx, "nightly", request...)
	ok(err)
	until(t, "the schedule has fired", func() bool {
		s, err := ops.Schedule(ctx, "nightly")
		return err == nil && s.LastTask != taskkit.ID{}
	})
	ok(ops.DeleteSchedule(ctx, "nightly"))
	_, err = ops.PruneEvents(ctx, time.Nanosecond, 100)
	ok(err)
	_, err = operator.ExecContext(ctx, "UPDATE "+table(operator, "taskkit_task_event")+" SET reason = 'x'")
	refused("an operator changes an event", err)
	refused("a worker pauses a queue", taskops.New(clientOf(worker)).PauseQueue(ctx, "default", request...))
	stop()

	roles.GrantMerging()
	merge := []taskkit.SubmitOption{taskkit.WithCoalescing("r"), taskkit.WithDelay(time.Hour)}
	first := submitted(t, submitter, k, countSpec{Items: 1}, merge...)
	if second := submitted(t, submitter, k, countSpec{Items: 2}, merge...); second != first {
		t.Errorf("merged into %s, want %s", second, first)
	}
	var tx *sql.Tx
	if tx, err = submitter.BeginTx(ctx, nil); err == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM "+table(submitter, "taskkit_queued_task"))
		_ = tx.Rollback()
	}
	refused("a submitter deletes", err)
}

// An operator raises a limit whose permits tasks had that have left their worker or ended: what is to be forgotten of them
// is left to the workers.
func TestOperatorRaisesLimit(t *testing.T) {
	t.Parallel()
	owner := migrated(t, testdb.Postgres(t))
	roles := testdb.NewRoles(t, owner, "../docs/operations.md")
	submitter, operator, worker := roles.As("submitter"), roles.As("operator"), roles.As("worker")
	begun := make(chan struct{}, 1)
	c := quick(t, worker)
	c.Drain = 100 * time.Millisecond
	stop := started(t, worker, registered(countKind, &funcs[countSpec, countState]{execute: func(ctx context.Context, _ *countBatch) (taskkit.Next, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return taskkit.Done, ctx.Err()
	}}), c)
	submitted(t, submitter, countKind, countSpec{}, taskkit.WithLimit("one", 1))
	<-begun
	second := submitted(t, submitter, countKind, countSpec{}, taskkit.WithLimit("one", 1))
	until(t, "the second waits", func() bool {
		task, err := clientOf(owner).Task(t.Context(), second)
		return err == nil && task.WaitingReason != ""
	})
	stop()
	if _, err := clientOf(operator).Stop(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	for _, atMost := range []int{2, 0} {
		if err := taskops.New(clientOf(operator)).SetLimit(t.Context(), "one", atMost); err != nil {
			t.Errorf("set to %d: %v", atMost, err)
		}
	}
}
