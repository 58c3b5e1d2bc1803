package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/proof/prove/plan"
)

// A proof has failed when a step has, when something was not recorded, and when a
// violation was counted.
func TestSummary(t *testing.T) {
	t.Parallel()
	step := plan.Step{Name: "seeds", Records: []string{"native", "machine"}}
	counted := func(n float64) map[string]prove.Counts {
		return map[string]prove.Counts{
			"native":  {Counts: map[string]any{"seeds": 1000.0, "violations": n}},
			"machine": {Counts: map[string]any{"seeds": 8.0, "violations": 0.0}},
		}
	}
	for name, c := range map[string]struct {
		err    error
		counts map[string]prove.Counts
		wrong  bool
		says   string
	}{
		"all is well":  {nil, counted(0), false, "\n0 violations\n"},
		"a violation":  {nil, counted(2), true, "\n2 violations\n"},
		"it failed":    {errors.New("exit status 1"), counted(0), true, "FAILED"},
		"not recorded": {nil, nil, true, "nothing was recorded as machine"},
	} {
		var out bytes.Buffer
		if got := summary(&out, []outcome{{step, time.Minute, c.err}}, c.counts); got != c.wrong || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: wrong is %t, want %t and %q in\n%s", name, got, c.wrong, c.says, out.String())
		}
	}
}

func TestChosen(t *testing.T) {
	t.Parallel()
	if all, err := chosen(""); err != nil || len(all) != len(plan.Steps()) {
		t.Errorf("%d steps, %v; want all", len(all), err)
	}
	if some, err := chosen("mutants,model"); err != nil || len(some) != 2 || some[0].Name != "mutants" {
		t.Errorf("%v, %v; want the two, in this order", some, err)
	}
	if _, err := chosen("model,nonsense"); err == nil {
		t.Error("a step that there is not is accepted")
	}
}

// Counts of an earlier proof are not taken for this one's.
func TestEmpty(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	steps := []plan.Step{{Records: []string{"a", "b"}}}
	if err := empty(dir, steps); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.json", "other.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := empty(dir, steps); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "other.json" {
		t.Errorf("%v is left, %v; want other.json", left, err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.log")
	if err := os.WriteFile(file, []byte("=== RUN TestA\n    a_test.go:7: two touches\nnoise\n--- FAIL: TestA (0.10s)\nFAIL\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := failures(file), "    a_test.go:7: two touches\n--- FAIL: TestA (0.10s)\nFAIL\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
