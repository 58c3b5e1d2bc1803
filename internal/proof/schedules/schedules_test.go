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
	"taskkit.dev/internal/testkit/memstore"
	"taskkit.dev/internal/testkit/testdb"
)

// The zones change their clocks by an hour, by half an hour, at midnight and not at all, on
// days of their own.
var zones = []string{"Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Asia/Beirut", "Asia/Kathmandu"}

// period is what is simulated at once, from and until.
type period [2]time.Time

// The simulated year begins with weeks in which each of the zones that change their clocks does so. The everyday
// form takes only these, and in memory also the weeks in autumn.
var (
	spring = period{day(2026, 3, 7), day(2026, 4, 6)}
	autumn = period{day(2026, 10, 2), day(2026, 11, 3)}
	year   = period{day(2026, 3, 7), day(2027, 3, 7)}
)

func day(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// form is how much a test simulates on one kind of database.
type form struct {
	name        string
	short, long int // schedules at once
	periods     []period
	open        func(t *testing.T, at time.Time) env
}

var forms = []form{
	{"memory", 20, 1000, []period{spring, autumn}, func(*testing.T, time.Time) env { return inMemory{memstore.New()} }},
	{"sqlite", 12, 100, []period{spring}, func(t *testing.T, at time.Time) env {
		t.Helper()
		return newEnv(t, testdb.SQLite(t, testdb.Unsynced()), at)
	}},
	{"postgres", 8, 40, []period{spring}, func(t *testing.T, at time.Time) env {
		t.Helper()
		return newEnv(t, testdb.Postgres(t), at)
	}},
}

// totals are what all rounds of a test have counted.
type totals struct {
	schedules, rounds, tasks, wallTimes, outages, violations int

	simulated     time.Duration
	kills, missed int64
}

// rounds simulates each period of the everyday form once, and in the long form the year: once in memory, and on a
// database again and again until an equal share of the budget is spent, when the last round ends early. Each
// round has a new database and other schedules.
func (f *form) rounds(t *testing.T, name string, round func(s *simulation, plans []plan, sum *totals) (want map[string]int)) {
	t.Helper()
	var (
		sum   totals
		began = time.Now()
		until time.Time
	)
	n, deadly, every := f.short, 30, f.periods
	budget, long := prove.Budget(t)
	if long {
		n, deadly, every = f.long, 10, []period{year}
		if f.name != "memory" {
			until = began.Add(budget / time.Duration(2*len(forms)))
		}
	}
	for again := true; again; again = time.Now().Before(until) {
		for _, p := range every {
			s := &simulation{env: f.open(t, p[0]), T: t, workers: 5, deadly: deadly, seed: rand.Uint64(), period: p, until: until, got: make(map[string]int)}
			t.Logf("seed %d", s.seed)
			plans := plansOf(s.seed, n, p)
			s.begin(plans)
			want := round(s, plans, &sum)
			s.gather()
			sum.violations += compare(t, want, s.got)
			sum.rounds++
			sum.schedules += n
			sum.tasks += len(s.got)
			sum.wallTimes += len(want)
			sum.simulated += s.period[1].Sub(p[0])
			sum.kills += s.kills.Load()
			sum.missed += s.missed.Load()
			if failed := s.failed.Load(); failed > 0 {
				t.Errorf("%d schedules failed", failed)
			}
		}
	}
	if sum.kills == 0 {
		t.Error("nobody was killed")
	}
	counts := map[string]any{
		"schedules": sum.schedules, "at once": n, "rounds": sum.rounds, "days": int(sum.simulated.Hours() / 24), "tasks": sum.tasks,
		"kills": sum.kills, "seconds": int(time.Since(began).Seconds()), "violations": sum.violations,
	}
	if sum.outages > 0 {
		counts["outages"], counts["late"] = sum.outages, sum.missed
	} else if counts["wall_times"] = sum.wallTimes; sum.missed > 0 {
		t.Errorf("%d schedules were late", sum.missed)
	}
	prove.Record(t, name+"-"+f.name, counts)
}

// TestYear simulates a year of 1,000 schedules over five workers with kills; on databases, and in the everyday
// form, there are fewer. Each wall time has one task, whatever was killed, and none is late.
func TestYear(t *testing.T) { //nolint:paralleltest // SQLite's clock is one
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			f.rounds(t, "schedules-year", func(s *simulation, plans []plan, _ *totals) map[string]int {
				for _, at := range s.instants(plans) {
					if !s.step(at) {
						break
					}
				}
				want := make(map[string]int)
				for i := range plans {
					for _, m := range s.fires(&plans[i]) {
						want[plans[i].key(&m)]++
					}
				}
				return want
			})
		})
	}
}

// TestMisfires stops all workers again and again for up to some days, over the changes of clocks
// as well. What was missed has tasks by the policy of its schedule.
func TestMisfires(t *testing.T) { //nolint:paralleltest // SQLite's clock is one
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			f.rounds(t, "schedules-misfires", func(s *simulation, plans []plan, sum *totals) map[string]int {
				instants := s.instants(plans)
				rng := rand.New(rand.NewPCG(s.seed, 1))
				left := make(map[string][]minute)
				for i := range plans {
					left[plans[i].name] = s.fires(&plans[i])
				}
				want := make(map[string]int)
				for next := 0; next < len(instants); {
					at := instants[next].Add(time.Duration(rng.Int64N(int64(50 * time.Second))))
					if rng.IntN(20) == 0 { // an outage
						sum.outages++
						at = at.Add(time.Duration(rng.Int64N(int64(4 * 24 * time.Hour))))
					}
					for next < len(instants) && !instants[next].After(at) {
						next++
					}
					if !at.Before(s.period[1]) || !s.step(at) {
						break
					}
					for i := range plans {
						p := &plans[i]
						var tasks []minute
						tasks, left[p.name] = p.due(left[p.name], at)
						for _, m := range tasks {
							want[p.key(&m)]++
						}
					}
				}
				return want
			})
		})
	}
}

// minutes returns the minutes of a period in a zone, computed once.
var minutes = func() func(zone string, p period) []minute {
	type key struct {
		zone string
		period
	}
	known := make(map[key][]minute)
	return func(zone string, p period) []minute {
		k := key{zone, p}
		if known[k] == nil {
			l, err := time.LoadLocation(zone)
			if err != nil {
				panic(err)
			}
			known[k] = minutesOf(l, p[0].Add(time.Minute), p[1])
		}
		return known[k]
	}
}()

// plansOf returns n plans that fire within a period.
func plansOf(seed uint64, n int, in period) (plans []plan) {
	policies := []string{"once", "all", "forget"}
	rng := rand.New(rand.NewPCG(seed, 2))
	for len(plans) < n {
		i := len(plans)
		p := random(rng, fmt.Sprintf("schedule-%d", i), zones[i%len(zones)], policies[i%len(policies)])
		if len(p.fires(minutes(p.zone, in))) > 0 {
			plans = append(plans, p)
		}
	}
	return plans
}

// begin makes the schedules.
func (s *simulation) begin(plans []plan) {
	s.Helper()
	s.whole = s.period
	s.setClock(s.T, s.period[0].Add(30*time.Second))
	for i := range plans {
		s.set(&plans[i])
	}
}

// instants returns when schedules are due within the period.
func (s *simulation) instants(plans []plan) []time.Time {
	all := make(map[time.Time]bool)
	for i := range plans {
		for _, m := range s.fires(&plans[i]) {
			all[m.at] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), time.Time.Compare)
}

// fires returns the fires of a plan within the period.
func (s *simulation) fires(p *plan) []minute {
	return slices.DeleteFunc(p.fires(minutes(p.zone, s.whole)), func(m minute) bool {
		return !m.at.After(s.period[0].Add(30*time.Second)) || !m.at.Before(s.period[1])
	})
}

// step sets the clock and fires what is due. False: the time is up, and the period ends here.
func (s *simulation) step(at time.Time) bool {
	s.Helper()
	if !s.until.IsZero() && time.Now().After(s.until) {
		s.period[1] = at
		return false
	}
	s.setClock(s.T, at)
	s.fireAll()
	if s.steps++; s.steps%50 == 0 {
		s.gather()
	}
	return true
}

// gather counts the tasks by their keys.
func (s *simulation) gather() {
	s.Helper()
	for _, key := range s.harvest(s.T) {
		s.got[key]++
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
