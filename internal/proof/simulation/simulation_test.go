//go:build !wasip1

package simulation_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/sys"

	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/proof/simulation"
)

func asExit(err error, exit **sys.ExitError) bool { return errors.As(err, exit) }

// replay is the command that shows a violation again.
func replay(r simulation.Report) string {
	return fmt.Sprintf("go test ./internal/proof/simulation -run TestSeed -v -seed %d", r.Seed)
}

// TestSeed runs the seed of the flag on the simulated machine and shows what
// happened.
func TestSeed(t *testing.T) {
	t.Parallel()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "seed" })
	if !given {
		t.Skip("replays the seed given with -seed")
	}
	flags := []string{"-traced", "-seed=" + strconv.FormatUint(*seed, 10), "-mutant=" + *mutant}
	trace := &lines{t: t}
	rs, err := theMachine(t).run(t.Context(), trace, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("trace %x, %d changes, %d touches, %v", rs[0].Hash, rs[0].Changes, rs[0].Touches, rs[0].Seen)
	for _, v := range rs[0].Violations {
		t.Error(v)
	}
}

// lines shows a trace.
type lines struct{ t *testing.T }

func (l *lines) Write(b []byte) (int, error) { l.t.Logf("%s", b); return len(b), nil }

// A seed is a function of its number: on the machine it leaves the same trace
// whenever it runs, and another seed another.
func TestReplay(t *testing.T) {
	t.Parallel()
	m := theMachine(t)
	hashes := make(map[uint64]uint64)
	for s := range uint64(4) {
		one, two := once(t, m, s).Hash, once(t, m, s).Hash
		if one != two {
			t.Errorf("seed %d left the traces %x and %x", s, one, two)
		}
		if other, ok := hashes[one]; ok {
			t.Errorf("seeds %d and %d left the same trace", s, other)
		}
		hashes[one] = s
	}
}

// detectedWithin is how many seeds may be needed to detect a mutant. The rarest
// takes some 300.
const detectedWithin = 6000

// known are seeds that find a mutant on the machine, where they find it each time. They
// are tried first. A change of the plan gives all seeds another meaning: then others
// are searched for, which takes as long again for the rarest mutant as for all others.
var known = map[string]uint64{
	"no-fence":                       59,
	"claim-keeps-fence":              3,
	"reap-by-id":                     31,
	"reap-never":                     33,
	"batch-without-lock":             611,
	"checkpoint-outside-transaction": 3,
	"stop-not-delivered":             11,
	"policy-after-commit":            0,
	"search-loses-page":              0,
	"ledger-beside-failure":          12,
	"children-outside-transaction":   6,
	"attempts-counted-at-failure":    31,
	"claims-from-paused-queue":       10,
	"fires-any-version":              40,
}

// Every mutant is detected, and detected again from its seed alone.
func TestMutantsAreDetected(t *testing.T) {
	t.Parallel()
	m := theMachine(t)
	for _, mutant := range simulation.Mutants() {
		name := mutant.Name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ok := known[name]
			if ok && detects(t, m, name, s) {
				return
			}
			t.Logf("seed %d does not find it any more: replace it in known by the one that does", s)
			// What a seed finds here it need not find there, where its calls
			// meet in another order. So those that do here are tried there.
			for s := range uint64(detectedWithin) {
				if len(simulate(t, s, simulation.Options{Mutant: name}).Violations) > 0 && detects(t, m, name, s) {
					return
				}
			}
			t.Fatalf("not found by %d seeds", detectedWithin)
		})
	}
}

// detects reports whether a seed finds a mutant on the machine, and fails the test
// unless it then finds the same again.
func detects(t *testing.T, m *machine, mutant string, seed uint64) bool {
	t.Helper()
	found := once(t, m, seed, "-mutant="+mutant)
	if len(found.Violations) == 0 {
		return false
	}
	again := once(t, m, seed, "-mutant="+mutant)
	if again.Hash != found.Hash || !slices.Equal(again.Violations, found.Violations) {
		t.Fatalf("seed %d found %v, and then %v", seed, found.Violations, again.Violations)
	}
	t.Logf("found by seed %d: %s", seed, found.Violations[0])
	return true
}

// once runs a seed on a machine of its own.
func once(t *testing.T, m *machine, seed uint64, flags ...string) simulation.Report {
	t.Helper()
	rs, err := m.run(t.Context(), nil, append(flags, "-seed="+strconv.FormatUint(seed, 10))...)
	if err != nil {
		t.Fatal(err)
	}
	return rs[0]
}

// sometimes are the states that a short run must reach.
var sometimes = []string{
	"takeover", "declared dead", "crash", "restart", "paused past its heartbeat deadline", "goes on past its deadline", "clock jumps ahead", "clock jumps back",
	"commit lost", "commit late", "commit unanswered", "last write lost", "statement lost", "transaction left to its limit",
	"Claim lost", "Claim late", "Claim unanswered", "Apply lost", "Apply late", "Apply unanswered", "Apply answered too late", "Heartbeat lost", "Heartbeat late", "Heartbeat unanswered",
	"Begin lost", "Begin late", "Begin unanswered", "Deregister lost", "Deregister late", "Deregister unanswered", "RegisterWorker late", "RegisterWorker unanswered",
	"Positions lost", "Positions late", "Positions unanswered", "Reap lost", "Reap late", "Reap unanswered",
	"Submit lost", "Submit late", "Submit unanswered", "Request lost", "Request late", "Request unanswered",
	"stop of QUEUED", "stop of SCHEDULING", "stop of EXECUTING", "stop of COMPLETED", "stop of FAILURE",
	"pause of QUEUED", "pause of SCHEDULING", "pause of EXECUTING", "resume of QUEUED", "resume of EXECUTING",
	"delete of QUEUED", "delete of SCHEDULING", "delete of EXECUTING", "delete of COMPLETED", "retry of FAILURE",
	"context ignored", "panic", "goexit", "permanent error", "transient error", "later", "savepoint", "tried again", "worker killed by an item",
	"abort: failed", "abort: stopped", "abort: deleted", "report: done", "report: stopped", "refused by its unique key", "merged", "page of a frozen set", "Targets lost", "Targets unanswered", "skipped item",
	"deferred item", "deferred item tried again", "preview", "paused by its stop policy", "paused for approval", "approve of QUEUED", "change of QUEUED", "change of EXECUTING",
	"batch of a search", "search tried again", "search continued later", "search done", "search that finds nothing", "search that finds several pages",
	"claim during a search", "delete during a search", "pause during a search", "failed item that succeeds later", "application of a preview",
	"retry of failed items", "continuation", "Plan lost", "Plan unanswered",
	"children submitted", "parent submits more", "parent continues later", "parent woken", "parent goes on after its wait", "wait over when it is committed",
	"parent ends in COMPLETED", "parent ends in FAILURE", "failed child retried with its parent", "request of a parent", "request of a child alone",
	"request to pass on", "client killed before it passes a request on", "request passed on", "resume passed on", "parent woken without faults",
	"late parent: open child after pause", "WakeParents lost", "WakeParents late", "WakeParents unanswered", "Family lost", "Family unanswered",
	"batch of a task with a window", "task waits for its window", "clock jumps to a boundary", "clock jumps to the next window",
	"failed: started_too_late", "failed: deadline_exceeded", "failed: time_limit_exceeded",
	"batch that an indicator concerns", "indicator fails", "task throttled", "ReadHealth unanswered",
	"queue paused", "queue resumed", "claim of a task to end in a paused queue", "stop in a paused queue", "safe mode", "PauseQueue late",
	"schedule fired", "schedule paused", "schedule resumed", "schedule triggered", "schedule changed", "schedule deleted", "FireSchedule late", "FireSchedule unanswered",
	"fires of a schedule missed: once", "fires of a schedule missed: all", "fires of a schedule missed: forget",
	"task given a permit", "task refused a permit", "woken for a permit", "TakePermits lost", "TakePermits late", "TakePermits unanswered", "WakeWaiting lost",
}

// number is what an environment variable says, or otherwise.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestMachine runs seeds on simulated machines, one each, where every violation
// comes back: TASKKIT_MACHINE_SEEDS of them from -seed, 4 if it is not set.
func TestMachine(t *testing.T) {
	t.Parallel()
	m := theMachine(t)
	for s := range number(t, "TASKKIT_MACHINE_SEEDS", 4) {
		if r := once(t, m, *seed+s); len(r.Violations) > 0 {
			t.Errorf("seed %d: %s\nagain: %s", r.Seed, r.Violations, replay(r))
		}
	}
}

// traceText is the trace of a seed.
type traceText struct{ text bytes.Buffer }

func (w *traceText) add(line string) {
	w.text.WriteString(line)
	w.text.WriteByte('\n')
}

// keep writes the trace of a violation to the directory of the counts, if there is one, and says
// where it is.
func (w *traceText) keep(t *testing.T, seed uint64) string {
	t.Helper()
	dir := os.Getenv(prove.OutEnv)
	if dir == "" {
		return "which is kept with " + prove.OutEnv + " set to a directory"
	}
	file := filepath.Join(dir, fmt.Sprintf("seed-%d.log", seed))
	if err := os.WriteFile(file, w.text.Bytes(), 0o600); err != nil {
		t.Error(err)
	}
	return "see " + file
}

// TestNative runs seeds on the machine that runs the tests: TASKKIT_SEEDS of them
// from -seed, or as many as there is time for by TASKKIT_PROVE, or 200. The race detector
// watches a quarter of them, each of which takes ten times as long.
func TestNative(t *testing.T) {
	t.Parallel()
	began, end, n := time.Now(), time.Time{}, uint64(200)
	if watched {
		n = 50
	}
	if budget, long := prove.Budget(t); long {
		end, n = began.Add(budget), math.MaxUint64
	}
	n = number(t, "TASKKIT_SEEDS", n)
	var (
		mu    sync.Mutex
		seen  = make(map[string]int)
		total simulation.Report
		wrong int
		each  sync.WaitGroup
		next  atomic.Uint64 // the seed, counted from the flag's
		ran   atomic.Uint64
	)
	for range runtime.GOMAXPROCS(0) {
		each.Go(func() {
			for end.IsZero() || time.Now().Before(end) {
				s := next.Add(1) - 1
				if s >= n {
					return
				}
				var trace traceText
				r := simulate(t, *seed+s, simulation.Options{Trace: trace.add})
				ran.Add(1)
				mu.Lock()
				for k, v := range r.Seen {
					seen[k] += v
				}
				total.Changes += r.Changes
				total.Touches += r.Touches
				if len(r.Violations) > 0 {
					wrong++
					t.Errorf("seed %d: %s\nit may need the order of calls that it had here, %s; on the simulated machine: %s", r.Seed, r.Violations, trace.keep(t, r.Seed), replay(r))
				}
				mu.Unlock()
			}
		})
	}
	each.Wait()
	for _, what := range sometimes {
		if seen[what] == 0 && ran.Load() >= 300 {
			t.Errorf("never happened in %d seeds: %s", ran.Load(), what)
		}
	}
	took := time.Since(began)
	t.Logf("%d seeds, %d with violations, %d changes, %d touches, %d kinds of events, %v, %.0f seeds/s",
		ran.Load(), wrong, total.Changes, total.Touches, len(seen), took.Round(time.Millisecond), float64(ran.Load())/took.Seconds())
	if !end.IsZero() {
		prove.Record(t, "simulation", map[string]any{
			"seeds": ran.Load(), "violations": wrong, "changes": total.Changes, "touches": total.Touches,
			"kinds of events": len(seen), "seeds a second": math.Round(float64(ran.Load()) / took.Seconds()),
			"takeovers": seen["takeover"], "crashes": seen["crash"], "commits lost": seen["commit lost"], "commits unanswered": seen["commit unanswered"],
		})
	}
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%8d %s", seen[what], what)
	}
}
