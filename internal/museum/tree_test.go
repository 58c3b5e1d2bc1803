package museum_test

import (
	"encoding/json"
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

	"taskkit.dev/internal/museum"
)

// root is the module's.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// laid is a tree with a patch laid over it.
type laid struct {
	overlay  string   // the file that tells the go command
	files    []string // that the patch touches, from the root
	packages []string // of the Go files among them
}

var touched = regexp.MustCompile(`(?m)^\+\+\+ b/(.+)$`)

// lay applies a patch to copies of the files that it touches.
func lay(tb testing.TB, e museum.Exhibit) (laid, error) {
	tb.Helper()
	patch, err := filepath.Abs(e.File())
	if err != nil {
		return laid{}, err
	}
	text, err := os.ReadFile(patch)
	if err != nil {
		return laid{}, err
	}
	dir, tree := tb.TempDir(), root(tb)
	var l laid
	replace := make(map[string]string)
	seen := make(map[string]bool)
	for _, m := range touched.FindAllSubmatch(text, -1) {
		name := string(m[1])
		src, err := os.ReadFile(filepath.Join(tree, name))
		if err != nil {
			return laid{}, err
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return laid{}, err
		}
		if err := os.WriteFile(to, src, 0o600); err != nil {
			return laid{}, err
		}
		l.files = append(l.files, name)
		replace[filepath.Join(tree, name)] = to
		if pkg := filepath.Dir(name); strings.HasSuffix(name, ".go") && !seen[pkg] {
			seen[pkg] = true
			l.packages = append(l.packages, "./"+pkg)
		}
	}
	if len(l.files) == 0 {
		return laid{}, fmt.Errorf("%s touches no file", e.File())
	}
	// No repository around: git would look for the files in that.
	cmd := exec.CommandContext(tb.Context(), "git", "apply", patch)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		return laid{}, fmt.Errorf("%s does not apply any more (see the package's documentation): %w\n%s", e.File(), err, out)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return laid{}, err
	}
	l.overlay = filepath.Join(dir, "overlay.json")
	return l, os.WriteFile(l.overlay, overlay, 0o600)
}

// parses reports what of the patched Go is no Go any more, and whether the patch
// has changed anything at all.
func (l laid) parses(tb testing.TB) error {
	tb.Helper()
	for _, name := range l.files {
		patched := filepath.Join(filepath.Dir(l.overlay), name)
		now, err := os.ReadFile(patched)
		if err != nil {
			return err
		}
		before, err := os.ReadFile(filepath.Join(root(tb), name))
		if err != nil {
			return err
		}
		if string(now) == string(before) {
			return fmt.Errorf("the patch leaves %s as it is", name)
		}
		if strings.HasSuffix(name, ".go") {
			if _, err := parser.ParseFile(token.NewFileSet(), name, now, parser.AllErrors); err != nil {
				return err
			}
		}
	}
	return nil
}

// command is a go command at the root of the patched tree.
func (l laid) command(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "go", append([]string{args[0], "-overlay=" + l.overlay}, args[1:]...)...)
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
