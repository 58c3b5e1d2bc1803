package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every package that starts goroutines is tested with the race detector, by make test or by make race, and all packages
// are tested once without -race.
func TestChoose(t *testing.T) {
	t.Parallel()
	var all []listed
	for name, src := range map[string]string{
		"taskkit":                     "func f() { go f() }",
		"taskkit/segment":             "",
		"executors":                   "func f() { go func() { c <- f() }() }",
		"internal/store/dbstore":      "func f() { go f() }",
		"internal/store/sqlite":       "",
		"internal/proof/proptest":     "",
		"internal/proof/model":        "",
		"internal/proof/chaos":        "func f() { g.Go(f) }",
		"cmd/taskkit/internal/screen": "",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte("package x\n"+src), 0o600); err != nil {
			t.Fatal(err)
		}
		all = append(all, listed{module + "/" + name, dir})
	}
	for _, c := range []struct {
		race, whole        bool
		watched, unwatched string
	}{
		{
			false, true, "internal/store/sqlite taskkit",
			"cmd/taskkit/internal/screen executors internal/proof/chaos internal/proof/model internal/proof/proptest internal/store/dbstore taskkit/segment",
		},
		{true, true, "internal/proof/chaos internal/proof/proptest internal/store/dbstore", ""},
		{
			true, false, "cmd/taskkit/internal/screen executors internal/proof/chaos internal/proof/model internal/proof/proptest internal/store/dbstore" +
				" internal/store/sqlite taskkit taskkit/segment", "",
		},
	} {
		watched, unwatched, err := choose(all, c.race, c.whole)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(watched); got != c.watched {
			t.Errorf("race %t, whole %t: watched are %s, want %s", c.race, c.whole, got, c.watched)
		}
		if got := names(unwatched); got != c.unwatched {
			t.Errorf("race %t, whole %t: not watched are %s, want %s", c.race, c.whole, got, c.unwatched)
		}
	}
}

// names returns import paths sorted and without their module.
func names(packages []string) string {
	var all []string
	for _, p := range packages {
		all = append(all, strings.TrimPrefix(p, module+"/"))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// The packages that are named here exist.
func TestNamedPackagesExist(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Concat(separate, concurrent, slowest) {
		if _, err := os.Stat(filepath.Join("../../..", strings.TrimSuffix(name, "/..."))); err != nil {
			t.Error(err)
		}
	}
}

func TestGoroutinesAreFound(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]int{
		"go func() { done <- w.Run(ctx) }()":                0,
		"go w.Run(ctx)":                                     1,
		"go func() { n++; done <- w.Run(ctx) }()":           1,
		"var wg sync.WaitGroup; wg.Go(func() { n++ })":      1,
		"var wg sync.WaitGroup; wg.Go(func() { c <- f() })": 0,
		"wg.Wait()": 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; func f() { "+src+" }", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(goroutines(file)); got != want {
			t.Errorf("%s: found %d, want %d", src, got, want)
		}
	}
}
