package taskkit_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/taskkind"
)

// timedKind is a kind whose directive has lateststart= and timelimit=.
func timedKind(name string, latestStart, limit time.Duration) *taskkit.Kind[countSpec, countState, string] {
	return taskkit.NewKind(taskkind.Definition[countSpec, countState, string]{Name: name, BatchSize: 10, LatestStart: latestStart, TimeLimit: limit})
}

// The tasks of a kind have the times of its directive unless they are submitted with others.
func TestPTV39TimesOfTheKind(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		late, slow := timedKind("late", time.Millisecond, 0), timedKind("slow", time.Hour, 3*time.Second)
		tooLate := submitted(t, db, late, countSpec{})
		delayed := submitted(t, db, late, countSpec{}, taskkit.WithDelay(time.Minute))
		inTime := submitted(t, db, late, countSpec{}, taskkit.WithLatestStart(time.Now().Add(time.Hour)))
		tooLong := submitted(t, db, slow, countSpec{Items: 1 << 40})
		longer := submitted(t, db, slow, countSpec{}, taskkit.WithTimeLimit(time.Hour))
		var r taskkit.Registry
		taskkit.Register(&r, late, &funcs[countSpec, countState]{execute: doneAtOnce})
		taskkit.Register(&r, slow, slowly(endless()))
		started(t, db, &r, quick(t, db))
		for id, code := range map[taskkit.ID]string{tooLate: "started_too_late", tooLong: "time_limit_exceeded"} {
			if task := ended(t, db, id); task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, code+": ") {
				t.Errorf("want %s, got %s %s", code, task.Status, task.StatusDetail)
			}
		}
		if task := ended(t, db, inTime); task.Status != taskkit.StatusCompleted {
			t.Errorf("with a latest start of its own: %s %s", task.Status, task.StatusDetail)
		}
		client := clientOf(db)
		// What continues a task begins anew with the times of the kind, and one that is delayed begins later.
		next, err := client.Continue(t.Context(), tooLong)
		if err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, next); !strings.HasPrefix(task.StatusDetail, "time_limit_exceeded: ") {
			t.Errorf("the rest of it: %s %s", task.Status, task.StatusDetail)
		}
		if task, err := client.Task(t.Context(), delayed); err != nil || task.Status != taskkit.StatusQueued {
			t.Errorf("delayed: %+v, %v", task, err)
		}
		if _, err := client.Stop(t.Context(), longer); err != nil {
			t.Error(err)
		}
	})
}

// A waiting task with times cannot be replaced, and a kind has no negative ones.
func TestPTV39RefusedTimes(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	for _, k := range []*taskkit.Kind[countSpec, countState, string]{timedKind("late", time.Hour, 0), timedKind("slow", 0, time.Hour)} {
		_, err := taskkit.Submit(t.Context(), db.DB, k, countSpec{}, taskkit.System(), taskkit.WithCoalescing("r"))
		if e, ok := errors.AsType[*taskkit.OptionError](err); !ok || e.Option != "WithCoalescing" || !strings.Contains(err.Error(), "lateststart= or timelimit=") {
			t.Errorf("%s: %v", k.Name(), err)
		}
	}
	for _, times := range [][2]time.Duration{{-1, 0}, {0, -1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a kind has the times %v", times)
				}
			}()
			timedKind("negative", times[0], times[1])
		}()
	}
}

// What waits beyond its latest start or its deadline fails by itself, also where no worker serves its queue and no slot is
// free; what has been requested of it waits on.
func TestPTV39ExpiresInTheQueue(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("waits", 10)
		release := make(chan struct{})
		x := &funcs[countSpec, countState]{execute: func(ctx context.Context, _ *countBatch) (taskkit.Next, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return taskkit.Done, ctx.Err()
		}}
		c, r := quick(t, db), &recorder{}
		c.Slots, c.Observer = 1, r
		defer started(t, db, registered(k, x), taskkit.CleanEvery(c, 10*time.Millisecond))()
		defer close(release)
		busy := submitted(t, db, k, countSpec{})
		until(t, "the only slot is taken", func() bool {
			task, err := clientOf(db).Task(t.Context(), busy)
			return err == nil && task.Status == taskkit.StatusExecuting
		})
		past := time.Now().Add(-time.Second)
		elsewhere := taskkit.WithQueue("unserved")
		late := map[taskkit.ID]string{
			submitted(t, db, k, countSpec{}, elsewhere, taskkit.WithLatestStart(past)):                     "started_too_late",
			submitted(t, db, k, countSpec{}, elsewhere, taskkit.WithDeadline(past)):                        "deadline_exceeded",
			submitted(t, db, k, countSpec{}, taskkit.WithDelay(time.Hour), taskkit.WithDeadline(past)):     "deadline_exceeded",
			submitted(t, db, k, countSpec{}, taskkit.WithLatestStart(time.Now().Add(50*time.Millisecond))): "started_too_late",
			submitted(t, db, timedKind("nobody", time.Millisecond, 0), countSpec{}):                        "started_too_late",
		}
		later := submitted(t, db, k, countSpec{}, elsewhere, taskkit.WithLatestStart(time.Now().Add(time.Hour)))
		for id, code := range late {
			if task := ended(t, db, id); task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, code+": ") {
				t.Errorf("want %s, got %s %s", code, task.Status, task.StatusDetail)
			}
		}
		until(t, "the worker has said so", func() bool {
			n := 0
			for _, e := range r.all() {
				if e, ok := e.(taskevent.TasksExpired); ok {
					n += e.Tasks
				}
			}
			return n == len(late)
		})
		if task, err := clientOf(db).Task(t.Context(), later); err != nil || task.Status != taskkit.StatusQueued {
			t.Errorf("in time: %+v, %v", task, err)
		}
	})
}
