package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

// What items.md shows makes the quickstart's executor one with outcomes of items: a
// directive and three lines. The module's own test of items, which is in testdata, then
// passes in a copy of it.
func TestThreeLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("quickstart")); err != nil {
		t.Fatal(err)
	}
	clone, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	command := func(t *testing.T, env []string, stdin, name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		cmd.Env = append(userEnv(), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}

	page, err := os.ReadFile("items.md")
	if err != nil {
		t.Fatal(err)
	}
	_, patch, ok := strings.Cut(string(page), "```diff\n")
	patch, _, end := strings.Cut(patch, "```\n")
	if !ok || !end {
		t.Fatal("items.md has no block of the language diff")
	}
	var added, removed []string
	for line := range strings.Lines(patch) {
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		case strings.HasPrefix(line, "+"):
			added = append(added, line[1:])
		case strings.HasPrefix(line, "-"):
			removed = append(removed, line[1:])
		}
	}
	if more := len(added) - len(removed); more > 3 || len(removed) > 1 || !strings.HasPrefix(strings.Join(removed, ""), "//taskkit:executor ") {
		t.Errorf("%d lines more, and these are replaced: %q; want at most three, and the directive", more, removed)
	}
	command(t, nil, patch, "git", "apply", "-p0", "-")
	command(t, nil, "", "gofmt", "-w", "executors")

	test, err := os.ReadFile("testdata/items_test.go")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "items_test.go"), test, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	command(t, nil, "", "go", "mod", "edit", "-replace=taskkit.dev="+clone, "-replace=taskkit.dev/cmd/taskkit="+filepath.Join(clone, "cmd", "taskkit"))
	command(t, nil, "", "go", "generate", "./executors")
	program := filepath.Join(dir, "campus.test")
	command(t, nil, "", "go", "test", "-c", "-vet=off", "-o", program, ".")
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		command(t, []string{"DATABASE_URL="}, "", program, "-test.run=^TestItems$")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		command(t, []string{"DATABASE_URL=" + testdb.PgBouncer(t).Direct}, "", program, "-test.run=^TestItems$") // a database of the test's own
	})
}
