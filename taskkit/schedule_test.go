package taskkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "time/tzdata"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/taskops"
)

var nightlyKind = newKind[countSpec, countState]("nightly_count", 1)

// endsAtOnce registers a kind whose tasks end at once.
func endsAtOnce(k *taskkit.Kind[countSpec, countState, string]) *taskkit.Registry {
	return registered[countSpec, countState](k, &funcs[countSpec, countState]{
		execute: func(context.Context, *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			return taskkit.Done, nil
		},
	})
}

// planned makes a schedule.
func planned(tb testing.TB, db *testdb.DB, name string, s taskops.Schedule, opts ...taskkit.SubmitOption) *taskops.ScheduleInfo {
	tb.Helper()
	opts = append(opts, taskkit.WithSchema(schemaOf(db)))
	if err := taskops.SetSchedule(tb.Context(), db, nightlyKind, name, countSpec{Items: 1}, s, opts...); err != nil {
		tb.Fatal(err)
	}
	return schedule(tb, db, name)
}

func schedule(tb testing.TB, db *testdb.DB, name string) *taskops.ScheduleInfo {
	tb.Helper()
	s, err := taskops.New(clientOf(db)).Schedule(tb.Context(), name)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// overdue makes it so that a schedule in UTC was to fire some time ago.
func overdue(tb testing.TB, db *testdb.DB, name string, at time.Time) {
	tb.Helper()
	text := at.UTC().Format("2006-01-02 15:04:05.000")
	table := "taskkit_schedule"
	if db.Schema != "" {
		table = `"` + db.Schema + `".` + table
		text += "+00"
	}
	if _, err := db.ExecContext(tb.Context(), "UPDATE "+table+" SET next_date = $1, due_date = $1, next_wall = $2 WHERE name = $3",
		text, at.UTC().Format("2006-01-02 15:04"), name); err != nil {
		tb.Fatal(err)
	}
}

// scheduleEvents keeps the events of workers.
type scheduleEvents struct {
	mu     sync.Mutex
	fired  []taskevent.ScheduleFired
	missed []taskevent.ScheduleMissed
	failed []taskevent.ScheduleFailed

	skipped    []taskevent.ScheduleSkipped
	alternates []taskevent.ScheduleAlternates
}

func (o *scheduleEvents) Observe(_ context.Context, e taskevent.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch e := e.(type) {
	case taskevent.ScheduleFired:
		o.fired = append(o.fired, e)
	case taskevent.ScheduleMissed:
		o.missed = append(o.missed, e)
	case taskevent.ScheduleFailed:
		o.failed = append(o.failed, e)
	case taskevent.ScheduleSkipped:
		o.skipped = append(o.skipped, e)
	case taskevent.ScheduleAlternates:
		o.alternates = append(o.alternates, e)
	}
}

// A worker submits what was missed by the policy of each schedule, and the task says why.
func TestScheduleMisfires(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		person, other := uuid.New(), uuid.New()
		planned(t, db, "once", taskops.Schedule{Cron: "0 * * * *"}, taskkit.OwnedBy(person), taskkit.RunAs(other), taskkit.WithPriority(taskkit.PriorityLow))
		planned(t, db, "all", taskops.Schedule{Cron: "0 * * * *", Misfire: taskops.MisfireAll})
		planned(t, db, "forget", taskops.Schedule{Cron: "0 * * * *", Misfire: taskops.MisfireForget})
		planned(t, db, "later", taskops.Schedule{Cron: "0 0 29 2 *"})
		// In the second minute of an hour, at the earliest, every fire of that hour is late.
		first := time.Now().UTC().Truncate(time.Hour).Add(-3 * time.Hour)
		for _, name := range []string{"once", "all", "forget"} {
			overdue(t, db, name, first)
		}
		if late, later := schedule(t, db, "once").Late, schedule(t, db, "later").Late; late < 3*time.Hour || late > 5*time.Hour || later != 0 {
			t.Errorf("without a worker one schedule is %v late, and one that is not due %v", late, later)
		}
		o := new(scheduleEvents)
		c := taskkit.ScheduleEvery(quick(t, db), 20*time.Millisecond)
		c.Observer = o
		started(t, db, endsAtOnce(nightlyKind), c)
		until(t, "the schedules have fired", func() bool {
			return schedule(t, db, "once").LastFired != nil && schedule(t, db, "all").LastFired != nil && schedule(t, db, "forget").Next.At.After(time.Now())
		})
		reasons := make(map[string][]string)
		tasks, _, err := clientOf(db).Tasks(t.Context(), taskkit.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			name := strings.Fields(task.Reason)[1]
			reasons[name] = append(reasons[name], strings.TrimPrefix(task.Reason, "schedule "+name+" at "))
			if name == "once" && (task.Owner != person || task.RunAs != other || task.Priority != taskkit.PriorityLow || string(task.SpecJSON) != "" && string(task.SpecJSON) != `{"items":1}`) {
				t.Errorf("the task of the schedule: %+v", task)
			}
		}
		slices.Sort(reasons["all"])
		walls := func(n int) (all []string) {
			for i := range n {
				all = append(all, first.Add(time.Duration(i)*time.Hour).Format("2006-01-02 15:04")+" UTC")
			}
			return all
		}
		n := len(reasons["all"]) // 4, or 5 if an hour began meanwhile
		if n < 4 || n > 5 || !slices.Equal(reasons["all"], walls(n)) {
			t.Errorf("all: %v", reasons["all"])
		}
		if m := len(reasons["once"]); m < 1 || m > 2 {
			t.Errorf("once: %v", reasons["once"])
		}
		if m := len(reasons["forget"]); m > 1 {
			t.Errorf("forget: %v", reasons["forget"])
		}
		if s := schedule(t, db, "later"); s.LastFired != nil || len(s.Fires) != 5 || s.Next.Wall[4:] != "-02-29 00:00" {
			t.Errorf("later: %+v", s)
		}
		until(t, "the events are reported, which is after the commit", func() bool {
			o.mu.Lock()
			defer o.mu.Unlock()
			return len(o.fired) >= 2 && len(o.missed) >= 2
		})
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.missed[0].First != walls(1)[0][:16] {
			t.Errorf("events: %+v", o)
		}
		for _, f := range o.fired {
			wall, err := time.Parse("2006-01-02 15:04", f.Wall)
			if err != nil || f.Lag <= 0 || f.Lag > time.Since(wall)+time.Minute {
				t.Errorf("a lag of %v: %+v", f.Lag, f)
			}
		}
	})
}

// What nobody changed stays as it is, also the pause and the next fire.
func TestSetScheduleAgain(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		person := uuid.New()
		nightly := taskops.Schedule{Cron: "H 2 * * *", Zone: "Europe/Oslo"}
		var wg sync.WaitGroup
		for range 4 { // several instances of a program start
			wg.Go(func() {
				if err := taskops.SetSchedule(t.Context(), db, nightlyKind, "nightly", countSpec{Items: 1}, nightly, taskkit.WithSchema(schemaOf(db))); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		made := schedule(t, db, "nightly")
		if made.Version != 1 || made.CreatedBy != taskkit.SystemOwner || made.Owner != taskkit.SystemOwner || string(made.SpecJSON) != `{"items":1}` ||
			len(made.Fires) != 5 || made.Queue != "default" || made.Misfire != taskops.MisfireOnce {
			t.Errorf("made: %+v", made)
		}
		paused, err := taskops.New(clientOf(db)).PauseSchedule(t.Context(), "nightly", taskkit.WithActor(person), taskkit.WithReason("holidays"))
		if err != nil || !paused.Paused || paused.PausedBy != person || paused.PausedReason != "holidays" || paused.ModifiedBy != person {
			t.Fatalf("paused: %+v, %v", paused, err)
		}
		again := planned(t, db, "nightly", nightly)
		if again.Version != paused.Version || !again.Paused {
			t.Errorf("set again: %+v", again)
		}
		changed := planned(t, db, "nightly", nightly, taskkit.WithPriority(taskkit.PriorityIdle), taskkit.WithActor(person))
		if changed.Version != paused.Version+1 || !changed.Paused || *changed.Next != *again.Next || changed.Priority != taskkit.PriorityIdle || changed.ModifiedBy != person {
			t.Errorf("another priority: %+v", changed)
		}
		moved := planned(t, db, "nightly", taskops.Schedule{Cron: "H 5 * * *", Zone: "Europe/Oslo"})
		if !moved.Paused || moved.Next.Wall[11:13] != "05" {
			t.Errorf("another time: %+v", moved)
		}
		resumed, err := taskops.New(clientOf(db)).ResumeSchedule(t.Context(), "nightly")
		if err != nil || resumed.Paused || resumed.PausedReason != "" || resumed.PausedBy != uuid.Nil {
			t.Errorf("resumed: %+v, %v", resumed, err)
		}
		all, err := taskops.New(clientOf(db)).Schedules(t.Context())
		if err != nil || len(all) != 1 || all[0].Name != "nightly" || all[0].Next.Wall != moved.Next.Wall {
			t.Errorf("all: %v, %v", all, err)
		}
		if err := taskops.New(clientOf(db)).DeleteSchedule(t.Context(), "nightly"); err != nil {
			t.Error(err)
		}
		_, err = taskops.New(clientOf(db)).Schedule(t.Context(), "nightly")
		if !errors.Is(err, taskops.ErrNoSchedule) || !errors.Is(taskops.New(clientOf(db)).DeleteSchedule(t.Context(), "night\x00ly"), taskops.ErrNoSchedule) {
			t.Errorf("deleted: %v", err)
		}
		if _, err := taskops.New(clientOf(db)).TriggerSchedule(t.Context(), "nightly"); !errors.Is(err, taskops.ErrNoSchedule) {
			t.Errorf("trigger a schedule that was deleted: %v", err)
		}
	})
}

// Bad input is refused before anything is stored.
func TestSetScheduleRefused(t *testing.T) {
	t.Parallel()
	db := migrated(t, testdb.SQLite(t))
	for name, c := range map[string]struct {
		name  string
		s     taskops.Schedule
		field string
	}{
		"never":            {"s", taskops.Schedule{Cron: "0 0 30 2 *"}, "Cron"},
		"TZ=":              {"s", taskops.Schedule{Cron: "TZ="}, "Cron"},
		"CRON_TZ=":         {"s", taskops.Schedule{Cron: "CRON_TZ=Europe/Oslo 0 2 * * *"}, "Cron"},
		"hostile":          {"s", taskops.Schedule{Cron: "0 0 1--100000000 * *"}, "Cron"},
		"empty":            {"s", taskops.Schedule{}, "Cron"},
		"unknown zone":     {"s", taskops.Schedule{Cron: "0 2 * * *", Zone: "Europe/Olso"}, "Zone"},
		"Local":            {"s", taskops.Schedule{Cron: "0 2 * * *", Zone: "Local"}, "Zone"},
		"interval in zone": {"s", taskops.Schedule{Cron: "@every 1h", Zone: "Europe/Oslo"}, "Zone"},
		"policy":           {"s", taskops.Schedule{Cron: "0 2 * * *", Misfire: "twice"}, "Misfire"},
		"overlap":          {"s", taskops.Schedule{Cron: "0 2 * * *", Overlap: "twice"}, "Overlap"},
		"skip all":         {"s", taskops.Schedule{Cron: "0 2 * * *", Misfire: taskops.MisfireAll, Overlap: taskops.OverlapSkip}, "Overlap"},
		"buffer all":       {"s", taskops.Schedule{Cron: "0 2 * * *", Misfire: taskops.MisfireAll, Overlap: taskops.OverlapBuffer}, "Overlap"},
		"name":             {"A b", taskops.Schedule{Cron: "0 2 * * *"}, "Name"},
		"no name":          {"", taskops.Schedule{Cron: "0 2 * * *"}, "Name"},
		"long name":        {strings.Repeat("x", 10_000), taskops.Schedule{Cron: "0 2 * * *"}, "Name"},
	} {
		err := taskops.SetSchedule(t.Context(), db, nightlyKind, c.name, countSpec{}, c.s)
		if se, ok := errors.AsType[*taskops.ScheduleError](err); !ok || se.Field != c.field || len(err.Error()) > 500 {
			t.Errorf("%s: got %v, want a *ScheduleError of %s", name, err, c.field)
		}
		_, err = taskops.New(clientOf(db)).SetSchedule(t.Context(), c.name, nightlyKind.Name(), json.RawMessage("{}"), c.s)
		if se, ok := errors.AsType[*taskops.ScheduleError](err); !ok || se.Field != c.field {
			t.Errorf("%s, as JSON: got %v, want a *ScheduleError of %s", name, err, c.field)
		}
	}
	good := taskops.Schedule{Cron: "0 2 * * *"}
	err := taskops.SetSchedule(t.Context(), db, nightlyKind, "s", countSpec{Items: -1}, good)
	if _, ok := errors.AsType[*taskkit.SpecError](err); !ok {
		t.Errorf("a spec that breaks its rules: %v", err)
	}
	err = taskops.SetSchedule(t.Context(), db, nightlyKind, "s", countSpec{}, good, taskkit.WithDelay(time.Hour), taskkit.WithCoalescing("k"))
	if oe, ok := errors.AsType[*taskkit.OptionError](err); !ok || !strings.Contains(oe.Problem, "not WithCoalescing (its Overlap decides) and WithDelay") {
		t.Errorf("options of a task: %v", err)
	}
	for name, err := range map[string]error{
		"unknown kind": second(taskops.New(clientOf(db)).SetSchedule(t.Context(), "s", "unknown", json.RawMessage("{}"), good)),
		"bad kind":     second(taskops.New(clientOf(db)).SetSchedule(t.Context(), "s", "No!", json.RawMessage("{}"), good)),
		"no kind":      second(taskops.New(clientOf(db)).SetSchedule(t.Context(), "s", "", nil, good)),
		"bad spec":     second(taskops.New(clientOf(db)).SetSchedule(t.Context(), "s", nightlyKind.Name(), json.RawMessage("[1]"), good)),
		"empty spec":   second(taskops.New(clientOf(db)).SetSchedule(t.Context(), "s", nightlyKind.Name(), json.RawMessage(""), good)),
		"bad UTF-8":    second(taskops.New(clientOf(db)).SetSchedule(t.Context(), "s", nightlyKind.Name(), json.RawMessage("{\"a\":\"\xff\"}"), good)),
		"NUL":          second(taskops.New(clientOf(db)).SetSchedule(t.Context(), "s", nightlyKind.Name(), json.RawMessage(`{"a":"\u0000"}`), good)),
		"twice a name": second(taskops.New(clientOf(db)).SetSchedule(t.Context(), "s", nightlyKind.Name(), json.RawMessage(`{"a":1,"a":2}`), good)),
	} {
		if _, ok := errors.AsType[*taskops.ScheduleError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, err := taskops.New(clientOf(db)).Schedules(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("stored: %v, %v", all, err)
	}
}

// A schedule that cannot submit its task goes on with its next wall time, one of an unknown
// kind is left to others, and neither keeps another from being fired.
func TestScheduleFails(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		stranger := newKind[countSpec, countState]("stranger", 1)
		past := time.Now().UTC().Truncate(time.Hour).Add(-2 * time.Hour)
		hourly := taskops.Schedule{Cron: "0 * * * *"}
		planned(t, db, "good", hourly)
		if err := taskops.SetSchedule(t.Context(), db, stranger, "stranger", countSpec{}, hourly, taskkit.WithSchema(schemaOf(db))); err != nil {
			t.Fatal(err)
		}
		o := new(scheduleEvents)
		c := taskkit.ScheduleEvery(quick(t, db), 20*time.Millisecond)
		c.Observer = o
		started(t, db, endsAtOnce(nightlyKind), c)
		var bad *taskops.ScheduleInfo
		until(t, "the worker is known", func() bool {
			var err error
			bad, err = taskops.New(clientOf(db)).SetSchedule(t.Context(), "bad", nightlyKind.Name(), json.RawMessage(`{"items":"many"}`), hourly)
			return err == nil
		})
		if bad.SpecJSON != nil || bad.SpecRevision != 1 {
			t.Errorf("made without the kind: %+v", bad)
		}
		for _, name := range []string{"stranger", "bad", "good"} {
			overdue(t, db, name, past)
		}
		until(t, "the good schedule has fired", func() bool { return schedule(t, db, "good").LastFired != nil })
		until(t, "the error is recorded", func() bool { return schedule(t, db, "bad").LastError != "" })
		s := schedule(t, db, "bad")
		if !s.Next.At.After(time.Now()) || s.LastFired != nil || s.LastErrorAt == nil || !strings.Contains(s.LastError, "items") {
			t.Errorf("the bad one: %+v", s)
		}
		if s := schedule(t, db, "stranger"); s.Next.At.After(time.Now()) || s.LastError != "" {
			t.Errorf("the one of an unknown kind: %+v", s)
		}
		started(t, db, endsAtOnce(stranger), taskkit.ScheduleEvery(quick(t, db), 20*time.Millisecond))
		until(t, "a worker that knows the kind fires it", func() bool { return schedule(t, db, "stranger").LastFired != nil })
		s, err := taskops.New(clientOf(db)).SetSchedule(t.Context(), "bad", "", json.RawMessage(`{"items":2}`), taskops.Schedule{}, taskkit.WithQueue("elsewhere"))
		if err != nil || s.LastError != "" || s.Cron != hourly.Cron || s.Queue != "elsewhere" || s.Kind != nightlyKind.Name() {
			t.Errorf("mended: %+v, %v", s, err)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if len(o.failed) != 1 || o.failed[0].Schedule != "bad" || o.failed[0].Wall == "" {
			t.Errorf("failures: %+v", o.failed)
		}
	})
}

// explosiveSpec panics when it is decoded from a certain value.
type explosiveSpec struct {
	Fuse fuse `json:"fuse"`
}

type fuse string

func (f *fuse) UnmarshalText(text []byte) error {
	if *f = fuse(text); *f == "lit" {
		panic("the fuse is lit")
	}
	return nil
}

// A spec whose type panics is an error of its schedule, and the worker goes on.
func TestSchedulePanics(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[explosiveSpec, countState]("explosive", 1)
		started(t, db, registered(k, &funcs[explosiveSpec, countState]{
			execute: func(context.Context, *taskkit.Batch[explosiveSpec, countState]) (taskkit.Next, error) {
				return taskkit.Done, nil
			},
		}), taskkit.ScheduleEvery(quick(t, db), 20*time.Millisecond))
		hourly := taskops.Schedule{Cron: "0 * * * *"}
		until(t, "the worker is known", func() bool {
			_, err := taskops.New(clientOf(db)).SetSchedule(t.Context(), "bad", k.Name(), json.RawMessage(` {"fuse":"lit"}`), hourly)
			return err == nil
		})
		if err := taskops.SetSchedule(t.Context(), db, k, "good", explosiveSpec{}, hourly, taskkit.WithSchema(schemaOf(db))); err != nil {
			t.Fatal(err)
		}
		past := time.Now().UTC().Truncate(time.Hour).Add(-2 * time.Hour)
		overdue(t, db, "bad", past)
		until(t, "the error is recorded", func() bool { return strings.Contains(schedule(t, db, "bad").LastError, "the fuse is lit") })
		overdue(t, db, "good", past)
		until(t, "the good schedule has fired", func() bool { return schedule(t, db, "good").LastFired != nil })
	})
}

// Another spec is of the latest revision that a live worker reads, also if the kind is not given again. What changes
// anything else leaves the spec at its revision.
func TestSetScheduleRevision(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		yearly := taskops.Schedule{Cron: "0 0 29 2 *"}
		if err := taskops.SetSchedule(t.Context(), db, oldKind(), "s", oldSpec{Items: 1}, yearly, taskkit.WithSchema(schemaOf(db))); err != nil {
			t.Fatal(err)
		}
		started(t, db, newWork(newer(2, upgradeOld)), taskkit.ScheduleEvery(quick(t, db), 20*time.Millisecond))
		client := clientOf(db)
		until(t, "the worker is known", func() bool {
			_, err := taskops.New(client).SetSchedule(t.Context(), "other", "moved", json.RawMessage(`{"count":1}`), yearly)
			return err == nil
		})
		s, err := taskops.New(client).SetSchedule(t.Context(), "s", "", nil, taskops.Schedule{Zone: "Europe/Oslo"})
		if err != nil || s.SpecRevision != 1 {
			t.Errorf("another zone: %+v, %v", s, err)
		}
		s, err = taskops.New(client).SetSchedule(t.Context(), "s", "", json.RawMessage(`{"count":3}`), taskops.Schedule{})
		if err != nil || s.SpecRevision != 2 {
			t.Errorf("another spec: %+v, %v", s, err)
		}
		if _, err := taskops.New(client).TriggerSchedule(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		until(t, "the schedule has fired", func() bool { return !schedule(t, db, "s").Triggered })
		if s := schedule(t, db, "s"); s.LastError != "" || string(s.SpecJSON) != `{"count":3}` {
			t.Errorf("fired: %+v", s)
		}
	})
}

// A trigger submits one task, also while the schedule is paused, and leaves the next fire.
func TestTriggerSchedule(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		person := uuid.New()
		planned(t, db, "s", taskops.Schedule{Cron: "0 0 29 2 *"})
		client := clientOf(db)
		if _, err := taskops.New(client).PauseSchedule(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		asked, err := taskops.New(client).TriggerSchedule(t.Context(), "s", taskkit.WithActor(person), taskkit.WithReason("tried out"))
		if err != nil || !asked.Triggered {
			t.Fatalf("triggered: %+v, %v", asked, err)
		}
		if _, err := taskops.New(client).TriggerSchedule(t.Context(), "s", taskkit.WithSkip()); err == nil {
			t.Error("an option of another request was taken")
		}
		if twice, err := taskops.New(client).TriggerSchedule(t.Context(), "s"); err != nil || twice.Version != asked.Version {
			t.Errorf("triggered twice: %+v, %v", twice, err)
		}
		started(t, db, endsAtOnce(nightlyKind), taskkit.ScheduleEvery(quick(t, db), 20*time.Millisecond))
		until(t, "the schedule has fired", func() bool { return !schedule(t, db, "s").Triggered })
		s := schedule(t, db, "s")
		task := ended(t, db, s.LastTask)
		if task.CreatedBy != person || task.Owner != taskkit.SystemOwner || task.Reason != "schedule s, triggered: tried out" || !s.Paused || *s.Next != *asked.Next || s.LastWall != "" {
			t.Errorf("the task: %+v, %+v", task, s)
		}
	})
}

func TestNextFires(t *testing.T) {
	t.Parallel()
	fires, err := taskops.NextFires("30 2 * * *", "Europe/Oslo", "s", time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC), 2)
	if err != nil || len(fires) != 2 || fires[0].Wall != "2026-03-29 02:30" || fires[0].At.Format(time.RFC3339) != "2026-03-29T01:00:00Z" || fires[1].Wall != "2026-03-30 02:30" {
		t.Errorf("got %v, %v", fires, err)
	}
	if fires, err := taskops.NextFires("0 0 30 2 *", "", "s", time.Now(), 5); err != nil || fires != nil {
		t.Errorf("never: %v, %v", fires, err)
	}
	for _, c := range [][2]string{{"0 0 * *", ""}, {"never fires", ""}, {"0 0 * * *", "never fires"}, {"0 0 * * *", "Europe/Olso"}} {
		_, err := taskops.NextFires(c[0], c[1], "s", time.Now(), 5)
		if _, ok := errors.AsType[*taskops.ScheduleError](err); !ok {
			t.Errorf("%q in %q: got %v, want a *ScheduleError", c[0], c[1], err)
		}
	}
}
