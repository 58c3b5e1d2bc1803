package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("TASKKIT_BENCH_CHILD") != "" { // a worker process of the scenario curve
		if err := child(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// margin is the least ratio in the smoke test for a comparison in which taskkit is far
// ahead on a quiet machine. It tests "not slower", with room for a busy machine.
const margin = 1.0

// tries is how often a comparison may be repeated before it is lost. On two busy cores
// one round of a second proves nothing.
const tries = 3

// The harness works, and taskkit is not slower than River where it is ahead by
// a lot: no absolute time is asserted. Where the two are close, as in submits, a
// second on a busy machine decides nothing, and the figures need only be there.
func TestSmoke(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		scenario string
		scale    float64
		peer     string
		metrics  []string // none: the two are close
	}{
		{"bulk", 0.02, "River tuned, one job per person", []string{itemsPerSecond}},
		{"drain", 0.05, "River default", []string{tasksPerSecond}},
		{"submit", 0.02, "River", nil},
		{"latency", 0.2, "River default", []string{"p50 ms"}},
		{"start", 0.02, submitAlone, nil},
		{"idle", 0.1, "River tuned", []string{"transactions/s"}},
	} {
		t.Run(tc.scenario, func(t *testing.T) {
			o := options{scenarios: []string{tc.scenario}, scale: tc.scale, runs: 1, postgres: true, sides: us + "," + tc.peer}
			var lost []string
			for try := range tries {
				outcomes, err := measure(t.Context(), o, t.Output())
				if err != nil {
					t.Fatal(err)
				}
				if lost = losses(t, outcomes, tc.peer, tc.metrics); len(lost) == 0 {
					return
				}
				t.Logf("try %d of %d: slower: %s", try+1, tries, strings.Join(lost, "; "))
			}
			t.Errorf("slower than River %d times in a row: %s", tries, strings.Join(lost, "; "))
		})
	}
}

// losses lists the comparisons with a peer that are lost. It fails a test that
// has compared nothing, or measured nothing of one side.
func losses(t *testing.T, outcomes []outcome, peer string, metrics []string) []string {
	t.Helper()
	var lost []string
	compared := 0
	for _, o := range outcomes {
		if main := o.metrics[0].name; len(metrics) == 0 {
			if !o.has(us, main) || !o.has(peer, main) {
				t.Errorf("%s: a side has no %s", o.title, main)
			}
			compared++
		}
		for _, name := range metrics {
			if !o.has(us, name) || !o.has(peer, name) {
				continue
			}
			compared++
			if times := o.times(peer, o.metric(name)); times < margin {
				lost = append(lost, fmt.Sprintf("%s: %s is %s times River's", o.title, name, figure(times)))
			}
		}
	}
	if compared == 0 {
		t.Fatalf("nothing was compared with %q", peer)
	}
	return lost
}

// The other scenarios measure every side.
func TestOtherScenarios(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"weight", "curve", "codec", "each", "frozen", "preview", "intake", "limits", "network", "horizon", "processes"} {
		t.Run(name, func(t *testing.T) {
			o := options{scenarios: []string{name}, scale: 0.001, runs: 1, postgres: true, sides: us}
			outcomes, err := measure(t.Context(), o, t.Output())
			if err != nil {
				t.Fatal(err)
			}
			for _, out := range outcomes {
				for _, s := range out.sides {
					if !out.has(s.name, out.metrics[0].name) {
						t.Errorf("%s: %s has no %s", out.title, s.name, out.metrics[0].name)
					}
				}
			}
		})
	}
}

// The command line is checked before a server starts.
func TestCommandRefuses(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-scenario", "dance"}, {"-db", "oracle"}, {"-runs", "0"}, {"-scale", "0"}, {"-scale", "fast"},
	} {
		if err := command(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}

// The fixture of the sizes can be made and measured.
func TestSize(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"postgres", "sqlite"} {
		t.Run(base, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			if err := size(t.Context(), []string{"-db", base, "-scale", "0.001", "-window", "3s"}, &out, t.Output()); err != nil {
				t.Fatal(err)
			}
			for _, row := range []string{"| claim that finds nothing |", "| 20 pages of 1,000", "| full tables, the second |", "| all |"} {
				if !strings.Contains(out.String(), row) {
					t.Errorf("there is no row %s in %s", row, out.String())
				}
			}
		})
	}
}
