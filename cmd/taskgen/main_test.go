package main_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const executor = `// Package watch watches.
package watch

import (
	"context"

	"taskkit.dev/taskkit"
)

// Spec says who.
type Spec struct {
	Who string ` + "`json:\"who\"`" + `
}

// Executor watches.
//
//taskkit:executor watch
type Executor struct{}

// Execute implements taskkit.Executor.
func (Executor) Execute(context.Context, *taskkit.Batch[Spec, struct{}]) (taskkit.Next, error) {
	return taskkit.Done, nil
}
`

// program imports the generated code, and so is broken until there is some.
const program = `package main

import (
	"fmt"

	"example.test/bulk/gen"
)

func main() { fmt.Println(gen.Kinds()) }
`

// TestCommand runs the binary as a user does, in a module of their own, from
// nothing to a program that builds, through all its flags and exit codes.
func TestCommand(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "taskgen")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := t.TempDir()
	mod := strings.Replace(read(t, filepath.Join(root, "go.mod")), "module taskkit.dev\n", "module example.test/bulk\n", 1)
	write(t, filepath.Join(dir, "go.mod"), mod+"\nrequire taskkit.dev v0.0.0\n\nreplace taskkit.dev => "+root+"\n")
	write(t, filepath.Join(dir, "go.sum"), read(t, filepath.Join(root, "go.sum")))
	write(t, filepath.Join(dir, "executors/watch/watch.go"), executor)
	write(t, filepath.Join(dir, "cmd/bulk/main.go"), program)

	command := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		var o, e bytes.Buffer
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &o, &e
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Fatalf("taskgen %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, want, o.String(), e.String())
		}
		return o.String(), e.String()
	}
	contains := func(text, part string) {
		t.Helper()
		if !strings.Contains(text, part) {
			t.Errorf("want %q in\n%s", part, text)
		}
	}
	generated := filepath.Join(dir, "gen/watchtask/watchtask.go")

	// Called wrongly, or asked for help.
	_, errs := command(2, "-nonsense")
	contains(errs, "usage: taskgen")
	_, errs = command(2, "./executors/...", "-o", "gen")
	contains(errs, "write the flags before the packages")
	_, errs = command(1, "-o", "executors")
	contains(errs, "example.test/bulk/executors/watch is in example.test/bulk/executors, which is the directory of generated code")
	_, errs = command(0, "-h")
	contains(errs, "-check")

	// Nothing there yet: -check says so and writes nothing.
	out, errs := command(1, "-check")
	contains(out, "+++ gen.go (generated)")
	contains(errs, "stale")
	if _, err := os.Stat(filepath.Join(dir, "gen")); !os.IsNotExist(err) {
		t.Fatalf("-check wrote something: %v", err)
	}
	_, errs = command(0, "-v")
	contains(errs, "kind watch: executors/watch.Executor")
	contains(errs, "write watchtask/json.go")
	command(0, "-check")

	// A second run touches nothing, and reads its own output with ./...
	old := stat(t, generated)
	if out, errs := command(0, "-v", "./..."); strings.Contains(out+errs, "write ") || !os.SameFile(old, stat(t, generated)) {
		t.Errorf("a second run wrote: %s%s", out, errs)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "./...")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the output does not build: %v\n%s", err, out)
	}

	// Broken output is not read, a foreign file is left alone.
	write(t, generated, read(t, generated)+"\nbroken\n")
	write(t, filepath.Join(dir, "gen/watchtask/extra.go"), "package watchtask\n")
	out, errs = command(1, "-check")
	contains(out, "-broken")
	contains(errs, "stale: run go generate;")
	_, errs = command(1, "-check", "-base", "tasks.lock")
	contains(errs, "stale: run taskgen with the same flags, but without -check;") // go generate has no -base
	command(0)
	if strings.Contains(read(t, generated), "broken") || stat(t, filepath.Join(dir, "gen/watchtask/extra.go")) == nil {
		t.Error("not mended")
	}
	if err := os.Remove(filepath.Join(dir, "gen/watchtask/extra.go")); err != nil {
		t.Fatal(err)
	}

	// Stale output does not build: a tag alone is enough.
	source := filepath.Join(dir, "executors/watch/watch.go")
	write(t, source, strings.Replace(executor, `json:"who"`, `json:"whom"`, 1))
	build = exec.CommandContext(t.Context(), "go", "build", "./...")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err == nil {
		t.Error("stale output builds")
	} else {
		contains(string(out), "watchtask.go")
		contains(string(out), "RunGoGenerate_typeHasChanged")
	}

	// All generated code removed: the lock file is not among it, and a change that
	// breaks stored tasks is still refused.
	if err := os.RemoveAll(filepath.Join(dir, "gen")); err != nil {
		t.Fatal(err)
	}
	_, errs = command(1)
	contains(errs, "FIELD_NO_DELETE")
	write(t, source, executor)
	command(0)

	// The lock file lost: the generated code shows that there was one.
	lockFile := filepath.Join(dir, "tasks.lock")
	locked := read(t, lockFile)
	if err := os.Remove(lockFile); err != nil {
		t.Fatal(err)
	}
	_, errs = command(1)
	contains(errs, "tasks.lock is missing")
	command(1, "-check")
	command(0, "-newlock")
	if read(t, lockFile) != locked {
		t.Error("the new lock file is not that of the first run")
	}

	// A kind removed that was never deployed, in no repository: the advice leads on.
	write(t, source, strings.Replace(executor, "executor watch", "executor look", 1))
	_, errs = command(1)
	contains(errs, "KIND_NO_DELETE: kind watch was removed")
	contains(errs, "if no task is stored anywhere yet, begin the history anew: remove the lock file and run taskgen -newlock")
	if err := os.Remove(lockFile); err != nil {
		t.Fatal(err)
	}
	command(0, "-newlock")
	if now := read(t, lockFile); strings.Contains(now, "kind watch") || !strings.Contains(now, "kind look") {
		t.Errorf("the new lock file has\n%s", now)
	}

	// An ent client without the feature that Submit needs is named once.
	write(t, filepath.Join(dir, "ent/tx.go"), "// Code generated by ent, DO NOT EDIT.\n\npackage ent\n\ntype Tx struct{}\n")
	write(t, source, strings.Replace(executor, "import (\n", "import (\n\t_ \"example.test/bulk/ent\"\n", 1))
	if err := os.Remove(lockFile); err != nil {
		t.Fatal(err)
	}
	_, errs = command(0, "-newlock")
	contains(errs, "example.test/bulk/ent was generated by ent without the feature sql/execquery")
	if _, errs = command(0); errs != "" {
		t.Errorf("a second run says %s", errs)
	}
	write(t, source, executor)
	command(0)

	// A renamed kind: the old package goes.
	write(t, source, strings.Replace(executor, "executor watch", "executor watch_over alias=watch", 1))
	_, errs = command(0, "-v")
	contains(errs, "remove watchtask/watchtask.go")
	contains(errs, "write watchovertask/watchovertask.go")
	if _, err := os.Stat(filepath.Join(dir, "gen/watchtask")); !os.IsNotExist(err) {
		t.Errorf("the old package is still there: %v", err)
	}

	// Another directory; a file in the way; none that can be a package.
	command(0, "-out", "internal/bound")
	if !strings.Contains(read(t, filepath.Join(dir, "internal/bound/bound.go")), "package bound\n") {
		t.Error("the package is not named for its directory")
	}
	write(t, filepath.Join(dir, "mine/mine.go"), "package mine\n")
	_, errs = command(1, "-o", "mine")
	contains(errs, "was not written by taskgen")
	_, errs = command(1, "-o", "Not-A-Package")
	contains(errs, "cannot be the name of a package")

	// Mistakes in the source: nothing is written.
	before := read(t, filepath.Join(dir, "gen/gen.go"))
	write(t, source, strings.Replace(executor, "Who string", "Who func()", 1))
	_, errs = command(1)
	contains(errs, "executors/watch/watch.go:12:2: Spec.Who: a func cannot be stored as JSON: remove it")
	contains(errs, "nothing was written")
	if read(t, filepath.Join(dir, "gen/gen.go")) != before {
		t.Error("something was written")
	}
	_, errs = command(1, "./cmd/...")
	contains(errs, "no executors in ./cmd/...")
}

func stat(t *testing.T, name string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, name, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
}
