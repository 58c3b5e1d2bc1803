// Package docs_test tests the programs and commands of the documentation.
package docs_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/typescript"
)

// The program of the quickstart is built as a user would and prints what it
// should, on SQLite, on PostgreSQL and through PgBouncer. With an address it serves HTTP,
// and the three lines of http-protocol.md start a job, watch it, and fetch its result. It is a
// module of its own, whose own tests run by `make modules`.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "campus")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", program, ".")
	build.Dir = "quickstart"
	build.Env = userEnv()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the quickstart: %v\n%s", err, out)
	}
	const want = "COMPLETED: 2000 of 2000 students, 2000 changed\n"
	run := func(t *testing.T, url string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env = append(os.Environ(), "DATABASE_URL="+url)
		var log strings.Builder
		cmd.Stderr = &log
		if out, err := cmd.Output(); err != nil || string(out) != want {
			t.Errorf("printed %q, %v; want %q; its log:\n%s", out, err, want, log.String())
		}
		address, end := serve(t, program, url, want)
		got := loop(t, address)
		if lines := strings.Split(got, "\n"); len(lines) != 2 || !strings.Contains(lines[0], `"status":"SUCCEEDED"`) || lines[1] != `{"changed":3}` {
			t.Errorf("the lines of http-protocol.md print %q", got)
		}
		end()
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		run(t, "")
	})
	t.Run("typescript", func(t *testing.T) {
		t.Parallel()
		address, end := serve(t, program, "", want)
		if out := typescript.Loop(t, "http://"+address); out != "3 changed\n" {
			t.Errorf("the loop prints %q", out)
		}
		end()
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

// documented is the address that http-protocol.md makes the program listen on.
const documented = "127.0.0.1:8080"

// serve starts the program with an address, and returns the address and a function that ends it.
func serve(t *testing.T, program, url, want string) (address string, end func()) {
	t.Helper()
	cmd := exec.CommandContext(testdb.Within(t), program, "-listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "DATABASE_URL="+url)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewReader(out)
	first, _ := lines.ReadString('\n')
	second, _ := lines.ReadString('\n')
	var ok bool
	address, ok = strings.CutPrefix(strings.TrimSpace(second), "serving http://")
	if first != want || !ok {
		t.Fatalf("printed %q and %q", first, second)
	}
	return address, func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(lines)
		if err := cmd.Wait(); err != nil || len(rest) > 0 {
			t.Errorf("it ends with %v, and prints %q; its log:\n%s", err, rest, log.String())
		}
	}
}

// loop runs the lines of http-protocol.md with another address, and returns what they
// print. Without curl it makes the same requests.
func loop(t *testing.T, address string) string {
	t.Helper()
	page, err := os.ReadFile("http-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, lines, ok := strings.Cut(string(page), "```sh\nJ=")
	lines, _, end := strings.Cut(lines, "```\n")
	if !ok || !end || !strings.Contains(lines, documented+"/students/status") {
		t.Fatal("http-protocol.md has no lines that start a job on " + documented)
	}
	if _, err := exec.LookPath("curl"); err == nil {
		out, err := exec.CommandContext(testdb.Within(t), "sh", "-euc", strings.ReplaceAll("J="+lines, documented, address)).CombinedOutput()
		if err != nil {
			t.Fatalf("the lines of http-protocol.md: %v\n%s", err, out)
		}
		return string(out)
	}
	t.Log("curl is not installed: the requests are made without it")
	_, body, _ := strings.Cut(lines, "-d '")
	body, _, _ = strings.Cut(body, "'")
	location, _ := request(t, http.MethodPost, "http://"+address+"/students/status", body)
	for {
		_, job := request(t, http.MethodGet, "http://"+address+location+"?maximumPollingPeriod=30s", "")
		if strings.Contains(job, `"done":true`) {
			_, result := request(t, http.MethodGet, "http://"+address+location+"/result", "")
			return strings.TrimSpace(job) + "\n" + result
		}
	}
}

// request makes a request and returns the header Location and the body of its answer.
func request(t *testing.T, method, url, body string) (location, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(testdb.Within(t), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s %v\n%s", method, url, resp.Status, err, raw)
	}
	return resp.Header.Get("Location"), string(raw)
}

// userEnv is the environment of a user's go command, without special flags. -trimpath stays,
// which changes only the names of files, so that the build cache is used.
func userEnv() []string {
	flags := "GOFLAGS="
	if slices.Contains(strings.Fields(os.Getenv("GOFLAGS")), "-trimpath") {
		flags += "-trimpath"
	}
	return append(os.Environ(), flags)
}
