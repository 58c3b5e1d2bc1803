package main_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeStartsAModule runs the README's block for a module of one's own, in a
// directory beside the others of this test, and then the tools of the new module.
func TestReadmeStartsAModule(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(read(t, filepath.Join(root, "README.md")), "## A module of your own\n")
	_, block, also := strings.Cut(section, "```sh\n")
	block, _, end := strings.Cut(block, "```\n")
	if !ok || !also || !end || !strings.Contains(block, "../campus") {
		t.Fatal("README.md has no block that starts a module in ../campus")
	}
	dir := filepath.Join(t.TempDir(), "campus")
	script := strings.ReplaceAll(block, "../campus", dir)
	shell := func(in, script string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
		cmd.Dir = in
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
		return string(out)
	}
	if out := shell(root, script); !strings.Contains(out, "COMPLETED: 2000 of 2000 students, 2000 changed\n") {
		t.Errorf("the block prints\n%s", out)
	}
	shell(dir, "go vet ./... && go test ./... && go run . && (cd executors && go tool taskgen -check -o ../gen ./...)")

	// The tool brings no broker, no mail server and no command line.
	mod, sum := read(t, filepath.Join(dir, "go.mod")), read(t, filepath.Join(dir, "go.sum"))
	for _, library := range []string{"gofakeit", "go-smtp", "go-mail", "excelize", "amqp091", "nats", "franz-go", "cobra"} {
		if strings.Contains(mod+sum, library) {
			t.Errorf("go.mod or go.sum names %s:\n%s", library, mod)
		}
	}

	// A second start overwrites nothing.
	cmd := exec.CommandContext(t.Context(), "go", "run", "./cmd/taskgen", "init", dir)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "executors/generate.go is there already") {
		t.Errorf("a second start says: %v\n%s", err, out)
	}
}
