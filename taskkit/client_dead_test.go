package taskkit_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// Dead letters are grouped, retried and dropped in bulk. One that is refused does not keep the
// others, and each is recorded with who did it.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var mended atomic.Bool
		k := newKind[countSpec, countState]("count", 10)
		x := &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			switch {
			case mended.Load():
				return taskkit.Done, nil
			case b.Spec.Items == 2:
				return taskkit.More, taskkit.Permanent("other", errors.New("it says so"))
			}
			return taskkit.More, taskkit.Permanent("gone", errors.New("no such person: 7"))
		}}
		started(t, db, registered[countSpec, countState](k, x), quick(t, db))
		c, ctx, ann := clientOf(db), t.Context(), uuid.New()
		keyed := submitted(t, db, k, countSpec{Items: 1}, taskkit.WithUniqueKey("k"))
		ended(t, db, keyed)
		gone := submitted(t, db, k, countSpec{Items: 1})
		other := submitted(t, db, k, countSpec{Items: 2})
		ended(t, db, gone)
		ended(t, db, other)
		// Another task has the unique key of the first.
		later := submitted(t, db, k, countSpec{Items: 1}, taskkit.WithUniqueKey("k"), taskkit.WithDelay(time.Hour))
		dead, err := taskops.New(c).Dead(ctx, taskops.DeadFilter{})
		if err != nil {
			t.Fatal(err)
		}
		groups := dead.Groups
		if len(dead.Truncated) != 0 || len(groups) != 2 || groups[0].Code != "gone" || groups[0].Tasks != 2 || groups[0].Example != gone || groups[1].Code != "other" || groups[1].Kind != "count" {
			t.Fatalf("groups %+v, %v", groups, err)
		}
		mended.Store(true)
		of := taskops.DeadFilter{Kinds: []string{"count"}, Code: "gone"}
		if tasks, _, err := taskops.New(c).DeadTasks(ctx, of, taskkit.ID{}, 1); err != nil || len(tasks) != 1 || tasks[0].ID != gone {
			t.Errorf("the first page is %+v, %v", tasks, err)
		}
		if tasks, _, err := taskops.New(c).DeadTasks(ctx, of, gone, 0); err != nil || len(tasks) != 1 || tasks[0].ID != keyed {
			t.Errorf("the second page is %+v, %v", tasks, err)
		}
		report, err := taskops.New(c).RetryDead(ctx, of, taskkit.WithActor(ann), taskkit.WithReason("mended"))
		if err != nil || report.Done != 1 || report.Refused != 1 || report.Refusals[0].ID != keyed {
			t.Fatalf("retry: %+v, %v", report, err)
		}
		if _, ok := errors.AsType[*taskkit.DuplicateError](report.Refusals[0].Err); !ok || report.Refusals[0].Problem == "" {
			t.Errorf("the refusal is %v, want that the key is taken by %s", report.Refusals[0].Err, later)
		}
		if task := ended(t, db, gone); task.Status != taskkit.StatusCompleted {
			t.Errorf("the retried task is %s", task.Status)
		}
		events, err := c.Events(ctx, gone, 10)
		if err != nil || len(events) != 1 || events[0].Actor != ann || events[0].Reason != "mended" {
			t.Errorf("events %+v, %v", events, err)
		}
		if report, err = taskops.New(c).DropDead(ctx, taskops.DeadFilter{OlderThan: time.Hour}); err != nil || report.Done != 0 {
			t.Errorf("drop of old ones: %+v, %v", report, err)
		}
		if report, err = taskops.New(c).DropDead(ctx, taskops.DeadFilter{}, taskkit.WithActor(ann)); err != nil || report.Done != 2 || report.Refused != 0 {
			t.Errorf("drop: %+v, %v", report, err)
		}
		if _, err := c.Task(ctx, other); !errors.Is(err, taskkit.ErrNotFound) {
			t.Errorf("a dropped task: %v", err)
		}
		if dead, err = taskops.New(c).Dead(ctx, taskops.DeadFilter{}); err != nil || len(dead.Groups) != 0 {
			t.Errorf("groups %+v, %v", dead, err)
		}
		for what, err := range map[string]error{
			"age":  second(taskops.New(c).Dead(ctx, taskops.DeadFilter{OlderThan: -1})),
			"NUL":  second(taskops.New(c).Dead(ctx, taskops.DeadFilter{Code: "\x00"})),
			"skip": second(taskops.New(c).RetryDead(ctx, taskops.DeadFilter{}, taskkit.WithSkip())),
		} {
			if _, ok := errors.AsType[*taskkit.OptionError](err); !ok {
				t.Errorf("%s: %v, want an OptionError", what, err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }
