package taskkit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// firing runs a worker that fires schedules of nightlyKind, and keeps its events.
func firing(t *testing.T, db *testdb.DB) *scheduleEvents {
	t.Helper()
	o := new(scheduleEvents)
	c := taskkit.ScheduleEvery(quick(t, db), 20*time.Millisecond)
	c.Observer = o
	started(t, db, endsAtOnce(nightlyKind), c)
	return o
}

// happened waits for something that events say.
func (o *scheduleEvents) happened(t *testing.T, what string, so func() bool) {
	t.Helper()
	until(t, what, func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return so()
	})
}

// reasonsOf returns the reasons of all tasks of a schedule.
func reasonsOf(t *testing.T, db *testdb.DB, name string) (reasons []string) {
	t.Helper()
	tasks, _, err := clientOf(db).Tasks(t.Context(), taskkit.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if reason, is := strings.CutPrefix(task.Reason, "schedule "+name); is {
			reasons = append(reasons, strings.TrimPrefix(reason, " at "))
		}
	}
	slices.Sort(reasons)
	return reasons
}

// yearly fires once a year, so that nothing comes between.
const yearly = "0 0 1 1 *"

// newYear is its last fire.
func newYear() time.Time { return time.Date(time.Now().UTC().Year(), 1, 1, 0, 0, 0, 0, time.UTC) }

// A fire and a trigger while the last task has not ended do what the policy of the schedule says.
func TestScheduleOverlap(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		table := "taskkit_schedule"
		if db.Schema != "" {
			table = `"` + db.Schema + `".` + table
		}
		client, ops := clientOf(db), taskops.New(clientOf(db))
		open := make(map[string]taskkit.ID)
		for _, name := range []string{"skip", "buffer", "allow"} {
			made := planned(t, db, name, taskops.Schedule{Cron: yearly, Overlap: taskops.Overlap(strings.TrimPrefix(name, "skip"))})
			if string(made.Overlap) != name {
				t.Errorf("the policy of %s is %s", name, made.Overlap)
			}
			id, err := taskkit.Submit(t.Context(), db, nightlyKind, countSpec{Items: 1}, taskkit.System(), taskkit.WithSchema(schemaOf(db)))
			if err == nil {
				_, err = client.Pause(t.Context(), id)
			}
			if err == nil {
				_, err = db.ExecContext(t.Context(), "UPDATE "+table+" SET last_task_id = $1 WHERE name = $2", id.String(), name)
			}
			if err != nil {
				t.Fatal(err)
			}
			open[name] = id
			overdue(t, db, name, newYear())
		}
		o := firing(t, db)
		wall := newYear().Format("2006-01-02 15:04")
		until(t, "all are handled", func() bool {
			return schedule(t, db, "skip").Next.At.After(time.Now()) && schedule(t, db, "buffer").Next.At.After(time.Now()) && len(reasonsOf(t, db, "allow")) == 1
		})
		o.happened(t, "a fire is skipped", func() bool { return len(o.skipped) == 1 })
		if e := o.skipped[0]; e.Schedule != "skip" || e.Wall != wall || e.Task != open["skip"] || e.Policy != "skip" {
			t.Errorf("skipped: %+v", e)
		}
		if s := schedule(t, db, "buffer"); s.Buffered != wall+" UTC" {
			t.Errorf("buffered: %+v", s)
		}
		// One is buffered, and no more. A trigger waits too.
		overdue(t, db, "buffer", newYear())
		o.happened(t, "the second one is skipped", func() bool { return len(o.skipped) == 2 && o.skipped[1].Schedule == "buffer" })
		if _, err := ops.TriggerSchedule(t.Context(), "skip"); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(reasonsOf(t, db, "skip"), reasonsOf(t, db, "buffer")); got != "[] []" {
			t.Errorf("tasks beside the open ones: %s", got)
		}
		for _, name := range []string{"skip", "buffer"} {
			if _, err := client.Stop(t.Context(), open[name]); err != nil {
				t.Fatal(err)
			}
		}
		until(t, "the buffered one and the triggered one have tasks", func() bool {
			return fmt.Sprint(reasonsOf(t, db, "skip"), reasonsOf(t, db, "buffer")) == "[, triggered] ["+wall+" UTC]"
		})
		until(t, "the last one has ended and the next is due", func() bool {
			task, err := client.Task(t.Context(), schedule(t, db, "skip").LastTask)
			return err == nil && task.Ended()
		})
		overdue(t, db, "skip", newYear())
		until(t, "it fires again", func() bool { return len(reasonsOf(t, db, "skip")) == 2 })
		if s := schedule(t, db, "buffer"); s.Buffered != "" || s.LastWall != wall {
			t.Errorf("in the end: %+v", s)
		}
	})
}

// The tasks of a schedule have its options, and a unique key that another task has skips a fire.
func TestScheduleOptions(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		in := taskkit.WithSchema(schemaOf(db))
		s := planned(t, db, "nightly", taskops.Schedule{Cron: yearly}, taskkit.WithUniqueKey("one"), taskkit.WithLimit("crm", 2), taskkit.WithTimeLimit(time.Hour),
			taskkit.WithWindow("00:00-24:00 UTC"))
		if s.UniqueKey != "one" || s.Limits["crm"] != 2 || s.TimeLimit != time.Hour || s.Window != "00:00-24:00 UTC" {
			t.Errorf("stored: %+v", s)
		}
		changed, err := taskops.New(clientOf(db)).SetSchedule(t.Context(), "nightly", "", nil, taskops.Schedule{}, taskkit.WithTimeLimit(2*time.Hour))
		if err != nil || changed.UniqueKey != "one" || changed.Limits["crm"] != 2 || changed.TimeLimit != 2*time.Hour || changed.Window != s.Window {
			t.Errorf("changed without the kind: %+v, %v", changed, err)
		}
		id, err := taskkit.Submit(t.Context(), db, nightlyKind, countSpec{Items: 1}, taskkit.System(), in, taskkit.WithUniqueKey("one"), taskkit.WithDelay(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		overdue(t, db, "nightly", newYear())
		o := firing(t, db)
		o.happened(t, "the fire is skipped", func() bool { return len(o.skipped) == 1 })
		if e := o.skipped[0]; e.Policy != "unique key" || e.Wall != newYear().Format("2006-01-02 15:04") {
			t.Errorf("skipped: %+v", e)
		}
		if got := schedule(t, db, "nightly"); got.LastError != "" || got.LastTask != (taskkit.ID{}) {
			t.Errorf("after that: %+v", got)
		}
		if _, err := clientOf(db).Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		overdue(t, db, "nightly", newYear())
		until(t, "it fires", func() bool { return schedule(t, db, "nightly").LastTask != (taskkit.ID{}) })
		task, err := clientOf(db).Task(t.Context(), schedule(t, db, "nightly").LastTask)
		if err != nil || task.UniqueKey != "one" {
			t.Fatalf("the task: %+v, %v", task, err)
		}
		var options string
		plans := "taskkit_task_plan"
		if db.Schema != "" {
			plans = `"` + db.Schema + `".` + plans
		}
		if err := db.QueryRowContext(t.Context(), "SELECT CAST(options AS text) FROM "+plans+" WHERE task_id = $1", task.ID.String()).Scan(&options); err != nil ||
			!strings.Contains(options, `"crm"`) || !strings.Contains(options, "7200000000000") || !strings.Contains(options, "00:00-24:00 UTC") {
			t.Errorf("its options: %s, %v", options, err)
		}
	})
}

// Fires that are due when the expression or the zone changes are made by the former ones, by the policy of the schedule,
// also if it was paused, and after several changes.
func TestScheduleChangedWhileDue(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		ops := taskops.New(clientOf(db))
		first := time.Now().UTC().Truncate(time.Hour).Add(-3 * time.Hour)
		hourly := func(m taskops.Misfire) taskops.Schedule { return taskops.Schedule{Cron: "0 * * * *", Misfire: m} }
		later := func(m taskops.Misfire, zone string) taskops.Schedule {
			return taskops.Schedule{Cron: yearly, Zone: zone, Misfire: m}
		}
		policies := map[string]taskops.Misfire{"once": taskops.MisfireOnce, "all": taskops.MisfireAll, "forget": taskops.MisfireForget, "paused": taskops.MisfireOnce}
		for name, m := range policies {
			planned(t, db, name, hourly(m))
			overdue(t, db, name, first)
			if name == "paused" {
				if _, err := ops.PauseSchedule(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
			if s := planned(t, db, name, later(m, "Europe/Oslo")); !s.Overdue || !s.Next.At.After(time.Now()) {
				t.Errorf("%s after the change: %+v", name, s)
			}
		}
		for _, next := range []struct {
			s   taskops.Schedule
			due time.Time
		}{{hourly(taskops.MisfireOnce), first}, {later(taskops.MisfireOnce, "UTC"), newYear()}, {later(taskops.MisfireOnce, "Europe/Oslo"), time.Time{}}} {
			next.s.Overlap = taskops.OverlapAllow
			if planned(t, db, "twice", next.s); !next.due.IsZero() {
				overdue(t, db, "twice", next.due)
			}
		}

		o := firing(t, db)
		until(t, "they are made", func() bool {
			for _, name := range []string{"once", "all", "forget", "twice"} {
				if schedule(t, db, name).Overdue {
					return false
				}
			}
			return true
		})
		if s := schedule(t, db, "paused"); !s.Overdue || s.LastFired != nil {
			t.Errorf("the paused one: %+v", s)
		}
		if _, err := ops.ResumeSchedule(t.Context(), "paused"); err != nil {
			t.Fatal(err)
		}
		until(t, "the paused one is made", func() bool { return !schedule(t, db, "paused").Overdue })
		o.happened(t, "all is reported", func() bool { return len(o.missed) >= 6 })
		// If an hour has begun meanwhile, one more is due.
		for name, want := range map[string][]int{"once": {1, 2}, "all": {4, 5}, "forget": {0, 1}, "twice": {2, 3}, "paused": {1, 2}} {
			reasons := reasonsOf(t, db, name)
			if len(reasons) < want[0] || len(reasons) > want[1] {
				t.Errorf("%s has the tasks %v", name, reasons)
			}
			for _, reason := range reasons {
				if !strings.HasSuffix(reason, " UTC") {
					t.Errorf("%s has a task for %s, want the former zone", name, reason)
				}
			}
			if s := schedule(t, db, name); !strings.Contains(s.Next.Wall, "-01-01 00:00") || s.Zone != "Europe/Oslo" {
				t.Errorf("%s goes on with %+v", name, s)
			}
		}
	})
}

// A schedule that cannot submit its tasks reports all fires that have none.
func TestScheduleFailsForAll(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		first := time.Now().UTC().Truncate(time.Hour).Add(-2 * time.Hour)
		table := "taskkit_schedule"
		if db.Schema != "" {
			table = `"` + db.Schema + `".` + table
		}
		for name, m := range map[string]taskops.Misfire{"once": taskops.MisfireOnce, "all": taskops.MisfireAll} {
			planned(t, db, name, taskops.Schedule{Cron: "0 * * * *", Misfire: m})
			if _, err := db.ExecContext(t.Context(), "UPDATE "+table+` SET execution_spec = '{"items":"many"}' WHERE name = $1`, name); err != nil {
				t.Fatal(err)
			}
			overdue(t, db, name, first)
		}
		o := firing(t, db)
		o.happened(t, "the fires are reported", func() bool { return len(o.missed) >= 2 && len(o.failed) >= 4 })
		o.mu.Lock()
		defer o.mu.Unlock()
		walls := make(map[string]int)
		for _, e := range o.failed {
			walls[e.Schedule]++
		}
		for _, e := range o.missed {
			if e.First != first.Format("2006-01-02 15:04") || e.Submitted != 0 {
				t.Errorf("missed: %+v", e)
			}
		}
		if walls["all"] < 3 || walls["once"] < 1 || walls["once"] > 2 {
			t.Errorf("failures: %+v", o.failed)
		}
	})
}

// Two programs that set one schedule to different definitions in turn are reported.
func TestScheduleAlternates(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		a, b := taskops.Schedule{Cron: yearly}, taskops.Schedule{Cron: "0 0 2 1 *"}
		for i, want := range []int{0, 0, 1, 2, 3} {
			s := []taskops.Schedule{a, b}[i%2]
			planned(t, db, "disputed", s)
			if got := planned(t, db, "disputed", s).Alternations; got != want { // again, which is no change
				t.Errorf("change %d: %d alternations, want %d", i, got, want)
			}
		}
		planned(t, db, "moved", a)
		planned(t, db, "moved", b)
		overdue(t, db, "disputed", newYear())
		overdue(t, db, "moved", newYear().AddDate(0, 0, 1))
		o := firing(t, db)
		o.happened(t, "both fire", func() bool { return len(o.fired) == 2 })
		o.mu.Lock()
		defer o.mu.Unlock()
		if len(o.alternates) != 1 || o.alternates[0].Schedule != "disputed" || o.alternates[0].Changes != 3 {
			t.Errorf("reported: %+v", o.alternates)
		}
		if got := schedule(t, db, "disputed"); got.Alternations != 3 {
			t.Errorf("after the fire: %+v", got)
		}
	})
}
