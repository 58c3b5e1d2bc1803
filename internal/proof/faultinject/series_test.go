package faultinject_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/proof/prove"
)

const (
	seedEnv = "TASKKIT_SEED"
	// concurrent is how many runs go on at once. Most of them wait most of the time.
	concurrent = 4
)

// seed returns the seed of this run, and says it.
func seed(tb testing.TB) uint64 {
	tb.Helper()
	s := uint64(time.Now().UnixNano())
	if v := os.Getenv(seedEnv); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			tb.Fatalf("read %s: %v", seedEnv, err)
		}
		s = n
	}
	tb.Logf("to draw the same sample: %s=%d", seedEnv, s)
	return s
}

// tally is what the runs of one action have come to.
type tally struct {
	runs, struck, takenOver, attempts, knownFailures, violations int
	slowest                                                      time.Duration
}

// series runs plans on some envs and gathers what becomes of them.
type series struct {
	tb   testing.TB
	envs []*env

	mu    sync.Mutex
	tally map[string]*tally
	total int
}

func newSeries(tb testing.TB, open func(testing.TB) *env, n int) *series {
	tb.Helper()
	s := &series{tb: tb, tally: map[string]*tally{}}
	for range n {
		s.envs = append(s.envs, open(tb))
	}
	return s
}

// positions returns how many messages or calls a run without a fault has: the most of
// some. Other works also wait, so that for them it is the least: the rest are polls.
func (s *series) positions() int {
	s.tb.Helper()
	var all []int
	for range 5 {
		out := s.envs[0].run(s.tb.Context(), &plan{faults: []fault{{0, none}}})
		if out.err != nil {
			s.tb.Fatalf("without a fault: %v\n%s", out.err, out.log)
		}
		all = append(all, out.positions)
	}
	if s.envs[0].work != stepsWork {
		return slices.Min(all)
	}
	return slices.Max(all)
}

// run runs the plans that next returns, until it returns nil. At least one must have run.
func (s *series) run(next func() *plan) {
	s.tb.Helper()
	ctx := s.tb.Context()
	var wait sync.WaitGroup
	for _, l := range s.envs {
		wait.Go(func() {
			for p := next(); p != nil && ctx.Err() == nil; p = next() {
				s.record(l.run(ctx, p))
			}
		})
	}
	wait.Wait()
	if s.total == 0 {
		s.tb.Error("there was no time for a single plan: nothing was tried")
	}
}

// each returns the plans one by one.
func each(plans []plan) func() *plan {
	var mu sync.Mutex
	return func() *plan {
		mu.Lock()
		defer mu.Unlock()
		if len(plans) == 0 {
			return nil
		}
		p := &plans[0]
		plans = plans[1:]
		return p
	}
}

// record counts an outcome; a violation fails the test.
func (s *series) record(out outcome) {
	var names []string
	for _, f := range out.plan.faults {
		names = append(names, string(f.action))
	}
	slices.Sort(names)
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.Join(names, " + ")
	t := s.tally[key]
	if t == nil {
		t = &tally{}
		s.tally[key] = t
	}
	if s.total++; s.total%250 == 0 {
		s.tb.Logf("%d runs so far", s.total)
	}
	t.runs++
	t.struck += len(out.struck)
	t.attempts += out.attempts
	t.slowest = max(t.slowest, out.took)
	if out.takenOver {
		t.takenOver++
	}
	if out.known() {
		t.knownFailures++
		out.plan.knownFailure = true
		s.tb.Logf("%v: %v\nstruck: %s", out.plan, out.err, strings.Join(out.struck, "; "))
		return
	}
	if out.err != nil {
		t.violations++
		s.tb.Errorf("%v: %v\nstruck: %s\nlog of the workers:\n%s", out.plan, out.err, strings.Join(out.struck, "; "), out.log)
	}
}

// finish lets the oracle check, and prints and returns the counts.
func (s *series) finish(what string) map[string]any {
	s.tb.Helper()
	var (
		sum oracle.Counts
		all tally
	)
	ctx := context.WithoutCancel(s.tb.Context())
	for _, l := range s.envs {
		r, err := l.check(ctx)
		if err != nil {
			s.tb.Errorf("let the oracle check: %v", err)
			continue
		}
		for _, v := range r.Violations {
			if p := l.planOf(ctx, s.tb, v.Task); p == nil || !p.knownFailure {
				all.violations++
				s.tb.Errorf("%s: the oracle says: %v (plan: %v)", what, v, p)
			}
		}
		sum.Tasks += r.Counts.Tasks
		sum.Claims += r.Counts.Claims
		sum.Reclaims += r.Counts.Reclaims
		sum.Checkpoints += r.Counts.Checkpoints
		sum.Touches += r.Counts.Touches
		sum.Dead += r.Counts.Dead
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d runs\n%-40s %7s %7s %10s %9s %9s %10s %8s\n", what, s.total, "action", "runs", "struck", "taken over", "attempts", "known", "violations", "slowest")
	keys := slices.Sorted(maps.Keys(s.tally))
	for _, k := range keys {
		t := s.tally[k]
		all.struck += t.struck
		all.takenOver += t.takenOver
		all.knownFailures += t.knownFailures
		all.violations += t.violations
		fmt.Fprintf(&b, "%-40s %7d %7d %10d %9d %9d %10d %8v\n", k, t.runs, t.struck, t.takenOver, t.attempts, t.knownFailures, t.violations, t.slowest.Round(10*time.Millisecond))
	}
	fmt.Fprintf(&b, "tasks %d, claims %d, takeovers %d, workers declared dead %d, checkpoints %d, touches %d",
		sum.Tasks, sum.Claims, sum.Reclaims, sum.Dead, sum.Checkpoints, sum.Touches)
	s.tb.Log(b.String())
	return map[string]any{
		"runs": s.total, "struck": all.struck, "taken over": all.takenOver, "known failures": all.knownFailures, "violations": all.violations,
		"declared dead": sum.Dead, "checkpoints": sum.Checkpoints, "touches": sum.Touches,
	}
}

const (
	// sampled is how many single faults the short form runs.
	sampled = 32
	// otherPart of the plans are run again with each of the other works.
	otherPart = 4
)

// working returns an open function whose runs have another work.
func working(open func(testing.TB) *env, w work) func(testing.TB) *env {
	return func(tb testing.TB) *env {
		tb.Helper()
		l := open(tb)
		l.work = w
		return l
	}
}

// short runs a sample of all single faults, drawn by the seed, with each action
// as often as any other.
func short(t *testing.T, open func(testing.TB) *env, actions []action) {
	t.Helper()
	if _, long := prove.Budget(t); long {
		t.Skip("the long form runs all of them")
	}
	r := rand.New(rand.NewPCG(seed(t), 0))
	sample := func(open func(testing.TB) *env, envs, n int, what string) {
		s := newSeries(t, open, envs)
		positions := s.positions()
		t.Logf("%d positions", positions)
		var plans []plan
		for i := range n {
			plans = append(plans, plan{
				faults:  []fault{{1 + r.IntN(positions), actions[i%len(actions)]}},
				patient: r.IntN(2) == 0,
			})
		}
		s.run(each(plans))
		s.finish(what)
	}
	sample(open, concurrent, sampled, "sample of single faults")
	sample(working(open, mixedWork), 2, sampled/otherPart, "sample of single faults of mixed tasks")
	sample(working(open, familyWork), 2, sampled/otherPart/2, "sample of single faults of a task in buckets")
}
