package taskkit_test

import (
	"errors"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// A task with a retention of its own is removed after it, earlier or later than the tasks of its kind, or never; so is what
// continues it.
func TestMID56Retention(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k, x := reporting("count")
		slow := newKind[countSpec, countState]("slow", 10)
		r := registered[countSpec, countState](k, x)
		taskkit.Register(r, slow, slowly(endless()))
		c := quick(t, db)
		c.Retention = taskkit.Retention{Ended: time.Hour}
		c.KindRetention = map[string]taskkit.Retention{"slow": {Ended: time.Millisecond}}
		gone := []taskkit.ID{
			submitted(t, db, k, countSpec{}, taskkit.WithRetention(time.Millisecond)),
			submitted(t, db, k, countSpec{}, taskkit.WithRetention(time.Hour), taskkit.WithRetention(50*time.Millisecond)),
			submitted(t, db, k, countSpec{}, taskkit.WithRetention(time.Millisecond), taskkit.WithLatestStart(time.Now().Add(time.Hour))),
		}
		stopped := submitted(t, db, slow, countSpec{Items: 1 << 40}, taskkit.WithRetention(time.Hour))
		stay := []taskkit.ID{
			submitted(t, db, k, countSpec{}), stopped,
			submitted(t, db, k, countSpec{}, taskkit.WithRetention(taskkit.Never)),
			submitted(t, db, k, countSpec{}, taskkit.WithRetention(time.Millisecond), taskkit.WithQueue("unserved")),
		}
		started(t, db, r, taskkit.CleanEvery(c, 10*time.Millisecond))
		client := clientOf(db)
		until(t, "it has begun", func() bool {
			task, err := client.Task(t.Context(), stopped)
			return err == nil && task.Progress.Done > 0
		})
		if _, err := client.Stop(t.Context(), stopped); err != nil {
			t.Fatal(err)
		}
		ended(t, db, stopped)
		next, err := client.Continue(t.Context(), stopped)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Stop(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		ended(t, db, next)
		// Of the same kind, without a retention of its own.
		other := submitted(t, db, slow, countSpec{Items: 1 << 40}, taskkit.WithTimeLimit(time.Second))
		for _, id := range append(gone, other) {
			until(t, "it is removed", func() bool {
				_, err := client.Task(t.Context(), id)
				return errors.Is(err, taskkit.ErrNotFound)
			})
		}
		for _, id := range append(stay, next) {
			if _, err := client.Task(t.Context(), id); err != nil {
				t.Errorf("it is kept for longer: %v", err)
			}
		}
	})
}

// The cleaner reads a task with a retention when it may be over, and not at each pass.
func TestMID56RetentionIsReadOnce(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k, x := reporting("count")
		c := quick(t, db)
		c.Retention = taskkit.Retention{Ended: time.Millisecond}
		id := submitted(t, db, k, countSpec{}, taskkit.WithRetention(time.Hour))
		plain := submitted(t, db, k, countSpec{})
		started(t, db, registered[countSpec, countState](k, x), taskkit.CleanEvery(c, 10*time.Millisecond))
		ended(t, db, id)
		until(t, "another is removed", func() bool {
			_, err := clientOf(db).Task(t.Context(), plain)
			return errors.Is(err, taskkit.ErrNotFound)
		})
		due := 0
		if err := db.QueryRow("SELECT count(*) FROM " + table(db, "taskkit_task_plan") + " WHERE expiry_date < CURRENT_TIMESTAMP").Scan(&due); err != nil || due != 0 {
			t.Errorf("%d plans are read at each pass, %v", due, err)
		}
		executeSQL(t, db.DB, "UPDATE "+table(db, "taskkit_task_plan")+" SET expiry_date = '2020-01-01 00:00:00.000'")
		until(t, "it was read too early, and is read again when it is over", func() bool {
			err := db.QueryRow("SELECT count(*) FROM " + table(db, "taskkit_task_plan") + " WHERE expiry_date > '2021-01-01'").Scan(&due)
			return err == nil && due == 1
		})
	})
}

// A retention that is none is refused, and so is one of a waiting task that can be replaced.
func TestMID56RefusedRetention(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	k := newKind[countSpec, countState]("count", 10)
	for option, opts := range map[string][]taskkit.SubmitOption{
		"WithRetention":  {taskkit.WithRetention(0)},
		"WithCoalescing": {taskkit.WithRetention(time.Hour), taskkit.WithCoalescing("r")},
	} {
		_, err := taskkit.Submit(t.Context(), db.DB, k, countSpec{}, append(opts, taskkit.System())...)
		if e, ok := errors.AsType[*taskkit.OptionError](err); !ok || e.Option != option {
			t.Errorf("%s: %v", option, err)
		}
	}
}

// Options that are one are applied in their order, also within others, and forget what WithSubmitted has set.
func TestMID56SubmitOptions(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("count", 10)
		var task taskkit.Task
		template := taskkit.SubmitOptions(taskkit.WithPriority(taskkit.PriorityLow), taskkit.SubmitOptions(taskkit.WithQueue("night"), taskkit.WithSubmitted(&task)))
		id := submitted(t, db, k, countSpec{}, template, taskkit.WithPriority(taskkit.PriorityHigh))
		if task.ID != id || task.Queue != "night" || task.Priority != taskkit.PriorityHigh {
			t.Errorf("submitted %+v", task)
		}
		if _, err := taskkit.Submit(t.Context(), db.DB, k, countSpec{}, template); err == nil || task.ID != (taskkit.ID{}) {
			t.Errorf("without an owner: %v, %+v", err, task)
		}
	})
}
