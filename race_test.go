package style_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// unwatched finds the lists of the Makefile that name the packages whose tests the race detector does not watch. The
// patterns of the second one are of the proof's module.
var unwatched = regexp.MustCompile(`(?m)^SEQUENTIAL(_PROOF)? := (.+)$`)

// What starts goroutines of its own must be tested with the race detector. A package that is tested without may start
// no goroutine but one that runs a call and sends its result, such as that of a worker: what the worker does is watched by the
// tests of package taskkit. Nor may the packages for tests that it uses.
func TestPackagesWithGoroutinesAreWatched(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var patterns []string
	for _, list := range unwatched.FindAllStringSubmatch(string(makefile), -1) {
		for p := range strings.FieldsSeq(list[2]) {
			if list[1] != "" {
				p = path.Join("internal/proof", p)
			}
			patterns = append(patterns, path.Clean(p))
		}
	}
	if len(patterns) < 10 {
		t.Fatalf("the Makefile lists only %d packages: %q", len(patterns), patterns)
	}
	all := goFiles(t)
	for _, f := range all {
		if !fitsAny(path.Dir(f.path), patterns) {
			continue
		}
		for _, used := range all {
			// The cases of a test may be those of a package for tests.
			ofTests := strings.HasPrefix(used.path, "internal/testkit/") && !used.test() && imports(f.ast, module+"/"+path.Dir(used.path))
			if used.path != f.path && !ofTests {
				continue
			}
			for _, n := range goroutines(used.ast) {
				t.Errorf("%s:%d starts a goroutine, and the Makefile lets the tests of %s run without the race detector: remove that package from its list", used.path, used.lineOf(n), path.Dir(f.path))
			}
		}
	}
}

// What make test runs without the race detector although it starts goroutines, make race runs with it: a change passes
// both before it lands.
func TestGateRunsTestAndRace(t *testing.T) {
	t.Parallel()
	gate, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"check make test", "check make race"} {
		if !slices.Contains(strings.Split(string(gate), "\n"), line) {
			t.Errorf(".ci/run has no line %q", line)
		}
	}
}

// imports reports whether a file imports a package.
func imports(file *ast.File, pkg string) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(pkg) })
}

// goroutines returns the statements of a file that start goroutines, but for those that send the result of a call and do
// nothing else.
func goroutines(file *ast.File) (found []ast.Node) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if !sendsOnly(n.Call.Fun) {
				found = append(found, n)
			}
		case *ast.CallExpr: // of a sync.WaitGroup or an errgroup.Group
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" && len(n.Args) == 1 && !sendsOnly(n.Args[0]) {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// sendsOnly reports whether a function is a literal whose only statement sends to a channel.
func sendsOnly(f ast.Expr) bool {
	lit, ok := f.(*ast.FuncLit)
	if !ok || len(lit.Body.List) != 1 {
		return false
	}
	_, ok = lit.Body.List[0].(*ast.SendStmt)
	return ok
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
