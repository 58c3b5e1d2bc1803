package fleet_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/oracle"
	"taskkit.dev/internal/prove"
	"taskkit.dev/internal/testdb"
)

// plight is a kind of siege.
type plight struct {
	name string
	// everyday: it takes a second or two, and the short form has it.
	everyday bool
	// lay prepares the siege, launches its workers, and returns a round of faults,
	// each of which it heals again.
	lay func(t *testing.T, n uint64) (s *siege, round func())
}

// plights are all sieges. What is named after no database is of PostgreSQL.
func plights() []plight {
	return slices.Concat(
		onEach("standstill", false, standstill),
		onEach("kills", true, kills),
		onEach("deploys", false, deploys),
		onEach("horizon", false, horizon),
		networks(), servers(), disks(),
	)
}

// onEach is a kind of siege on each of the two databases.
func onEach(name string, everyday bool, lay func(*siege) func()) []plight {
	var both []plight
	for database, open := range map[string]func(testing.TB, ...testdb.Option) *testdb.DB{"postgres": testdb.Postgres, "sqlite": testdb.SQLite} {
		both = append(both, plight{name + "-" + database, everyday, func(t *testing.T, n uint64) (*siege, func()) {
			t.Helper()
			s := besiege(t, open(t), n)
			return s, lay(s)
		}})
	}
	return both
}

// Whatever happens around the workers, work goes on afterwards, nothing is lost and
// nothing is done twice. The long form goes through all sieges, again and again, for
// as long as there is time, and through each at least once.
func TestSieges(t *testing.T) {
	t.Parallel()
	budget, long := prove.Budget(t)
	began, all := time.Now(), plights()
	slices.SortFunc(all, func(a, b plight) int { return strings.Compare(a.name, b.name) })
	// Two at a time: they wait more than they work.
	slice := min(2*budget/time.Duration(len(all)), 30*time.Second)
	toll := toll{rounds: make(map[string]any), faults: make(map[string]any), counts: make(map[string]int)}
	for pass := uint64(0); pass == 0 || time.Since(began) < budget-slice; pass++ {
		t.Run(fmt.Sprint("pass", pass), func(t *testing.T) {
			for n, p := range all {
				t.Run(p.name, func(t *testing.T) {
					t.Parallel()
					if !long && !p.everyday {
						t.Skip("in the long form only: set " + prove.BudgetEnv)
					}
					over := time.Now().Add(slice)
					s, round := p.lay(t, pass<<8+uint64(n))
					s.over = over
					toll.pay(p.name, s, round)
				})
			}
		})
	}
	if long {
		prove.Record(t, "sieges", toll.record())
	}
}

// toll is what all sieges together have done and found.
type toll struct {
	mu             sync.Mutex
	rounds, faults map[string]any
	counts         map[string]int
}

// pay goes through a siege, and adds its counts.
func (c *toll) pay(name string, s *siege, round func()) {
	s.Helper()
	s.Cleanup(func() {
		if s.Failed() {
			s.tellLogs()
		}
	})
	n := 0
	s.during(func() { n = s.rounds(round) })
	r := s.lifted()
	s.Logf("%d rounds of %v; %d tasks, %d touches, %d takeovers, %d submits without an answer, %d complaints of workers",
		n, s.faults, r.Counts.Tasks, r.Counts.Touches, r.Counts.Reclaims, s.unknown, s.complaints())
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

// countsOf are a siege's counts for the record.
func countsOf(s *siege, r *oracle.Report) map[string]int {
	return map[string]int{
		"tasks": int(r.Counts.Tasks), "touches": int(r.Counts.Touches), "takeovers": int(r.Counts.Reclaims),
		"submits without an answer": s.unknown, "workers' complaints": s.complaints(),
		"uncertain commits": s.complaints("uncertain commit", "group commit failed"),
		"violations":        len(r.Violations) + r.Unlisted,
	}
}

func (c *toll) record() map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]any{"rounds": maps.Clone(c.rounds), "faults": maps.Clone(c.faults)}
	for what, n := range c.counts {
		out[what] = n
	}
	return out
}
