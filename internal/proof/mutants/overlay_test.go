package mutants_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"taskkit.dev/internal/proof/mutants"
)

// root is the root of the repository.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := filepath.Abs("../../..")
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// overlay is the tree with a patch applied to copies of its files.
type overlay struct {
	config   string            // the file for the go command's -overlay
	files    []string          // that the patch touches, from the root
	replace  map[string]string // the copies of the files, by path in the tree
	packages []string          // of the Go files among them
}

var touched = regexp.MustCompile(`(?m)^\+\+\+ b/(.+)$`)

// newOverlay applies a patch to copies of the files that it touches.
func newOverlay(tb testing.TB, m mutants.Mutant) (overlay, error) {
	tb.Helper()
	dir, tree := tb.TempDir(), root(tb)
	o := overlay{replace: make(map[string]string)}
	seen := make(map[string]bool)
	for _, t := range touched.FindAllSubmatch(m.Patch, -1) {
		name := string(t[1])
		src, err := os.ReadFile(filepath.Join(tree, name))
		if err != nil {
			return overlay{}, err
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return overlay{}, err
		}
		if err := os.WriteFile(to, src, 0o600); err != nil {
			return overlay{}, err
		}
		o.files = append(o.files, name)
		o.replace[filepath.Join(tree, name)] = to
		if pkg := filepath.Dir(name); strings.HasSuffix(name, ".go") && !seen[pkg] {
			seen[pkg] = true
			o.packages = append(o.packages, "./"+pkg)
		}
	}
	if len(o.files) == 0 {
		return overlay{}, errors.New("it touches no file")
	}
	// git must not find a repository around the copies: it would look for the
	// files there.
	cmd := exec.CommandContext(tb.Context(), "git", "apply", "-")
	cmd.Stdin = bytes.NewReader(m.Patch)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		return overlay{}, fmt.Errorf("it no longer applies: %w\n%s", err, out)
	}
	config, err := json.Marshal(map[string]any{"Replace": o.replace})
	if err != nil {
		return overlay{}, err
	}
	o.config = filepath.Join(dir, "overlay.json")
	return o, os.WriteFile(o.config, config, 0o600)
}

// parses returns an error if a patched file is not Go any more or is unchanged.
func (o overlay) parses(tb testing.TB) error {
	tb.Helper()
	for _, name := range o.files {
		patched := filepath.Join(filepath.Dir(o.config), name)
		now, err := os.ReadFile(patched)
		if err != nil {
			return err
		}
		before, err := os.ReadFile(filepath.Join(root(tb), name))
		if err != nil {
			return err
		}
		if string(now) == string(before) {
			return fmt.Errorf("it does not change %s", name)
		}
		if strings.HasSuffix(name, ".go") {
			if _, err := parser.ParseFile(token.NewFileSet(), name, now, parser.AllErrors); err != nil {
				return err
			}
		}
	}
	return nil
}

// builds returns an error if the packages of the patched tree do not build. Only
// when there are several are they compiled: each may need what the patch changes in
// another.
func (o overlay) builds(tb testing.TB, check *checker) error {
	tb.Helper()
	for _, pkg := range o.packages {
		if len(o.packages) == 1 {
			if err := check.check(pkg, o.replace); err != nil {
				return fmt.Errorf("the patched %s does not build: %w", pkg, err)
			}
		} else if out, err := o.command(tb, "build", pkg).CombinedOutput(); err != nil {
			return fmt.Errorf("the patched %s does not build: %w\n%s", pkg, err, out)
		}
	}
	return nil
}

// command is a go command in the patched tree.
func (o overlay) command(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "go", append([]string{args[0], "-overlay=" + o.config}, args[1:]...)...)
	cmd.Dir = root(tb)
	return cmd
}

// testNames are the tests that a package declares at top level.
func testNames(tb testing.TB, pkg string) map[string]bool {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(root(tb), pkg, "*_test.go"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("%s has no tests: %v", pkg, err)
	}
	names := make(map[string]bool)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			tb.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
