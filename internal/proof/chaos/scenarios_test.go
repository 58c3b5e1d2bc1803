package chaos_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb"
)

// scenarioType is one scenario of the list.
type scenarioType struct {
	name string
	// everyday: it takes a second or two, and the short form has it.
	everyday bool
	// prepare sets up the scenario, launches its workers, and returns a round of faults,
	// each of which it removes again.
	prepare func(t *testing.T, n uint64) (s *scenario, round func())
}

// allScenarios are all scenarios. Those not named after a database run on PostgreSQL.
func allScenarios() []scenarioType {
	return slices.Concat(
		onEach("standstill", false, standstill),
		onEach("kills", true, kills),
		onEach("deploys", false, deploys),
		onEach("horizon", false, horizon),
		onEach("items", true, items),
		onEach("parents", true, parents),
		networks(), servers(), disks(),
	)
}

// onEach is a scenario on each of the two databases.
func onEach(name string, everyday bool, prepare func(*scenario) func()) []scenarioType {
	var both []scenarioType
	for database, open := range map[string]func(testing.TB, ...testdb.Option) *testdb.DB{"postgres": testdb.Postgres, "sqlite": testdb.SQLite} {
		both = append(both, scenarioType{name + "-" + database, everyday, func(t *testing.T, n uint64) (*scenario, func()) {
			t.Helper()
			s := setUp(t, open(t), n)
			return s, prepare(s)
		}})
	}
	return both
}

// Whatever happens around the workers, work goes on afterwards, nothing is lost and
// nothing is done twice. The long form goes through all scenarios, again and again, for
// as long as there is time, and through each at least once.
func TestScenarios(t *testing.T) {
	t.Parallel()
	budget, long := prove.Budget(t)
	began, all := time.Now(), allScenarios()
	slices.SortFunc(all, func(a, b scenarioType) int { return strings.Compare(a.name, b.name) })
	// Two at a time: they wait more than they work.
	slice := min(2*budget/time.Duration(len(all)), 30*time.Second)
	totals := totals{rounds: make(map[string]any), faults: make(map[string]any), counts: make(map[string]int)}
	for pass := uint64(0); pass == 0 || time.Since(began) < budget-slice; pass++ {
		t.Run(fmt.Sprint("pass", pass), func(t *testing.T) {
			for n, p := range all {
				t.Run(p.name, func(t *testing.T) {
					t.Parallel()
					if !long && !p.everyday {
						t.Skip("in the long form only: set " + prove.BudgetEnv)
					}
					over := time.Now().Add(slice)
					s, round := p.prepare(t, pass<<8+uint64(n))
					s.over = over
					totals.run(p.name, s, round)
				})
			}
		})
	}
	if long {
		prove.Record(t, "scenarios", totals.record())
	}
}

// totals is what all scenarios together have done and found.
type totals struct {
	mu             sync.Mutex
	rounds, faults map[string]any
	counts         map[string]int
}

// run runs the rounds of a scenario, lets the oracle check it, and adds its counts.
func (c *totals) run(name string, s *scenario, round func()) {
	s.Helper()
	s.Cleanup(func() {
		if s.Failed() {
			s.printLogs()
		}
	})
	n := 0
	s.during(func() { n = s.rounds(round) })
	r := s.finish()
	s.Logf("%d rounds of %v; %d tasks, %d touches, %d takeovers, %d submits without an answer, %d warnings of workers",
		n, s.faults, r.Counts.Tasks, r.Counts.Touches, r.Counts.Reclaims, s.unknown, s.warnings())
	c.mu.Lock()
	defer c.mu.Unlock()
	had, _ := c.rounds[name].(int)
	c.rounds[name] = had + n
	for what, n := range s.faults {
		if n == 0 {
			s.Errorf("it never happened: %s", what)
		}
		had, _ := c.faults[what].(int)
		c.faults[what] = had + n
	}
	for what, n := range countsOf(s, r) {
		c.counts[what] += n
	}
}

// countsOf are a scenario's counts for the record.
func countsOf(s *scenario, r *oracle.Report) map[string]int {
	return map[string]int{
		"tasks": int(r.Counts.Tasks), "touches": int(r.Counts.Touches), "takeovers": int(r.Counts.Reclaims),
		"parents": int(r.Counts.Parents), "children": int(r.Counts.Children), "requests": int(r.Counts.Asked),
		"submits without an answer": s.unknown, "workers' warnings": s.warnings(),
		"uncertain commits": s.warnings("uncertain commit", "group commit failed"),
		"violations":        len(r.Violations) + r.Unlisted,
	}
}

func (c *totals) record() map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]any{"rounds": maps.Clone(c.rounds), "faults": maps.Clone(c.faults)}
	for what, n := range c.counts {
		out[what] = n
	}
	return out
}
