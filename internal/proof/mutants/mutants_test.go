package mutants_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/proof/mutants"
)

// all returns the mutants whose header is right. TestPatchesApply reports the
// others.
func all(tb testing.TB) []mutants.Mutant {
	tb.Helper()
	ms, _ := mutants.All()
	if len(ms) == 0 {
		tb.Fatal("there are no patches")
	}
	return ms
}

// Every patch has a header, applies, changes each file it names, is still Go, and
// its packages build. All broken patches are reported in one run.
func TestPatchesApply(t *testing.T) {
	t.Parallel()
	_, err := mutants.All()
	if err != nil {
		t.Error(err)
	}
	var broken []string
	wrong := func(m mutants.Mutant, err error) {
		broken = append(broken, m.File())
		t.Errorf("%s: %v", m.File(), err)
	}
	applied := make(map[string]overlay)
	packages := make(map[string][]string) // packages by module
	for _, m := range all(t) {
		o, err := newOverlay(t, m)
		if err == nil {
			err = o.parses(t)
		}
		if err != nil {
			wrong(m, err)
			continue
		}
		applied[m.File()] = o
		for _, pkg := range o.packages {
			dir, in := module(strings.TrimPrefix(pkg, "./"))
			if !slices.Contains(packages[dir], "./"+in) {
				packages[dir] = append(packages[dir], "./"+in)
			}
		}
	}
	check := make(map[string]*checker)
	for dir, list := range packages {
		check[dir] = newChecker(t, dir, list)
	}
	for _, m := range all(t) {
		if o, ok := applied[m.File()]; ok {
			if err := o.builds(t, check); err != nil {
				wrong(m, err)
			}
		}
	}
	if len(broken) > 0 {
		t.Errorf("%d broken patches (doc.go says how to mend them):\n\t%s", len(broken), strings.Join(broken, "\n\t"))
	}
}

// Every named test exists. Whether its subtests exist is seen when the mutant is
// tried.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	names := make(map[string]map[string]bool)
	for _, m := range all(t) {
		if names[m.Package] == nil {
			names[m.Package] = testNames(t, m.Package)
		}
		for _, test := range m.Tests {
			if top, _, _ := strings.Cut(test, "/"); !names[m.Package][top] {
				t.Errorf("%s: package %s has no test %s", m.File(), m.Package, top)
			}
		}
	}
}

// Every failure mode has a mutant or a reason why there is none, and the header
// of each mutant has its cause.
func TestFailureModesAreCovered(t *testing.T) {
	t.Parallel()
	modes := mutants.FailureModes()
	covered := make(map[int]bool)
	for _, m := range all(t) {
		covered[m.FailureMode] = true
		switch n := m.FailureMode; {
		case n > len(modes):
			t.Errorf("%s: there is no failure mode %d", m.File(), n)
		case n > 0 && m.Cause != modes[n-1].Cause:
			t.Errorf("%s: failure mode %d is %q, and the header says %q", m.File(), n, modes[n-1].Cause, m.Cause)
		}
	}
	for i, f := range modes {
		if f.Number != i+1 || f.Cause == "" {
			t.Errorf("failure mode %d is %+v", i+1, f)
		}
		if !covered[f.Number] && f.NotCovered == "" {
			t.Errorf("failure mode %d (%s) has no mutant and no reason for that", f.Number, f.Cause)
		}
	}
	if len(modes) != 30 {
		t.Errorf("%d failure modes, want 30", len(modes))
	}
}

// A wrong header is an error that names the file.
func TestParse(t *testing.T) {
	t.Parallel()
	const (
		mode = "Failure mode: 5, stuck\n"
		rest = "Fault: it waits\nPackage: internal/store\nTest: TestA\nTest: TestB/c\n"
		diff = "\ndiff --git a/x b/x\n"
	)
	m, err := mutants.Parse("05-waits.patch", []byte(mode+rest+diff))
	if got, want := fmt.Sprintf("%d|%s|%s|%s|%s|%s|%s", m.FailureMode, m.Cause, m.Name, m.Fault, m.Package, m.Tests, m.File()), "5|stuck|waits|it waits|internal/store|[TestA TestB/c]|05-waits.patch"; err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	for name, text := range map[string]string{
		"waits.patch":      mode + rest + diff,
		"06-waits.patch":   mode + rest + diff,
		"05-no-diff.patch": mode + rest,
		"05-empty.patch":   diff,
		"05-mode.patch":    rest + diff,
		"05-cause.patch":   "Failure mode: 5\n" + rest + diff,
		"05-twice.patch":   mode + mode + rest + diff,
		"05-unknown.patch": mode + "Kind: 5\n" + rest + diff,
		"05-test.patch":    mode + "Fault: it waits\nPackage: internal/store\n" + diff,
	} {
		if _, err := mutants.Parse(name, []byte(text)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want an error with its name", name, err)
		}
	}
}
