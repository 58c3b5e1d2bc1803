package model

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb/cluster"
)

// parentChecker is the checker of parent.pml, which is built once and reads its
// bounds and the broken rule from the environment.
type parentChecker struct{ path string }

func buildParentChecker(t *testing.T) parentChecker {
	t.Helper()
	spin, gcc, err := cluster.ModelChecker(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	model, err := os.ReadFile("parent.pml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "parent.pml"), model, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{spin, "-a", "parent.pml"},
		{gcc, "-O1", "-w", "-DSAFETY", "-DVECTORSZ=1024", "-DCOLLAPSE", "-o", "pan", "pan.c"},
	} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	return parentChecker{path: filepath.Join(dir, "pan")}
}

// search searches the states within some bounds, as DEATHS=1, and returns how many
// there were, and what was found.
func (p parentChecker) search(t *testing.T, bounds ...string) (stored, problem string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.path, "-n", "-m200000", "-w20")
	cmd.Dir = t.TempDir() // of its own, for the trail
	cmd.Env = append(os.Environ(), bounds...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("search with %v: %v\n%s", bounds, err, out)
	}
	return result(t, string(out))
}

// TestParent is the model of a parent that waits for its children, and of its broken
// variants.
func TestParent(t *testing.T) {
	t.Parallel()
	p := buildParentChecker(t)
	t.Run("protocol", func(t *testing.T) {
		t.Parallel()
		p.holds(t)
	})
	t.Run("broken variants", func(t *testing.T) {
		t.Parallel()
		p.refutes(t)
	})
}

// holds searches every state. Without the reaper nobody is left asleep as long as
// nobody dies; with it, whoever dies.
func (p parentChecker) holds(t *testing.T) {
	t.Helper()
	searches := map[string][]string{
		"checks alone":                {"REAPER=0"},
		"three children":              {"REAPER=0", "KIDS=3"},
		"commits without an answer":   {"REAPER=0", "CUTS=1"},
		"a request that makes it due": {"REAPER=0", "PULLS=1"},
		"a child is retried":          {"REAPER=0", "AGAIN=1", "GROUP=0"},
		"a child is stopped":          {"ALONE=1", "REAPER=0"},
		"children of strangers":       {"REAPER=0", "STRANGERS=1"},
		"failures pause":              {"REAPER=0", "POLICY=1"},
		"failures end":                {"REAPER=0", "POLICY=2", "GROUP=0"},
		"a death":                     {"DEATHS=1", "GROUP=0"},
		"a stop of endless children":  {"STOPS=1", "DEATHS=1", "ENDLESS=1", "WORKERS=1"},
	}
	if _, long := prove.Budget(t); long {
		searches["a death"] = []string{"DEATHS=1"}
		searches["a death, failures end"] = []string{"DEATHS=1", "POLICY=2"}
		searches["a death, its own error"] = []string{"DEATHS=1", "ERRORS=1"}
		searches["a stop"] = []string{"REAPER=0", "STOPS=1"}
		searches["a stop, children of strangers"] = []string{"STRANGERS=1", "STOPS=1", "ENDLESS=1", "GROUP=0"}
	}
	c := newCounts()
	t.Cleanup(func() { prove.Record(t, "model-parent", map[string]any{"states": c.of, "violations": c.wrong}) })
	for name, bounds := range searches {
		t.Run(name, func(t *testing.T) {
			stored, problem := p.search(t, bounds...)
			c.count(name, stored, problem != "")
			if problem != "" {
				t.Errorf("a parent with its children fails: %s", problem)
			}
			t.Logf("%s states, no error", stored)
		})
	}
}

// refutes searches with one rule broken: what is wrong is found.
func (p parentChecker) refutes(t *testing.T) {
	t.Helper()
	c := newCounts()
	t.Cleanup(func() {
		prove.Record(t, "model-parent-variants", map[string]any{"refuted": len(c.of) - c.wrong, "states until then": c.of, "violations": c.wrong})
	})
	const (
		asleep    = "invalid end state"
		open      = "==0)"
		forever   = "fence<claims"
		forNaught = "regrown"
		above     = "grown||(atMost"
	)
	for _, variant := range []struct{ name, why, bounds string }{
		{"a child's end checks the parent before its commit", asleep, "BROKEN=1 REAPER=0"},
		{"a child's end checks the parent in its transaction", asleep, "BROKEN=2 REAPER=0"},
		{"the parent's own check is left out", asleep, "BROKEN=3 REAPER=0"},
		{"no reaper", asleep, "DEATHS=1 REAPER=0"},
		{"a wake without fence and checkpoint", forNaught, "BROKEN=4 REAPER=0"},
		{"no check before Execute, and a request makes it due", above, "BROKEN=5 REAPER=0 PULLS=1"},
		{"no check before Execute, and a child is retried", above, "BROKEN=5 REAPER=0 AGAIN=1"},
		{"a wake that leaves the reason", "woken!=fence", "BROKEN=6 REAPER=0"},
		{"no check after a read-back", asleep, "BROKEN=7 REAPER=0 CUTS=1"},
		{"an ending still waits for failures", forever, "BROKEN=8 REAPER=0 POLICY=2"},
		{"a stopping parent is always due", forever, "BROKEN=9 REAPER=0 STOPS=1"},
		{"a stop before the wait does not make it due", asleep, "BROKEN=10 REAPER=0 STOPS=1 ENDLESS=1"},
		{"an end does not lock out new children", open, "BROKEN=11 REAPER=0 STRANGERS=1"},
		{"children are stopped before the ending is recorded, and one is submitted", asleep, "BROKEN=12 STOPS=1 STRANGERS=1 ENDLESS=1"},
		{"children are stopped before the ending is recorded, and a death", "interrupted", "BROKEN=12 ERRORS=1 DEATHS=1 WORKERS=1"},
		{"a recorded ending does not stop the children again", asleep, "BROKEN=13 STOPS=1 DEATHS=1 ENDLESS=1 WORKERS=1"},
		{"a request ends a parent that nobody serves", open, "BROKEN=14 STOPS=1 REAPER=0 WORKERS=1"},
		{"the same failure pauses it again", "resumed", "BROKEN=15 POLICY=1"},
		{"Done ends it while children are open", open, "BROKEN=16 REAPER=0"},
		{"the row of the family is written alone", asleep, "BROKEN=17 CUTS=1 DEATHS=1 GROUP=0"},
	} {
		t.Run(variant.name, func(t *testing.T) {
			stored, problem := p.search(t, strings.Fields(variant.bounds)...)
			missed := problem == "" || !strings.Contains(problem, variant.why)
			c.count(variant.name, stored, missed)
			if missed {
				t.Errorf("%s states, and found %q, want %q", stored, problem, variant.why)
			}
			t.Logf("refuted after %s states: %s", stored, problem)
		})
	}
}
