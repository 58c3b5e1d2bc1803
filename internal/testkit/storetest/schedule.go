package storetest

import (
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// errRefused is an error of whoever changes a schedule.
var errRefused = errors.New("refused")

// plannedAt makes a schedule whose next fire is some time from now.
func (e *env) plannedAt(name string, from time.Duration, change ...func(*store.Schedule)) store.Schedule {
	e.Helper()
	s, err := e.s.ChangeSchedule(e.ctx(), name, func(now time.Time, s *store.Schedule) error {
		at := now.Add(from).Truncate(time.Millisecond)
		s.Kind, s.Spec, s.Revision, s.Cron, s.Priority, s.Misfire = kind, json.RawMessage(`{"n": 1}`), 1, "0 2 * * *", 2, "once"
		s.Owner, s.RunAs, s.ModifiedBy = uuid.Max, uuid.Max, uuid.Max
		s.NextAt, s.NextWall = at, at.Format("2006-01-02 15:04")
		for _, f := range change {
			f(s)
		}
		return nil
	})
	e.ok(err)
	return s
}

// due reads what is due.
func (e *env) due(skip, limit int) store.SchedulesFound {
	e.Helper()
	f, err := e.s.DueSchedules(e.ctx(), store.DueSchedules{Kinds: map[string][]int{kind: {1}}, Skip: skip, Limit: limit})
	e.ok(err)
	return f
}

// schedules: what is stored is read as it was, and nothing is stored that does not change.
func schedules(e *env) {
	_, err := e.s.Schedule(e.ctx(), "none")
	is(e, "no such schedule", errors.Is(err, store.ErrNoSchedule), true)
	is(e, "to delete none", errors.Is(e.s.DeleteSchedule(e.ctx(), "none", uuid.Max, "because"), store.ErrNoSchedule), true)
	secret, who := "/spec/n", uuid.New()
	b := e.plannedAt("b", time.Hour, func(s *store.Schedule) {
		s.Secrets, s.Zone, s.Queue, s.Owner, s.RunAs = &secret, "Europe/Oslo", "nightly", uuid.New(), uuid.New()
		s.Paused, s.PausedBy, s.PauseReason = true, who, "holidays\x00"
		s.Overlap, s.Options, s.Buffered, s.Replaced, s.Alternations = "buffer", `{"unique_key":"k"}`, "2026-03-29 02:30 UTC", "hash", 2
		s.Overdue = []store.Overdue{{Cron: "0 1 * * *", Zone: "UTC", Wall: "2026-03-29 01:00", Until: time.Date(2026, 3, 29, 2, 0, 0, 0, time.UTC)}}
	})
	is(e, "version", b.Version, 1)
	is(e, "reason", b.PauseReason, "holidays\uFFFD")
	is(e, "made by", b.CreatedBy, uuid.Max)
	e.plannedAt("a", time.Hour)
	got, err := e.s.Schedule(e.ctx(), "b")
	e.ok(err)
	is(e, "schedule", got, b)
	again, err := e.s.ChangeSchedule(e.ctx(), "b", func(_ time.Time, s *store.Schedule) error {
		is(e, "schedule to change", *s, b)
		return nil
	})
	e.ok(err)
	is(e, "not changed", again, b)
	_, err = e.s.ChangeSchedule(e.ctx(), "b", func(_ time.Time, s *store.Schedule) error { s.Paused = false; return errRefused })
	is(e, "refused", err, errRefused)
	changed, err := e.s.ChangeSchedule(e.ctx(), "b", func(_ time.Time, s *store.Schedule) error {
		s.Paused, s.PausedBy, s.PauseReason, s.ModifiedBy = false, uuid.Nil, "", who
		return nil
	})
	e.ok(err)
	is(e, "version", changed.Version, 2)
	is(e, "made by", changed.CreatedBy, uuid.Max)
	is(e, "modified by", changed.ModifiedBy, who)
	all, err := e.s.ListSchedules(e.ctx(), "", 10)
	e.ok(err)
	is(e, "schedules", len(all), 2)
	is(e, "first", all[0].Name, "a")
	all, err = e.s.ListSchedules(e.ctx(), "a", 1)
	e.ok(err)
	is(e, "after a", all[0].Name, "b")
	e.ok(e.s.DeleteSchedule(e.ctx(), "b", uuid.Max, "because"))
	_, err = e.s.Schedule(e.ctx(), "b")
	is(e, "deleted", errors.Is(err, store.ErrNoSchedule), true)
	is(e, "made anew", e.plannedAt("b", time.Hour).Version, 1)
}

// schedulesDue: the oldest come first, and only what is due, of kinds that are known.
func schedulesDue(e *env) {
	is(e, "without schedules", e.due(0, 10).Next, -1)
	e.plannedAt("late", -time.Hour)
	e.plannedAt("later", -time.Minute)
	e.plannedAt("not yet", time.Hour)
	e.plannedAt("never", 0, func(s *store.Schedule) { s.NextAt, s.NextWall = time.Time{}, "" })
	e.plannedAt("paused", -time.Hour, func(s *store.Schedule) { s.Paused = true })
	e.plannedAt("unknown", -time.Hour, func(s *store.Schedule) { s.Kind = "unknown" })
	e.plannedAt("newer", -time.Hour, func(s *store.Schedule) { s.Revision = 2 })
	triggered := e.plannedAt("triggered", time.Hour, func(s *store.Schedule) { s.Paused, s.Triggered, s.TriggerReason = true, true, "now" })
	found := e.due(0, 10)
	var names []string
	for _, s := range found.Due {
		names = append(names, s.Name)
	}
	is(e, "due", names, []string{"late", "later", "triggered"})
	is(e, "the next is due within the hour", found.Next > 59*time.Minute && found.Next <= time.Hour, true)
	is(e, "schedule", found.Due[2], triggered)
	is(e, "of one page", len(e.due(0, 1).Due), 1)
	is(e, "of a full page, next", e.due(0, 1).Next, -1)
	is(e, "after two", e.due(2, 10).Due[0].Name, "triggered")
}

// scheduleFires: the tasks and what comes next are stored together.
func scheduleFires(e *env) {
	s := e.plannedAt("s", -time.Minute, func(s *store.Schedule) { s.Triggered, s.TriggeredBy, s.TriggerReason = true, uuid.Max, "now" })
	first, second := task(), task()
	first.IdempotencyKey = store.ScheduleKey(s.Name, s.NextWall, s.Zone)
	f := store.ScheduleFire{Schedule: s, Tasks: []store.NewTask{first, second}}
	f.LastWall, f.LastTask = s.NextWall, first.ID
	f.Triggered, f.TriggeredBy, f.TriggerReason = false, uuid.Nil, ""
	f.NextAt, f.NextWall = s.NextAt.Add(time.Hour), "2026-03-29 02:30"
	fired, err := e.s.FireSchedule(e.ctx(), f)
	e.ok(err)
	is(e, "fired", fired, true)
	is(e, "task", e.read(first.ID).IdempotencyKey, first.IdempotencyKey)
	e.read(second.ID)
	got, err := e.s.Schedule(e.ctx(), "s")
	e.ok(err)
	is(e, "version", got.Version, s.Version+1)
	is(e, "triggered", got.Triggered, false)
	is(e, "last", []any{got.LastWall, got.LastTask, got.LastAt.IsZero(), got.LastError}, []any{s.NextWall, first.ID, false, ""})
	is(e, "next", []any{got.NextAt, got.NextWall}, []any{f.NextAt, f.NextWall})
	is(e, "modified", got.Modified, s.Modified)
	is(e, "due", len(e.due(0, 10).Due), 0)

	fired, err = e.s.FireSchedule(e.ctx(), f) // of the version before
	e.ok(err)
	is(e, "fired again", fired, false)
	is(e, "tasks", e.count(Tasks), 2)

	// The wall time has its task, and the other is stored.
	third := task()
	again := first
	again.ID = uuid.Must(uuid.NewV7())
	f.Version, f.Tasks, f.LastError = got.Version, []store.NewTask{third, again}, "a\x00b"
	f.LastTask = again.ID
	f.LastErrorAt = time.Time{}
	fired, err = e.s.FireSchedule(e.ctx(), f)
	e.ok(err)
	is(e, "fired", fired, true)
	is(e, "tasks", e.count(Tasks), 3)
	got, err = e.s.Schedule(e.ctx(), "s")
	e.ok(err)
	is(e, "error", got.LastError, "a\uFFFDb")
	is(e, "time of the error", got.LastErrorAt.IsZero(), false)
	is(e, "ids of the tasks", []uuid.UUID{f.Tasks[0].ID, f.Tasks[1].ID, got.LastTask}, []uuid.UUID{third.ID, first.ID, first.ID})

	// What cannot be stored leaves everything as it was.
	bad := task(func(t *store.NewTask) { t.Priority = 9 })
	if e.db != nil {
		f.Schedule, f.Tasks = got, []store.NewTask{task(), bad}
		_, err = e.s.FireSchedule(e.ctx(), f)
		is(e, "refused", err != nil, true)
		is(e, "tasks", e.count(Tasks), 3)
		after, err := e.s.Schedule(e.ctx(), "s")
		e.ok(err)
		is(e, "schedule", after, got)
	}

	// It has ended.
	f.Schedule, f.Tasks = got, nil
	f.NextAt, f.NextWall, f.LastError = time.Time{}, "", ""
	_, err = e.s.FireSchedule(e.ctx(), f)
	e.ok(err)
	got, err = e.s.Schedule(e.ctx(), "s")
	e.ok(err)
	is(e, "ended", []any{got.NextAt.IsZero(), got.NextWall, got.LastError, got.LastErrorAt.IsZero()}, []any{true, "", "", true})
	is(e, "due", len(e.due(0, 10).Due), 0)
}

// scheduleOverlaps: what waits keeps a schedule due, which says whether its last task is open. A task whose unique key is
// taken is not stored.
func scheduleOverlaps(e *env) {
	s := e.plannedAt("s", time.Hour, func(s *store.Schedule) { s.Overlap, s.Buffered = "buffer", "2026-03-29 02:30 UTC" })
	e.plannedAt("former", time.Hour, func(s *store.Schedule) { s.Overdue = []store.Overdue{{Cron: "0 1 * * *", Wall: "2026-03-29 01:00"}} })
	e.plannedAt("paused", time.Hour, func(s *store.Schedule) { s.Paused, s.Buffered = true, "2026-03-29 02:30 UTC" })
	is(e, "due", len(e.due(0, 10).Due), 2)
	is(e, "the last task is open", e.due(0, 10).Due[0].LastOpen, false)
	first := task(func(t *store.NewTask) { t.UniqueKey = "k" })
	f := store.ScheduleFire{Schedule: s, Tasks: []store.NewTask{first}}
	f.LastTask, f.Buffered = first.ID, "2026-03-30 02:30 UTC"
	_, err := e.s.FireSchedule(e.ctx(), f)
	e.ok(err)
	got := e.dueSchedule()
	is(e, "the last task is open", got.LastOpen, true)
	is(e, "buffered", got.Buffered, f.Buffered)

	again := task(func(t *store.NewTask) { t.UniqueKey = "k" })
	f = store.ScheduleFire{Schedule: got, Tasks: []store.NewTask{again}, Former: got.LastTask}
	f.LastTask = again.ID
	fired, err := e.s.FireSchedule(e.ctx(), f)
	e.ok(err)
	is(e, "fired", fired, true)
	is(e, "its id", f.Tasks[0].ID, uuid.Nil)
	is(e, "tasks", e.count(Tasks), 1)
	is(e, "the last task", e.dueSchedule().LastTask, first.ID)

	e.registerWorker()
	c := e.claim(1)[0]
	e.executes(c)
	is(e, "while it executes", e.dueSchedule().LastOpen, true)
	e.end(c, lifecycle.Completed)
	got = e.dueSchedule()
	is(e, "after its end", got.LastOpen, false)
	f = store.ScheduleFire{Schedule: got}
	f.Buffered = ""
	_, err = e.s.FireSchedule(e.ctx(), f)
	e.ok(err)
	is(e, "due in the end", len(e.due(0, 10).Due), 1)
}

// dueSchedule returns the schedule s, which is due.
func (e *env) dueSchedule() store.Schedule {
	e.Helper()
	for _, s := range e.due(0, 10).Due {
		if s.Name == "s" {
			return s
		}
	}
	e.Fatalf("the schedule s is not due")
	return store.Schedule{}
}

// schedulesFire: several are fired together, except those that have changed since; where a key
// is taken, none is.
func schedulesFire(e *env) {
	var fires []store.ScheduleFire
	for _, name := range []string{"a", "b", "c"} {
		s := e.plannedAt(name, -time.Minute)
		f := store.ScheduleFire{Schedule: s, Tasks: []store.NewTask{task()}}
		f.Tasks[0].IdempotencyKey = store.ScheduleKey(name, s.NextWall, s.Zone)
		f.LastTask, f.NextAt = f.Tasks[0].ID, s.NextAt.Add(time.Hour)
		fires = append(fires, f)
	}
	fired, err := e.s.FireSchedule(e.ctx(), fires[1])
	e.ok(err)
	is(e, "fired alone", fired, true)
	all, err := e.s.FireSchedules(e.ctx(), fires)
	e.ok(err)
	is(e, "fired", all, []bool{true, false, true})
	is(e, "tasks", e.count(Tasks), 3)
	for _, f := range fires {
		e.read(f.LastTask)
		got, err := e.s.Schedule(e.ctx(), f.Name)
		e.ok(err)
		is(e, "schedule", []any{got.Version, got.NextAt, got.LastTask}, []any{f.Version + 1, f.NextAt, f.LastTask})
	}
	for i := range fires {
		fires[i].Version++
		fires[i].Tasks = []store.NewTask{task()}
	}
	fires[2].Tasks[0].IdempotencyKey = store.ScheduleKey("c", fires[2].NextWall, fires[2].Zone)
	if _, err := e.s.FireSchedules(e.ctx(), fires); err == nil {
		e.Fatal("fired although a task has the key")
	}
	is(e, "tasks after that", e.count(Tasks), 3)
	got, err := e.s.Schedule(e.ctx(), "a")
	e.ok(err)
	is(e, "version after that", got.Version, fires[0].Version)
}

// scheduleFiresOnce: of many who fire it at the same time one does.
func scheduleFiresOnce(e *env) {
	s := e.plannedAt("s", -time.Minute)
	for round := range 5 {
		s, err := e.s.Schedule(e.ctx(), s.Name)
		e.ok(err)
		var (
			wg    sync.WaitGroup
			fired atomic.Int64
		)
		for range 8 {
			wg.Go(func() {
				f := store.ScheduleFire{Schedule: s, Tasks: []store.NewTask{task()}}
				ok, err := e.s.FireSchedule(e.ctx(), f)
				if err != nil {
					e.Error(err)
				}
				if ok {
					fired.Add(1)
				}
			})
		}
		wg.Wait()
		if n := fired.Load(); n > 1 || n == 0 {
			e.Fatalf("round %d: %d have fired", round, n)
		}
		is(e, "tasks", e.count(Tasks), round+1)
	}
}
