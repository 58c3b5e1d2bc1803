package schedules_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	_ "time/tzdata"

	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
	"taskkit.dev/internal/testkit/testdb"
)

// The zones change their clocks by an hour, by half an hour, at midnight and not at all, on
// days of their own.
var zones = []string{"Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "Asia/Kathmandu"}

// The simulated year. The everyday form takes some weeks of it on databases, in which each of the
// zones that change their clocks does so.
var (
	begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	end   = begin.AddDate(1, 0, 0)
	weeks = [2]time.Time{time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC), time.Date(2026, 4, 6, 0, 0, 0, 0, time.UTC)}
	year  = [2]time.Time{begin, end}
)

// form is how much a test simulates on one kind of database.
type form struct {
	name        string
	short, long int // schedules
	open        func(t *testing.T, at time.Time) env
}

var forms = []form{
	{"memory", 60, 1000, func(*testing.T, time.Time) env { return inMemory{memstore.New()} }},
	{"sqlite", 30, 1000, func(t *testing.T, at time.Time) env {
		t.Helper()
		return newEnv(t, testdb.SQLite(t, testdb.Unsynced()), at)
	}},
	{"postgres", 10, 40, func(t *testing.T, at time.Time) env {
		t.Helper()
		return newEnv(t, testdb.Postgres(t), at)
	}},
}

// start opens the database of a form and makes its schedules. It returns the key of each wall time and
// all instants, within the period that is simulated.
func (f *form) start(t *testing.T) (s *simulation, plans []plan, want map[string]int, instants []time.Time) {
	t.Helper()
	n, period := f.short, weeks
	if _, long := prove.Budget(t); long {
		n, period = f.long, year
	}
	if f.name == "memory" {
		period = year
	}
	s = &simulation{env: f.open(t, period[0]), T: t, workers: 5, deadly: 10, seed: rand.Uint64(), period: period}
	t.Logf("seed %d", s.seed)
	plans = plansOf(s.seed, n)
	want, instants = s.begin(plans)
	return s, plans, want, instants
}

// TestYear simulates a year of 1,000 schedules over five workers with kills; in the everyday
// form there are fewer. Each wall time has one task, whatever was killed, and none is late.
func TestYear(t *testing.T) { //nolint:paralleltest // SQLite's clock is one
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			began := time.Now()
			s, plans, want, instants := f.start(t)
			got := make(map[string]int)
			for i, at := range instants {
				s.setClock(t, at)
				s.fireAll()
				if i%50 == 49 {
					s.gather(got)
				}
			}
			s.gather(got)
			violations := compare(t, want, got)
			if s.missed.Load()+s.failed.Load() > 0 {
				t.Errorf("%d schedules were late and %d failed", s.missed.Load(), s.failed.Load())
			}
			if s.kills.Load() == 0 {
				t.Error("nobody was killed")
			}
			prove.Record(t, "schedules-year-"+f.name, map[string]any{
				"schedules": len(plans), "wall_times": len(want), "tasks": len(got), "kills": s.kills.Load(), "seconds": int(time.Since(began).Seconds()), "violations": violations,
			})
		})
	}
}

// TestMisfires stops all workers again and again for up to some days, over the changes of clocks
// as well. What was missed has tasks by the policy of its schedule.
func TestMisfires(t *testing.T) { //nolint:paralleltest // SQLite's clock is one
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			s, plans, _, instants := f.start(t)
			rng := rand.New(rand.NewPCG(s.seed, 1))
			left := make(map[string][]minute)
			for i := range plans {
				left[plans[i].name] = s.fires(&plans[i])
			}
			want, got, outages, steps := make(map[string]int), make(map[string]int), 0, 0
			for next := 0; next < len(instants); {
				at := instants[next].Add(time.Duration(rng.Int64N(int64(50 * time.Second))))
				if rng.IntN(20) == 0 { // an outage
					outages++
					at = at.Add(time.Duration(rng.Int64N(int64(4 * 24 * time.Hour))))
				}
				if !at.Before(s.period[1]) {
					break
				}
				for next < len(instants) && !instants[next].After(at) {
					next++
				}
				s.setClock(t, at)
				s.fireAll()
				for i := range plans {
					p := &plans[i]
					var tasks []minute
					tasks, left[p.name] = p.due(left[p.name], at)
					for _, m := range tasks {
						want[store.ScheduleKey(p.name, m.wall, p.zone)]++
					}
				}
				if steps++; steps%50 == 0 {
					s.gather(got)
				}
			}
			s.gather(got)
			violations := compare(t, want, got)
			prove.Record(t, "schedules-misfires-"+f.name, map[string]any{
				"schedules": len(plans), "outages": outages, "tasks": len(want), "kills": s.kills.Load(), "violations": violations,
			})
		})
	}
}

// zoneMinutes are the minutes of the year by zone.
var zoneMinutes = func() map[string][]minute {
	all := make(map[string][]minute)
	for _, name := range zones {
		zone, err := time.LoadLocation(name)
		if err != nil {
			panic(err)
		}
		all[name] = minutesOf(zone, begin.Add(time.Minute), end)
	}
	return all
}()

// plansOf returns n plans that fire within the year.
func plansOf(seed uint64, n int) (plans []plan) {
	policies := []string{"once", "all", "forget"}
	rng := rand.New(rand.NewPCG(seed, 2))
	for len(plans) < n {
		i := len(plans)
		p := random(rng, fmt.Sprintf("schedule-%d", i), zones[i%len(zones)], policies[i%len(policies)])
		if len(p.fires(zoneMinutes[p.zone])) > 0 {
			plans = append(plans, p)
		}
	}
	return plans
}

// begin makes the schedules, and returns the key of each wall time of the year and the instants of
// all.
func (s *simulation) begin(plans []plan) (want map[string]int, instants []time.Time) {
	s.setClock(s.T, s.period[0].Add(30*time.Second))
	want = make(map[string]int)
	all := make(map[time.Time]bool)
	for i := range plans {
		p := &plans[i]
		s.set(p)
		for _, m := range s.fires(p) {
			want[store.ScheduleKey(p.name, m.wall, p.zone)]++
			all[m.at] = true
		}
	}
	return want, slices.SortedFunc(maps.Keys(all), time.Time.Compare)
}

// fires returns the fires of a plan within the period.
func (s *simulation) fires(p *plan) []minute {
	return slices.DeleteFunc(p.fires(zoneMinutes[p.zone]), func(m minute) bool {
		return !m.at.After(s.period[0].Add(30*time.Second)) || !m.at.Before(s.period[1])
	})
}

// gather counts the tasks by their keys.
func (s *simulation) gather(got map[string]int) {
	s.Helper()
	for _, key := range s.harvest(s.T) {
		got[key]++
	}
}

// compare reports what is not as it should be, and returns how much.
func compare(t *testing.T, want, got map[string]int) (violations int) {
	t.Helper()
	report := func(format string, args ...any) {
		if violations++; violations <= 20 {
			t.Errorf(format, args...)
		}
	}
	for key, n := range want {
		if n != 1 || got[key] != 1 {
			report("%s: %d tasks, want %d", key, got[key], n)
		}
	}
	for key, n := range got {
		if want[key] == 0 {
			report("%s: %d tasks, want none", key, n)
		}
	}
	return violations
}
