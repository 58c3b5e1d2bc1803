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
	var packages []string
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
			if !slices.Contains(packages, pkg) {
				packages = append(packages, pkg)
			}
		}
	}
	check := newChecker(t, packages)
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

// A wrong header is an error that names the file.
func TestParse(t *testing.T) {
	t.Parallel()
	const (
		subject = "Subject: lease\n"
		rest    = "Fault: it waits\nPackage: internal/store\nTest: TestA\nTest: TestB/c\n"
		diff    = "\ndiff --git a/x b/x\n"
	)
	m, err := mutants.Parse("it-waits.patch", []byte(subject+rest+diff))
	if got, want := fmt.Sprintf("%s|%s|%s|%s|%s|%s", m.Subject, m.Name, m.Fault, m.Package, m.Tests, m.File()), "lease|it-waits|it waits|internal/store|[TestA TestB/c]|it-waits.patch"; err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	for name, text := range map[string]string{
		"It-Waits.patch": subject + rest + diff,
		"no-diff.patch":  subject + rest,
		"empty.patch":    diff,
		"none.patch":     rest + diff,
		"other.patch":    "Subject: speed\n" + rest + diff,
		"twice.patch":    subject + subject + rest + diff,
		"unknown.patch":  subject + "Kind: 5\n" + rest + diff,
		"test.patch":     subject + "Fault: it waits\nPackage: internal/store\n" + diff,
	} {
		if _, err := mutants.Parse(name, []byte(text)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want an error with its name", name, err)
		}
	}
}
