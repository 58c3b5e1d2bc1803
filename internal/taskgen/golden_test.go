package taskgen

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"

	"taskkit.dev/internal/taskgen/emit"
	"taskkit.dev/internal/taskgen/load"
	"taskkit.dev/internal/taskgen/lock"
	"taskkit.dev/internal/taskgen/model"
)

var update = flag.Bool("update", false, "write what is generated into the golden files")

// repository is the root of this module.
const repository = "../.."

// TestGolden generates for every case in testdata and compares. A case is an
// archive with the input and, below want/, the output or the errors. All cases
// are directories of one module, loaded and compiled once.
func TestGolden(t *testing.T) {
	t.Parallel()
	module := newModule(t, "example.test")
	archives := map[string]*txtar.Archive{}
	var names []string
	for _, pattern := range []string{"testdata/gen/*.txtar", "testdata/errors/*.txtar", "testdata/breaking/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, files...)
	}
	if len(names) == 0 {
		t.Fatal("no cases")
	}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		archives[name] = a
		for _, f := range a.Files {
			if !strings.HasPrefix(f.Name, "want/") {
				write(t, filepath.Join(module, caseName(name), f.Name), f.Data)
			}
		}
	}
	pkgs, fset, err := load.Packages(t.Context(), module, []string{"./..."})
	if err != nil {
		t.Fatal(err)
	}
	var compile []string
	for _, name := range names {
		own := "example.test/" + caseName(name)
		var mine []*packages.Package
		for _, p := range pkgs {
			if model.Within(p.PkgPath, own) {
				mine = append(mine, p)
			}
		}
		out := generateCase(t, func() (*Output, error) {
			found, wrong := load.Resolve(mine, fset, filepath.Join(module, caseName(name)), own+"/gen")
			for _, x := range found {
				x.Suffix = "task"
			}
			dir := filepath.Join(module, caseName(name))
			before, stale, err := readLock(t.Context(), dir, filepath.Join(dir, "gen"), &Options{Lock: "tasks.lock"})
			if err != nil {
				return nil, err
			}
			return build(found, append(wrong, stale...), before, emit.Target{Path: own + "/gen", Name: "gen", Module: "example.test"})
		})
		var got []txtar.File
		if len(out.Diagnostics) > 0 {
			var b bytes.Buffer
			for _, d := range out.Diagnostics {
				b.WriteString(d.String() + "\n")
			}
			got = []txtar.File{{Name: "want/errors", Data: b.Bytes()}}
		} else {
			compile = append(compile, "./"+caseName(name)+"/...")
		}
		for _, f := range out.Files {
			got = append(got, txtar.File{Name: "want/" + f.Name, Data: f.Data})
			write(t, filepath.Join(module, caseName(name), "gen", f.Name), f.Data)
		}
		if out.Lock != nil {
			got = append(got, txtar.File{Name: "want/" + lock.Name, Data: out.Lock})
		}
		if wantErrors := !strings.HasPrefix(name, "testdata/gen/"); wantErrors != (len(out.Diagnostics) > 0) {
			t.Errorf("%s: errors: %v", name, out.Diagnostics)
		}
		compareCase(t, name, archives[name], got)
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"vet"}, compile...)...)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the output does not compile: %v\n%s", err, out)
	}
}

// generateCase generates twice, which must give the same.
func generateCase(t *testing.T, generate func() (*Output, error)) *Output {
	t.Helper()
	a, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	b, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Files) != len(b.Files) || len(a.Diagnostics) != len(b.Diagnostics) {
		t.Fatal("two runs differ")
	}
	for i, f := range a.Files {
		if f.Name != b.Files[i].Name || !bytes.Equal(f.Data, b.Files[i].Data) {
			t.Errorf("%s: two runs differ", f.Name)
		}
	}
	return a
}

// compareCase compares what was generated with an archive, or updates it.
func compareCase(t *testing.T, name string, a *txtar.Archive, got []txtar.File) {
	t.Helper()
	want := map[string][]byte{}
	var input []txtar.File
	for _, f := range a.Files {
		if strings.HasPrefix(f.Name, "want/") {
			want[f.Name] = f.Data
		} else {
			input = append(input, f)
		}
	}
	if *update {
		a.Files = slices.Concat(input, got)
		write(t, name, txtar.Format(a))
		return
	}
	for _, f := range got {
		if !bytes.Equal(want[f.Name], f.Data) {
			t.Errorf("%s: run go test -update if this is right\n%s", name, diff.Diff("want", want[f.Name], "got", f.Data))
		}
		delete(want, f.Name)
	}
	for left := range want {
		t.Errorf("%s: %s was not generated", name, left)
	}
}

// caseName returns the directory of a case in the module.
func caseName(file string) string { return strings.TrimSuffix(path.Base(file), ".txtar") }

// newModule makes a module of its own that uses this one, as a user's does.
func newModule(tb testing.TB, name string) string {
	tb.Helper()
	root, err := filepath.Abs(repository)
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	mod := string(read(tb, filepath.Join(root, "go.mod")))
	mod = strings.Replace(mod, "module taskkit.dev\n", "module "+name+"\n", 1)
	mod += "\nrequire taskkit.dev v0.0.0\n\nreplace taskkit.dev => " + root + "\n"
	write(tb, filepath.Join(dir, "go.mod"), []byte(mod))
	write(tb, filepath.Join(dir, "go.sum"), read(tb, filepath.Join(root, "go.sum")))
	return dir
}

// read reads a file.
func read(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// write writes a file and the directories above it.
func write(tb testing.TB, name string, data []byte) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o666); err != nil {
		tb.Fatal(err)
	}
}
