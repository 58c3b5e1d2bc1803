package taskgen

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"taskkit.dev/internal/taskgen/lock"
)

// aSpec is a spec for packageOf.
const aSpec = "// Spec says what to do.\ntype Spec struct {\n\tName string `json:\"name\"`\n}"

// TestTwoDirectives: two directives that write to one directory would remove each other's files.
// The second is refused, and so is the first once both have a lock file.
func TestTwoDirectives(t *testing.T) {
	t.Parallel()
	module := newModule(t, "example.test")
	for _, kind := range []string{"first", "second"} {
		write(t, filepath.Join(module, "executors", kind, kind+".go"), packageOf(kind, "", aSpec))
	}
	generate := func(kind, want string, newLock bool) {
		t.Helper()
		out, err := Generate(t.Context(), Options{Dir: filepath.Join(module, "executors", kind), Patterns: []string{"."}, Out: "../../gen", NewLock: newLock})
		if err != nil {
			t.Fatal(err)
		}
		if want != "" {
			if len(out.Diagnostics) != 1 || !strings.Contains(out.Diagnostics[0].String(), want) || !strings.Contains(out.Diagnostics[0].Remedy, "if another directive") {
				t.Errorf("%s: %v, want %q", kind, out.Diagnostics, want)
			}
			return
		}
		changes, err := out.Changes()
		if err != nil || len(out.Diagnostics) > 0 {
			t.Fatal(err, out.Diagnostics)
		}
		if err := Commit(changes); err != nil {
			t.Fatal(err)
		}
	}
	generate("first", "", false)
	generate("second", "tasks.lock is missing, and ../../gen/firsttask/firsttask.go was generated with one", false)
	generate("second", "", true)
	generate("first", "../../gen/secondtask/secondtask.go was generated for kind second, which neither these packages nor the lock file have", false)
}

// TestShallowClone: what is advised in a clone of one branch works there.
func TestShallowClone(t *testing.T) {
	t.Parallel()
	origin, clone := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	write(t, filepath.Join(origin, lock.Name), []byte(history(2, "released")))
	git(t, origin, "init", "-q", "-b", "main")
	git(t, origin, "add", ".")
	git(t, origin, "commit", "-q", "-m", "main")
	git(t, origin, "checkout", "-q", "-b", "work")
	git(t, origin, "commit", "-q", "--allow-empty", "-m", "work")
	git(t, origin, "clone", "-q", "--depth", "1", "--branch", "work", "file://"+origin, clone)
	read := func(base string) string {
		t.Helper()
		_, wrong, err := readLock(t.Context(), clone, filepath.Join(clone, "gen"), &Options{Lock: lock.Name, Base: base})
		if err != nil {
			t.Fatal(err)
		}
		if len(wrong) == 0 {
			return ""
		}
		return wrong[0].Remedy
	}
	for _, base := range []string{"git:main", "git:origin/main"} {
		if remedy := read(base); !strings.Contains(remedy, "git fetch origin main:refs/remotes/origin/main, and name it as in -base git:origin/main;") {
			t.Errorf("-base %s: %q", base, remedy)
		}
	}
	git(t, clone, "fetch", "-q", "origin", "main:refs/remotes/origin/main")
	if remedy := read("git:origin/main"); remedy != "" {
		t.Errorf("after the fetch: %q", remedy)
	}
}

// TestTypesOfAWorkspace: a type of another module of the workspace can be changed, and one of a
// module that is only required cannot.
func TestTypesOfAWorkspace(t *testing.T) {
	t.Parallel()
	if os.Getenv("GOWORK") != "" { // of this run: off, or the workspace of the repository
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTypesOfAWorkspace$")
		cmd.Env = append(os.Environ(), "GOWORK=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("with a workspace: %v\n%s", err, out)
		}
		return
	}
	module := newModule(t, "example.test")
	write(t, filepath.Join(module, "other/go.mod"), []byte("module other.test\n\ngo 1.24\n"))
	write(t, filepath.Join(module, "other/other.go"), []byte("// Package other has a type.\npackage other\n\n// Row is a row.\ntype Row struct{ Name string }\n"))
	write(t, filepath.Join(module, "executors/first/first.go"), packageOf("first", "\t\"other.test\"\n",
		"// Spec says what to do.\ntype Spec struct {\n\tRow other.Row `json:\"row\"`\n}"))
	message := func() string {
		t.Helper()
		out, err := Generate(t.Context(), Options{Dir: module})
		if err != nil || len(out.Diagnostics) != 1 {
			t.Fatal(err, out)
		}
		return out.Diagnostics[0].String()
	}
	mod := filepath.Join(module, "go.mod")
	before := read(t, mod)
	write(t, mod, append(before, []byte("\nrequire other.test v0.0.0\n\nreplace other.test => ./other\n")...))
	if got := message(); !strings.Contains(got, "nothing can be changed in a type of another module") {
		t.Errorf("a required module: %s", got)
	}
	write(t, mod, before)
	write(t, filepath.Join(module, "go.work"), []byte("go "+goVersion(t, before)+"\n\nuse (\n\t.\n\t./other\n)\n\nreplace taskkit.dev v0.0.0 => "+absoluteRoot(t)+"\n"))
	if got := message(); !strings.Contains(got, "Spec.Row.Name: no json tag: add `json:\"name\"`") {
		t.Errorf("a module of the workspace: %s", got)
	}
}

func absoluteRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// goVersion returns the version of Go that a go.mod asks for.
func goVersion(t *testing.T, mod []byte) string {
	t.Helper()
	for line := range strings.Lines(string(mod)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "go "); ok {
			return v
		}
	}
	t.Fatal("no version of Go")
	return ""
}

// TestWhatTheGoCommandSays: its words are passed on, without those of a library around them.
func TestWhatTheGoCommandSays(t *testing.T) {
	t.Parallel()
	module := newModule(t, "example.test")
	write(t, filepath.Join(module, "executors/first/first.go"), packageOf("first", "", aSpec))
	write(t, filepath.Join(module, "gen/oldtask/oldtask.go"), []byte("// Code generated by taskgen. DO NOT EDIT.\npackage oldtask\n"))
	for pattern, want := range map[string]string{
		"./nowhere":     "./nowhere: ",
		"./nowhere/...": "pattern ./nowhere/...: ",
		"other.test/x":  "no required module provides package other.test/x",
	} {
		out, err := Generate(t.Context(), Options{Dir: module, Patterns: []string{pattern}})
		if err != nil || len(out.Diagnostics) != 1 {
			t.Errorf("%s: %v %v, want one diagnostic", pattern, err, out)
			continue
		}
		if got := out.Diagnostics[0]; !strings.HasPrefix(got.Message, want) || !strings.HasPrefix(got.Remedy, "name packages that there are") || strings.Count(got.Message, pattern) > 2 {
			t.Errorf("%s: %v, want %q", pattern, got, want)
		}
	}
	if err := os.WriteFile(filepath.Join(module, "go.mod"), []byte("module example.test\n\nrequir x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Generate(t.Context(), Options{Dir: module, Patterns: []string{"./executors/..."}, NewLock: true})
	if got, want := errorText(err), "list ./executors/...: go: errors parsing go.mod:\ngo.mod:3: unknown directive: requir"; got != want {
		t.Errorf("a broken go.mod: %q, want %q", got, want)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestOutIsAFile: what is there and is no directory is named.
func TestOutIsAFile(t *testing.T) {
	t.Parallel()
	module := newModule(t, "example.test")
	write(t, filepath.Join(module, "gen"), []byte("x"))
	if _, err := Generate(t.Context(), Options{Dir: module}); errorText(err) != "gen is a file, and generated code needs a directory: name another with -o" {
		t.Error(err)
	}
}
