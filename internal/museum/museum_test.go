package museum_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/museum"
)

// Every patch is in the table and the other way round, applies, and is still Go.
func TestPatchesApply(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.patch")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range museum.Exhibits() {
		i := slices.Index(files, e.File())
		if i < 0 {
			t.Errorf("%s is not there, or is shown twice", e.File())
			continue
		}
		files = slices.Delete(files, i, i+1)
		l, err := lay(t, e)
		if err == nil {
			err = l.parses(t)
		}
		if err != nil {
			t.Error(err)
		}
	}
	for _, name := range files {
		t.Errorf("%s is not in the table", name)
	}
}

// Every named test exists. That its subtests do shows when the patch is tried.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	names := make(map[string]map[string]bool)
	for _, e := range museum.Exhibits() {
		if names[e.Package] == nil {
			names[e.Package] = testNames(t, e.Package)
		}
		if len(e.Tests) == 0 {
			t.Errorf("%s names no test", e.File())
		}
		for _, test := range e.Tests {
			if top, _, _ := strings.Cut(test, "/"); !names[e.Package][top] {
				t.Errorf("%s: package %s has no test %s", e.File(), e.Package, top)
			}
		}
	}
}

// Every complaint has an exhibit, or a reason why there is nothing to show.
func TestComplaintsAreShown(t *testing.T) {
	t.Parallel()
	shown := make(map[int]bool)
	for _, e := range museum.Exhibits() {
		shown[e.Complaint] = true
	}
	complaints := museum.Complaints()
	for i, c := range complaints {
		if c.Number != i+1 || c.Cause == "" {
			t.Errorf("complaint %d is %+v", i+1, c)
		}
		if !shown[c.Number] && c.Beyond == "" {
			t.Errorf("complaint %d (%s) has no exhibit and no reason for that", c.Number, c.Cause)
		}
	}
	if len(complaints) != 30 {
		t.Errorf("%d complaints, want 30", len(complaints))
	}
}

// A sample of the patched trees builds: the first patch of each package.
func TestPatchedTreesBuild(t *testing.T) {
	t.Parallel()
	built := make(map[string]bool)
	for _, e := range museum.Exhibits() {
		l, err := lay(t, e)
		if err != nil {
			continue // told by TestPatchesApply
		}
		var fresh []string
		for _, pkg := range l.packages {
			if !built[pkg] {
				built[pkg] = true
				fresh = append(fresh, pkg)
			}
		}
		if len(fresh) == 0 {
			continue
		}
		if out, err := l.command(t, append([]string{"build"}, fresh...)...).CombinedOutput(); err != nil {
			t.Errorf("%s: the patched %s does not build: %v\n%s", e.File(), fresh, err, out)
		}
	}
	if len(built) < 5 {
		t.Errorf("%d packages are patched: %v", len(built), built)
	}
}
