package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// TestInstalled goes the way of a user who has only heard of taskkit: a new
// module, go get -tool, go tool taskgen. What is installed is this repository,
// packed as a module proxy would serve it; the rest comes from what the machine
// has downloaded, without the network.
func TestInstalled(t *testing.T) {
	if testing.Short() {
		t.Skip("builds everything from a module cache of its own")
	}
	t.Parallel()
	const version = "v0.1.0"
	proxy, dir := t.TempDir(), t.TempDir()
	serve(t, proxy, version)

	goenv := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE")
	have, err := goenv.Output()
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(),
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(strings.TrimSpace(string(have)), "cache", "download"),
		"GOMODCACHE="+borrowed(t, strings.TrimSpace(string(have))), "GOFLAGS=-modcacherw -trimpath", "GONOSUMDB=*", "GOSUMDB=off", "GOWORK=off")
	command := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}

	command("go", "mod", "init", "example.com/campus")
	command("go", "get", "-tool", "taskkit.dev/cmd/taskgen@"+version)
	command("go", "get", "taskkit.dev/taskkit@"+version)
	write(t, filepath.Join(dir, "executors/watch/watch.go"), executor)
	if out := command("go", "tool", "taskgen", "-v"); !strings.Contains(out, "kind watch: executors/watch.Executor") {
		t.Errorf("go tool taskgen -v says\n%s", out)
	}
	command("go", "build", "./...")
	command("go", "tool", "taskgen", "-check")
	if mod := read(t, filepath.Join(dir, "go.mod")); !strings.Contains(mod, "tool taskkit.dev/cmd/taskgen") || strings.Contains(mod, "replace") {
		t.Errorf("go.mod is\n%s", mod)
	}
}

// borrowed returns a module cache of the test's own that has what another has, but nothing of
// this module. To unpack all that it depends on takes longer than everything else here.
func borrowed(t *testing.T, cache string) string {
	t.Helper()
	own := t.TempDir()
	const downloads = "cache/download"
	if err := os.MkdirAll(filepath.Join(own, downloads), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{".", downloads} {
		entries, err := os.ReadDir(filepath.Join(cache, in))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !e.IsDir() || e.Name() == "cache" || strings.HasPrefix(e.Name(), "taskkit.dev") {
				continue
			}
			if err := os.Symlink(filepath.Join(cache, in, e.Name()), filepath.Join(own, in, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	return own
}

// serve packs this module into a directory that the go command takes for a
// module proxy.
func serve(t *testing.T, proxy, version string) {
	t.Helper()
	var packed bytes.Buffer
	root := filepath.Join("..", "..")
	if err := zip.CreateFromDir(&packed, module.Version{Path: "taskkit.dev", Version: version}, root); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(proxy, "taskkit.dev", "@v")
	write(t, filepath.Join(at, "list"), version+"\n")
	write(t, filepath.Join(at, version+".info"), `{"Version":"`+version+`","Time":"2026-01-02T15:04:05Z"}`)
	write(t, filepath.Join(at, version+".mod"), read(t, filepath.Join(root, "go.mod")))
	write(t, filepath.Join(at, version+".zip"), packed.String())
}
