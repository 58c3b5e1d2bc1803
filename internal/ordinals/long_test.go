package ordinals_test

import (
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"
)

const (
	// longLanes are how many runs go on at once in the long form.
	longLanes = 6
	// commitsWanted is how many COMMITs the long form cuts, if there is time.
	commitsWanted = 10_000
)

// TestLong runs every single fault on both databases, then cuts COMMITs both
// ways, then draws pairs of faults, until the time in TASKKIT_PROVE is over. The
// single faults are always all run.
func TestLong(t *testing.T) {
	t.Parallel()
	v := os.Getenv(proveEnv)
	if v == "" {
		t.Skipf("%s is not set", proveEnv)
	}
	budget, err := time.ParseDuration(v)
	if err != nil {
		t.Fatalf("read %s, which must be a duration as 20m: %v", proveEnv, err)
	}
	begin, rng := time.Now(), rand.New(rand.NewPCG(seed(t), 0))
	left := func() time.Duration { return budget - time.Since(begin) }

	var ordinals [2]int
	kinds := []struct {
		name    string
		open    func(testing.TB) *lane
		actions []action
	}{
		{"postgres", postgresLane, postgresActions},
		{"sqlite", sqliteLane, sqliteActions},
	}
	for i, k := range kinds {
		t.Run("singles/"+k.name, func(t *testing.T) {
			s := newSeries(t, k.open, longLanes)
			ordinals[i] = s.ordinals()
			t.Logf("%d ordinals", ordinals[i])
			plans := singles(ordinals[i], k.actions)
			rng.Shuffle(len(plans), func(a, b int) { plans[a], plans[b] = plans[b], plans[a] })
			s.run(each(plans))
			s.finish(k.name + ", every single fault")
		})
	}
	for i, k := range kinds {
		t.Run("commits/"+k.name, func(t *testing.T) {
			share := left() / time.Duration(2*(len(kinds)-i))
			newSeries(t, k.open, 3).cut(k.name, rng, commitsWanted, time.Now().Add(share))
		})
	}
	for i, k := range kinds {
		t.Run("pairs/"+k.name, func(t *testing.T) {
			if ordinals[i] == 0 {
				t.Skip("the single faults were not selected")
			}
			s := newSeries(t, k.open, longLanes)
			s.run(pairs(ordinals[i], k.actions, rng, time.Now().Add(left()/time.Duration(len(kinds)-i))))
			s.finish(k.name + ", pairs of faults")
		})
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
