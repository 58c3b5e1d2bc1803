package model

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb/cluster"
)

// check searches the states of the model with some definitions and returns what
// spin's checker says. optimize is an option of gcc: to compile takes longer than a
// search that soon finds something.
func check(t *testing.T, optimize string, defines ...string) string {
	t.Helper()
	spin, gcc, err := cluster.ModelChecker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	model, err := os.ReadFile("task.pml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "task.pml"), model, 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	command(spin, append(defines, "-a", "task.pml")...)
	command(gcc, optimize, "-w", "-DSAFETY", "-DVECTORSZ=4096", "-DCOLLAPSE", "-o", "pan", "pan.c")
	return command(filepath.Join(dir, "pan"), "-m200000", "-w24")
}

var (
	states     = regexp.MustCompile(`(\d+) states, stored`)
	violations = regexp.MustCompile(`errors: (\d+)`)
	found      = regexp.MustCompile(`pan:1: (.*)`)
)

// result returns how many states there were, and what was found.
func result(t *testing.T, out string) (stored, problem string) {
	t.Helper()
	n, v := states.FindStringSubmatch(out), violations.FindStringSubmatch(out)
	if n == nil || v == nil || strings.Contains(out, "max search depth too small") {
		t.Fatalf("the search was not finished:\n%s", out)
	}
	if p := found.FindStringSubmatch(out); p != nil {
		problem = p[1]
	}
	if (v[1] == "0") != (problem == "") {
		t.Fatalf("%s errors, and %q:\n%s", v[1], problem, out)
	}
	return n[1], problem
}

// counts are the states of some searches, by name.
type counts struct {
	mu    sync.Mutex
	of    map[string]any
	wrong int
}

func newCounts() *counts { return &counts{of: make(map[string]any)} }

func (c *counts) count(name, stored string, wrong bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[name] = json.Number(stored)
	if wrong {
		c.wrong++
	}
}

// enough is the budget with which two faults are searched: a minute or two on two
// free cores.
const enough = time.Minute

// TestProtocol searches every state with one fault, and with more workers or poison without
// one. When TASKKIT_PROVE is set it is one more, where there is time for that: from a minute on.
func TestProtocol(t *testing.T) {
	t.Parallel()
	faults, poisoned, three := "-DFAULTS=1", "-DFAULTS=0", "-DFAULTS=0"
	if budget, long := prove.Budget(t); long {
		poisoned, three = "-DFAULTS=1", "-DFAULTS=1"
		if budget >= enough {
			faults, three = "-DFAULTS=2", "-DFAULTS=2"
		}
	}
	c := newCounts()
	t.Cleanup(func() { prove.Record(t, "model", map[string]any{"states": c.of, "violations": c.wrong}) })
	for name, defines := range map[string][]string{
		"faults":                    {faults},
		"poison":                    {"-DPOISON", poisoned, "-DIDS=12"},
		"three workers on one task": {"-DWORKERS=3", "-DTASKS=1", three, "-DIDS=12"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stored, problem := result(t, check(t, "-O1", defines...))
			c.count(name, stored, problem != "")
			if problem != "" {
				t.Errorf("the protocol fails: %s", problem)
			}
			t.Logf("%s states, no error", stored)
		})
	}
}

// TestBrokenVariants: the search finds what is wrong when it is.
func TestBrokenVariants(t *testing.T) {
	t.Parallel()
	c := newCounts()
	t.Cleanup(func() {
		prove.Record(t, "model-variants", map[string]any{"refuted": len(c.of) - c.wrong, "states until then": c.of, "violations": c.wrong})
	})
	for _, variant := range []struct {
		name, why string
		defines   []string
	}{
		{"reaper updates by id alone", "", []string{"-DV_REAP"}},
		{"the fence is a name that is used again", "", []string{"-DV_NAME"}},
		{"fence checked first only", "touched", []string{"-DV_FIRST"}},
		{"slots counted by a semaphore", "invalid end state", []string{"-DV_SEMAPHORE"}},
		{"reaper joins with process rows", "invalid end state", []string{"-DV_JOIN"}},
		{"stop is a signal", "after", []string{"-DV_SIGNAL"}},
		{"an own end voids an accepted delete", ".del", []string{"-DV_VOID"}},
		{"the lease is measured by the worker's clock", "touched", []string{"-DV_CLOCK"}},
		{"attempts counted at failures", "ids", []string{"-DPOISON", "-DV_FAILCOUNT"}},
		{"a session that ends when Begin finds another checkpoint", "invalid end state", []string{"-DV_DROP"}},
	} {
		t.Run(variant.name, func(t *testing.T) {
			t.Parallel()
			stored, problem := result(t, check(t, "-O0", variant.defines...))
			missed := problem == "" || !strings.Contains(problem, variant.why)
			c.count(variant.name, stored, missed)
			if missed {
				t.Errorf("%s states, and found %q, want %q", stored, problem, variant.why)
			}
			t.Logf("refuted after %s states: %s", stored, problem)
		})
	}
}
