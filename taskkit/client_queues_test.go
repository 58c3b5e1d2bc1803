package taskkit_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/taskops"
)

// A running task of a paused queue ends, a waiting one waits, one that is to end does, and all goes
// on when the queue is resumed.
func TestPausedQueue(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		entered, proceed := make(chan taskkit.ID, 10), make(chan taskkit.Next)
		k := newKind[countSpec, countState]("count", 10)
		x := &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			entered <- b.Task
			return <-proceed, nil
		}}
		started(t, db, registered[countSpec, countState](k, x), quick(t, db))
		c, ctx, ann := clientOf(db), t.Context(), uuid.New()
		running := submitted(t, db, k, countSpec{Items: 1})
		<-entered
		if err := taskops.New(c).PauseQueue(ctx, "default", taskkit.WithActor(ann), taskkit.WithReason("upgrade")); err != nil {
			t.Fatal(err)
		}
		waiting := submitted(t, db, k, countSpec{Items: 1})
		// It is claimed again after this batch, but for the pause, and then only to end.
		proceed <- taskkit.LaterAt(time.Now().Add(-time.Minute), "asks again")
		until(t, "the running task is back in the queue", func() bool {
			task, err := c.Task(ctx, running)
			return err == nil && task.Status == taskkit.StatusQueued
		})
		if _, err := c.Stop(ctx, running); err != nil {
			t.Fatal(err)
		}
		if task, err := c.Wait(testdb.Within(t), running, nil); err != nil || !task.Partial {
			t.Fatalf("the task that was stopped in a paused queue is %+v, %v", task, err)
		}
		queues, err := taskops.New(c).Queues(ctx)
		if err != nil || len(queues) != 1 {
			t.Fatalf("queues %+v, %v", queues, err)
		}
		q := queues[0]
		if !q.Paused || q.PausedBy != ann || q.PausedReason != "upgrade" || q.PausedDate == nil || q.Waiting != 1 || q.Due != 1 || q.Running != 0 || q.Workers != 1 || q.OldestDue == nil {
			t.Errorf("the queue is %+v", q)
		}
		if len(entered) > 0 {
			t.Errorf("task %s was claimed from a paused queue", <-entered)
		}
		if err := taskops.New(c).ResumeQueue(ctx, "default"); err != nil {
			t.Fatal(err)
		}
		if id := <-entered; id != waiting {
			t.Errorf("task %s runs, want %s", id, waiting)
		}
		proceed <- taskkit.Done
		if _, err := c.Wait(testdb.Within(t), waiting, nil); err != nil {
			t.Error(err)
		}
		if queues, err = taskops.New(c).Queues(ctx); err != nil || queues[0].Paused || queues[0].ResumedDate == nil || queues[0].Waiting != 0 {
			t.Errorf("the queue is %+v, %v", queues, err)
		}
	})
}

// Bad input is refused before the database is asked.
func TestPauseQueueRefused(t *testing.T) {
	t.Parallel()
	c := taskkit.NewClient(nil)
	for what, err := range map[string]error{
		"no name":  taskops.New(c).PauseQueue(t.Context(), ""),
		"NUL":      taskops.New(c).ResumeQueue(t.Context(), "a\x00"),
		"skip":     taskops.New(c).PauseQueue(t.Context(), "a", taskkit.WithSkip()),
		"no limit": taskops.New(c).ResumeQueue(t.Context(), "a", taskkit.WithStopAfter("5")),
	} {
		if _, ok := errors.AsType[*taskkit.OptionError](err); !ok {
			t.Errorf("%s: %v, want an OptionError", what, err)
		}
	}
}

// A worker in safe mode is shown as such, and explain says that it claims nothing.
func TestSafeModeShown(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		cfg, r := quick(t, db), &recorder{}
		cfg.SafeMode, cfg.Observer = true, r
		stop := started(t, db, registered(countKind, counting("w")), cfg)
		c := clientOf(db)
		id := submitted(t, db, countKind, countSpec{Items: 1})
		until(t, "the worker is shown in safe mode", func() bool {
			workers, err := taskops.New(c).Workers(t.Context())
			// Others see its row before it knows itself that it has registered.
			return err == nil && len(workers) == 1 && workers[0].SafeMode && workers[0].Alive && len(r.all()) > 0
		})
		if text, err := c.Explain(t.Context(), id); err != nil || !strings.Contains(text.Text, "safe mode") {
			t.Errorf("explain says %q, %v", text, err)
		}
		stop()
		if e, ok := r.all()[0].(taskevent.WorkerStarted); !ok || !e.SafeMode {
			t.Errorf("the first event is %#v", r.all()[0])
		}
		if task, err := c.Task(t.Context(), id); err != nil || task.Fence != 0 {
			t.Errorf("the task has fence %d, %v; want 0", task.Fence, err)
		}
	})
}
