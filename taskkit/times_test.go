package taskkit_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// closedWindow is a window that is closed for at least the next hours.
func closedWindow(now time.Time) string {
	from := now.UTC().Add(6 * time.Hour)
	return from.Format("15:04") + "-" + from.Add(time.Hour).Format("15:04") + " UTC"
}

// A task whose window is closed waits for it, says so, and spends no attempt.
func TestWindowIsClosed(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("window", 10)
		started(t, db, registered(k, &funcs[countSpec, countState]{execute: doneAtOnce}), quick(t, db))
		window := closedWindow(time.Now())
		id := submitted(t, db, k, countSpec{}, taskkit.WithWindow(window))
		until(t, "the task waits for its window", func() bool {
			task, err := clientOf(db).Task(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			wait := time.Until(task.NotBefore)
			return task.Status == taskkit.StatusQueued && task.WaitingReason == "its window "+window+" is closed" &&
				task.Attempts == 0 && wait > 5*time.Hour && wait < 7*time.Hour
		})
		why, err := clientOf(db).Explain(t.Context(), id)
		if err != nil || !strings.Contains(why.Text, window) {
			t.Errorf("explain: %s, %v", why, err)
		}
		if _, err := clientOf(db).Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || !task.Partial {
			t.Errorf("stopped while its window is closed: %+v", task)
		}
		open := submitted(t, db, k, countSpec{}, taskkit.WithWindow("00:00-24:00 Europe/Oslo"), taskkit.WithDeadline(time.Now().Add(time.Hour)),
			taskkit.WithLatestStart(time.Now().Add(time.Hour)), taskkit.WithTimeLimit(time.Hour), taskkit.WithMaxRate(1000))
		if task := ended(t, db, open); task.Status != taskkit.StatusCompleted {
			t.Errorf("in its window: %s %s", task.Status, task.StatusDetail)
		}
	})
}

// What expires fails the task with a code, before or after it has begun.
func TestDeadline(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("deadline", 10)
		past := time.Now().Add(-time.Hour)
		late := submitted(t, db, k, countSpec{}, taskkit.WithLatestStart(past))
		over := submitted(t, db, k, countSpec{}, taskkit.WithDeadline(past))
		limited := submitted(t, db, k, countSpec{Items: 1 << 40}, taskkit.WithTimeLimit(3*time.Second))
		started(t, db, registered(k, slowly(endless())), quick(t, db))
		for id, code := range map[taskkit.ID]string{late: "started_too_late", over: "deadline_exceeded", limited: "time_limit_exceeded"} {
			if task := ended(t, db, id); task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, code+": ") {
				t.Errorf("want %s, got %s %s", code, task.Status, task.StatusDetail)
			}
		}
		if task := ended(t, db, limited); task.Progress.Done == 0 {
			t.Error("nothing was done within the time limit")
		}
	})
}

// slowly makes each batch of an executor wait, so that one which never ends does not occupy the database.
func slowly(x *funcs[countSpec, countState]) *funcs[countSpec, countState] {
	execute := x.execute
	x.execute = func(ctx context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return taskkit.More, ctx.Err()
		}
		return execute(ctx, b)
	}
	return x
}

// endless counts one item a batch.
func endless() *funcs[countSpec, countState] {
	return &funcs[countSpec, countState]{execute: func(_ context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
		b.Advance(1)
		b.State.Next++
		return taskkit.More, nil
	}}
}

// The rate of a task can be changed before it runs and while it does, and its events say so.
func TestMaxRateIsChanged(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("rate", 10)
		id := submitted(t, db, k, countSpec{})
		for _, rate := range []float64{20, 0, 0.5} {
			if _, err := clientOf(db).Change(t.Context(), id, taskkit.Settings{MaxRate: new(float64(rate))}, taskkit.WithReason("busy")); err != nil {
				t.Fatal(err)
			}
		}
		events, err := clientOf(db).Events(t.Context(), id, 10)
		if err != nil || len(events) != 3 {
			t.Fatalf("events: %+v, %v", events, err)
		}
		var reasons []string
		for _, e := range events {
			reasons = append(reasons, e.Reason)
		}
		if got := strings.Join(reasons, "; "); !strings.Contains(got, "max rate 20: busy") || !strings.Contains(got, "no max rate: busy") {
			t.Errorf("events: %s", got)
		}
		var state *taskkit.StateError
		if _, err := clientOf(db).Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if _, err := clientOf(db).Change(t.Context(), id, taskkit.Settings{MaxRate: new(float64(1))}); !errors.As(err, &state) {
			t.Errorf("of a task that has ended: %v", err)
		}
		if _, err := clientOf(db).Change(t.Context(), taskkit.ID{1}, taskkit.Settings{MaxRate: new(float64(1))}); !errors.Is(err, taskkit.ErrNotFound) {
			t.Errorf("of no task: %v", err)
		}
	})
}

// A task that was submitted without a rate keeps to the one that it was given later from the first batch of a session
// on: of the first session, and of one after a pause.
func TestLaterMaxRateHolds(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("later_rate", 10)
		early, late := submitted(t, db, k, countSpec{Items: 1}), submitted(t, db, k, countSpec{Items: 2})
		give := func(id taskkit.ID) {
			t.Helper()
			if _, err := clientOf(db).Change(t.Context(), id, taskkit.Settings{MaxRate: new(float64(4))}); err != nil {
				t.Fatal(err)
			}
		}
		give(early)
		executes, resume, limits := make(chan struct{}), make(chan struct{}), make(chan int, 3)
		started(t, db, registered(k, &funcs[countSpec, countState]{execute: func(ctx context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			if b.State.Next == 0 && b.Spec.Items == 2 {
				close(executes)
				select {
				case <-resume:
				case <-ctx.Done():
				}
				b.State.Next++
				return taskkit.More, nil
			}
			limits <- b.Limit
			return taskkit.Done, nil
		}}), quick(t, db))
		<-executes
		if _, err := clientOf(db).Pause(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		close(resume)
		paused(t, db, late)
		give(late)
		if _, err := clientOf(db).Resume(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		for _, id := range []taskkit.ID{early, late} {
			ended(t, db, id)
			if limit := <-limits; limit != 2 { // half a second of work
				t.Errorf("a batch had a limit of %d, want 2", limit)
			}
		}
	})
}

func TestTimesAreChecked(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("times_bad", 10)
		for problem, opts := range map[string][]taskkit.SubmitOption{
			"it is empty: use":                   {taskkit.WithWindow("22:00-22:00 UTC")},
			"is empty on":                        {taskkit.WithWindow("02:00-03:00 Europe/Oslo")},
			`unknown time zone "Mars/Olympus"`:   {taskkit.WithWindow("22:00-23:00 Mars/Olympus")},
			"another form":                       {taskkit.WithWindow("")},
			"WithDeadline: the zero time: give":  {taskkit.WithDeadline(time.Time{})},
			"WithLatestStart":                    {taskkit.WithLatestStart(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))},
			"0s is not positive":                 {taskkit.WithTimeLimit(0)},
			"-1s is not positive":                {taskkit.WithTimeLimit(-time.Second)},
			"0 items a second":                   {taskkit.WithMaxRate(0)},
			"NaN items a second":                 {taskkit.WithMaxRate(math.NaN())},
			"+Inf items a second":                {taskkit.WithMaxRate(math.Inf(1))},
			"a window, a deadline":               {taskkit.WithMaxRate(1), taskkit.WithCoalescing("ref")},
			"waiting task with these cannot be ": {taskkit.WithWindow("22:00-23:00 UTC"), taskkit.WithCoalescing("ref")},
		} {
			_, err := taskkit.Submit(t.Context(), db.DB, k, countSpec{}, append(opts, taskkit.System(), taskkit.WithSchema(schemaOf(db)))...)
			var wrong *taskkit.OptionError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: got %v", problem, err)
			}
		}
		id := submitted(t, db, k, countSpec{})
		for _, rate := range []float64{-1, math.NaN(), 1e9} {
			var wrong *taskkit.OptionError
			if _, err := clientOf(db).Change(t.Context(), id, taskkit.Settings{MaxRate: new(float64(rate))}); !errors.As(err, &wrong) {
				t.Errorf("rate %g: %v", rate, err)
			}
		}
	})
}

// endlessRows is a kind whose buckets never end.
type endlessRows struct{ *rowsExecutor }

func (endlessRows) Execute(_ context.Context, b *rowsBatch) (taskkit.Next, error) {
	b.Advance(1)
	b.State.Rows++
	return taskkit.More, nil
}

// The buckets of a task end with its time limit.
func TestTimeLimitOfBuckets(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := rowsKind("limited_buckets")
		started(t, db, registered(k, endlessRows{&rowsExecutor{}}), quick(t, db))
		id := submitted(t, db, k, rowsSpec{Rows: 10, Buckets: 2}, taskkit.WithTimeLimit(500*time.Millisecond))
		if task := ended(t, db, id); task.Status != taskkit.StatusFailure || !strings.Contains(task.StatusDetail, "_exceeded: ") {
			t.Errorf("the task ended in %s %s", task.Status, task.StatusDetail)
		}
	})
}
