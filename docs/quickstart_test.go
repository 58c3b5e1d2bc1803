// Package docs_test holds the documentation to what it describes.
package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

// The program of the quickstart is built as a user would and prints what it
// says, on SQLite, on PostgreSQL and through PgBouncer. It is a module of its
// own, whose own tests run by `make modules`.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "campus")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = "quickstart"
	build.Env = userEnv()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the quickstart: %v\n%s", err, out)
	}
	run := func(t *testing.T, url string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env = append(os.Environ(), "DATABASE_URL="+url)
		var log strings.Builder
		cmd.Stderr = &log
		out, err := cmd.Output()
		if got, want := string(out), "COMPLETED: 2000 of 2000 students, 2000 changed\n"; err != nil || got != want {
			t.Errorf("printed %q, %v; want %q; its log:\n%s", got, err, want, log.String())
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		run(t, "")
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		run(t, testdb.PgBouncer(t).Direct) // a database of the test's own
	})
	t.Run("pgbouncer", func(t *testing.T) {
		t.Parallel()
		run(t, testdb.PgBouncer(t).DSN)
	})
}

// userEnv is the environment of the go command as a user has it, without flags that they
// would have to know. -trimpath stays, which changes the names of files only: without it
// nothing would be found that is compiled already.
func userEnv() []string {
	flags := "GOFLAGS="
	if slices.Contains(strings.Fields(os.Getenv("GOFLAGS")), "-trimpath") {
		flags += "-trimpath"
	}
	return append(os.Environ(), flags)
}
