package faultinject_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/proof/prove"
)

const (
	// longLanes are how many runs go on at once in the long form.
	longLanes = 6
	// commitsWanted is how many COMMITs the long form cuts on a database, if there is
	// time. PostgreSQL's take about 40 minutes on two processors, which are the share of
	// seven hours.
	commitsWanted = 100_000
	// commitLanes are how many workers have their COMMITs cut at once.
	commitLanes = 3
)

// TestLong runs single faults on both databases, in random order, then cuts
// COMMITs both ways, then draws pairs of faults. Each part has its share of the time
// that the test is given, from when it begins: what is under way at the end of a part
// takes none from the next. With half an hour or more all single faults are run, however
// long they take: some four thousand, and a quarter as many, drawn by the seed, of tasks
// with a frozen set, a stop policy and deferred items, and of their previews, and of tasks in
// buckets.
func TestLong(t *testing.T) {
	t.Parallel()
	budget, long := prove.Budget(t)
	if !long {
		t.Skipf("%s is not set", prove.BudgetEnv)
	}
	rng := rand.New(rand.NewPCG(seed(t), 0))
	// until is when a part that begins now must end, with its share in percent.
	until := func(share int) time.Time { return time.Now().Add(budget * time.Duration(share) / 100) }
	// untilAll is the same for what is run whole if there is half an hour or more.
	untilAll := func(share int) time.Time {
		if budget >= 30*time.Minute {
			return time.Now().Add(24 * time.Hour)
		}
		return until(share)
	}
	// Each part has a record of its own: they may be run apart, for longer.
	record := func(t *testing.T, part, database string, c map[string]any) {
		prove.Record(t, "faults-"+part+"-"+database, c)
	}

	var positions [2]int
	kinds := []struct {
		name                           string
		open                           func(testing.TB) *env
		actions, pairs                 []action
		singles, other, commits, drawn int // shares in percent: other is for mixed and for parents' work, drawn for pairs
	}{
		{"postgres", postgresLane, postgresActions, postgresActions, 30, 6, 10, 15},
		{"sqlite", sqliteLane, sqliteActions, sqliteDriverActions, 10, 2, 9, 10},
	}
	for i, k := range kinds {
		t.Run("singles/"+k.name, func(t *testing.T) {
			s := newSeries(t, k.open, longLanes)
			positions[i] = s.positions()
			t.Logf("%d positions", positions[i])
			plans := singles(positions[i], k.actions)
			rng.Shuffle(len(plans), func(a, b int) { plans[a], plans[b] = plans[b], plans[a] })
			s.run(before(untilAll(k.singles), each(plans)))
			c := s.finish(k.name + ", single faults")
			c["positions"], c["of"] = positions[i], len(plans)
			record(t, "singles", k.name, c)
		})
		for _, w := range []work{mixedWork, familyWork} {
			t.Run(string(w)+"/"+k.name, func(t *testing.T) {
				s := newSeries(t, working(k.open, w), longLanes)
				n := s.positions()
				plans := singles(n, k.actions)
				rng.Shuffle(len(plans), func(a, b int) { plans[a], plans[b] = plans[b], plans[a] })
				all := len(plans)
				if positions[i] > 0 {
					plans = plans[:min(all, positions[i]*len(k.actions)/otherPart)]
				}
				s.run(before(untilAll(k.other), each(plans)))
				c := s.finish(fmt.Sprintf("%s, single faults of work %s", k.name, w))
				c["positions"], c["of"] = n, all
				record(t, string(w), k.name, c)
			})
		}
	}
	for _, k := range kinds {
		t.Run("commits/"+k.name, func(t *testing.T) {
			record(t, "commits", k.name, newSeries(t, k.open, commitLanes).cut(k.name, rng, commitsWanted, until(k.commits)))
		})
	}
	for i, k := range kinds {
		t.Run("pairs/"+k.name, func(t *testing.T) {
			if positions[i] == 0 {
				t.Skip("the single faults were not selected")
			}
			s := newSeries(t, k.open, longLanes)
			s.run(pairs(positions[i], k.pairs, rng, until(k.drawn)))
			record(t, "pairs", k.name, s.finish(k.name+", pairs of faults"))
		})
	}
}

// before returns plans until a time.
func before(until time.Time, next func() *plan) func() *plan {
	return func() *plan {
		if !time.Now().Before(until) {
			return nil
		}
		return next()
	}
}

// pairs draws pairs of faults until a time.
func pairs(n int, actions []action, rng *rand.Rand, until time.Time) func() *plan {
	var mu sync.Mutex
	return func() *plan {
		mu.Lock()
		defer mu.Unlock()
		if !time.Now().Before(until) {
			return nil
		}
		first := 1 + rng.IntN(n)
		one, two := actions[rng.IntN(len(actions))], actions[rng.IntN(len(actions))]
		// The second counts in a run that the first has made longer.
		return &plan{
			faults:  []fault{{first, one}, {first + 1 + rng.IntN(n), two}},
			patient: rng.IntN(2) == 0,
		}
	}
}
