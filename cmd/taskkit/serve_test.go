package main_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// The command serves the jobs of a person to that person, and on SIGTERM answers who
// waits and ends.
func TestServe(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		schema, flags := taskkit.DefaultSchema, []string{"-d", db.DSN}
		if db.Schema != "" {
			schema, flags = db.Schema, append(flags, "--schema", db.Schema)
		}
		if err := taskkit.Migrate(t.Context(), db.DB, schema); err != nil {
			t.Fatal(err)
		}
		person := uuid.New()
		id, err := watchtask.Submit(t.Context(), db.DB, watchtask.Spec{
			Action:  watch.Start,
			Targets: targets.Targets{Query: &targets.Query{Everyone: true}},
		}, taskkit.WithSchema(schema), taskkit.OwnedBy(person))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(testdb.Within(t), built, append(flags, "serve", "--listen", "127.0.0.1:0", "--person-header", "X-Person")...)
		cmd.Env = append(os.Environ(), "DATABASE_URL=", "NO_COLOR=1")
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		lines := bufio.NewReader(stderr)
		said, err := lines.ReadString('\n')
		address, ok := strings.CutPrefix(strings.TrimSpace(said), "serving ")
		if err != nil || !ok {
			t.Fatalf("it says %q, %v", said, err)
		}
		get := func(who uuid.UUID, below string) (int, string) {
			t.Helper()
			return got(t, address+below, who)
		}
		if status, body := get(person, "/"+id.String()); status != 200 || !strings.Contains(body, `"status":"QUEUING"`) {
			t.Errorf("own job: %d %s", status, body)
		}
		if status, body := get(uuid.New(), "/"+id.String()); status != 404 {
			t.Errorf("job of another person: %d %s", status, body)
		}
		if status, body := get(uuid.UUID{}, ""); status != 401 {
			t.Errorf("nobody: %d %s", status, body)
		}
		waited := make(chan int, 1)
		go func() {
			status, _ := got(t, address+"/"+id.String()+"?maximumPollingPeriod=60s", person)
			waited <- status
		}()
		// That it waits shows in nothing but its silence: either it does, or it comes after
		// the signal and is refused a connection.
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if status := <-waited; status != 200 && status != 0 {
			t.Errorf("the watch is answered with %d", status)
		}
		rest, _ := io.ReadAll(lines)
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ends with %v: %s", err, rest)
		}
	})
	expect(t, 2, "--person-header is missing", "serve", "-d", "sqlite:none.db")
	expect(t, 2, "this machine alone", "serve", "--person-header", "X", "--listen", "0.0.0.0:80", "-d", "sqlite:none.db")
	expect(t, 2, "this machine alone", "serve", "--person-header", "X", "--listen", ":80", "-d", "sqlite:none.db")
	expect(t, 2, "--listen accepts an address", "serve", "--person-header", "X", "--listen", "80", "-d", "sqlite:none.db")
}

// got makes a request as a person. The status is 0 without an answer.
func got(t *testing.T, url string, person uuid.UUID) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testdb.Patience(t))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	r.Header.Set("X-Person", person.String())
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(body)
}
