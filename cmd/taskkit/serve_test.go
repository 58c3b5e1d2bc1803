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
	"time"

	"github.com/google/uuid"

	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// The command serves the jobs of a person to that person, and on SIGTERM answers all who
// wait and ends.
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
		cmd := exec.CommandContext(testdb.Within(t), built, append(flags, "serve", "--listen", "127.0.0.1:0", "--person-header", "X-Person", "--host", "jobs.example.org")...)
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
			a := got(t, address+below, who)
			return a.status, a.body
		}
		if status, body := get(person, "/"+id.String()); status != 200 || !strings.Contains(body, `"status":"QUEUING"`) {
			t.Errorf("own job: %d %s", status, body)
		}
		checkMetrics(t, address)
		if status, body := get(uuid.New(), "/"+id.String()); status != 404 {
			t.Errorf("job of another person: %d %s", status, body)
		}
		if status, body := get(uuid.UUID{}, ""); status != 401 {
			t.Errorf("nobody: %d %s", status, body)
		}
		for host, want := range map[string]int{"jobs.example.org": 200, "JOBS.example.org:8443": 200, "localhost:1": 200, "[::1]:1": 200, "other.example": 421, "127.0.0.1.other.example": 421, "10.0.0.1": 421} {
			r, err := http.NewRequestWithContext(testdb.Within(t), http.MethodGet, address+"/"+id.String(), nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			r.Header.Set("X-Person", person.String())
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if resp.Body.Close(); resp.StatusCode != want {
				t.Errorf("Host %s: %d, want %d", host, resp.StatusCode, want)
			}
			if got := resp.Header.Get("Content-Type"); want == 421 && got != "application/problem+json" {
				t.Errorf("Host %s: the media type is %q", host, got)
			}
		}
		for _, probe := range []string{"/livez", "/readyz"} {
			if a := got(t, strings.TrimSuffix(address, "/jobs")+probe, uuid.UUID{}); a.status != 200 || a.body != "ok\n" {
				t.Errorf("%s: %d %s", probe, a.status, a.body)
			}
		}
		watchers := watchAll(t, address+"/"+id.String(), person)
		signalled := time.Now()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		var longest time.Duration
		for range mostWatchers {
			select {
			case w := <-watchers:
				longest = max(longest, w.at.Sub(signalled))
				if w.status != 200 || w.header.Get("Retry-After") != "2" || !strings.Contains(w.body, `"status":"QUEUING"`) {
					t.Errorf("a watch is answered with %d, Retry-After %q: %s", w.status, w.header.Get("Retry-After"), w.body)
				}
			case <-time.After(testdb.Patience(t)):
				t.Fatal("a watch is not answered")
			}
		}
		rest, _ := io.ReadAll(lines)
		if strings.Contains(string(rest), "livez") || strings.Contains(string(rest), "readyz") {
			t.Errorf("a probe is logged: %s", rest)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ends with %v: %s", err, rest)
		}
		t.Logf("after SIGTERM the last of %d watchers was answered in %v, and the process had ended in %v", mostWatchers, longest, time.Since(signalled))
	})
	expect(t, 2, "--person-header is missing", "serve", "-d", "sqlite:none.db")
	expect(t, 2, "this machine alone", "serve", "--person-header", "X", "--listen", "0.0.0.0:80", "-d", "sqlite:none.db")
	expect(t, 2, "this machine alone", "serve", "--person-header", "X", "--listen", ":80", "-d", "sqlite:none.db")
	expect(t, 2, "--listen accepts an address", "serve", "--person-header", "X", "--listen", "80", "-d", "sqlite:none.db")
}

// With --ui the command serves the dashboard: without a header of people to browsers of this machine, and otherwise to people who see their own tasks,
// and admins who see all.
func TestServeDashboard(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	if err := taskkit.Migrate(t.Context(), db.DB, ""); err != nil {
		t.Fatal(err)
	}
	admin, person := uuid.New(), uuid.New()
	id, err := watchtask.Submit(t.Context(), db.DB, watchtask.Spec{Action: watch.Start, Targets: targets.Targets{Query: &targets.Query{Everyone: true}}}, taskkit.OwnedBy(person))
	if err != nil {
		t.Fatal(err)
	}
	serve := func(flags ...string) (address string) {
		t.Helper()
		cmd := exec.CommandContext(testdb.Within(t), built, append([]string{"-d", db.DSN, "serve", "--ui", "--listen", "127.0.0.1:0"}, flags...)...)
		cmd.Env = append(os.Environ(), "DATABASE_URL=", "NO_COLOR=1")
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		lines := bufio.NewReader(stderr)
		for {
			said, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("it says %q, %v", said, err)
			}
			if address, ok := strings.CutSuffix(strings.TrimPrefix(strings.TrimSpace(said), "serving "), "/tasks/"); ok {
				return address
			}
		}
	}
	open := serve()
	if a := got(t, open+"/tasks/task/"+id.String(), uuid.UUID{}); a.status != 200 || !strings.Contains(a.body, `id="do-stop"`) {
		t.Errorf("without people: %d %s", a.status, a.body)
	}
	if a := got(t, open+"/jobs", person); a.status != 404 {
		t.Errorf("jobs without people: %d", a.status)
	}
	signed := serve("--person-header", "X-Person", "--admin", admin.String())
	for _, c := range []struct {
		who    uuid.UUID
		status int
	}{{uuid.UUID{}, 401}, {uuid.New(), 404}, {person, 200}, {admin, 200}} {
		if a := got(t, signed+"/tasks/task/"+id.String(), c.who); a.status != c.status {
			t.Errorf("%s: %d, want %d", c.who, a.status, c.status)
		}
	}
	if a := got(t, signed+"/jobs/"+id.String(), person); a.status != 200 {
		t.Errorf("the job: %d %s", a.status, a.body)
	}
	expect(t, 2, "--admin needs --ui and --person-header", "serve", "--ui", "--admin", admin.String(), "-d", "sqlite:none.db")
	expect(t, 2, "--admin accepts the UUID", "serve", "--ui", "--person-header", "X", "--admin", "ada", "-d", "sqlite:none.db")
}

// mostWatchers is how many requests of a person may wait at once, by default.
const mostWatchers = 100

// watchAll lets as many requests wait for a job as may, and returns their answers. That
// they all wait shows in the refusal of one more.
func watchAll(t *testing.T, job string, person uuid.UUID) <-chan answer {
	t.Helper()
	answers := make(chan answer, mostWatchers)
	for range mostWatchers {
		go func() {
			for {
				// The one more may have come before it.
				if a := got(t, job+"?maximumPollingPeriod=60s", person); a.status != 429 || t.Context().Err() != nil {
					answers <- a
					return
				}
			}
		}()
	}
	within := testdb.Within(t)
	for got(t, job+"?maximumPollingPeriod=20ms", person).status != 429 {
		if err := within.Err(); err != nil {
			t.Fatal("one more request than may is not refused: ", err)
		}
	}
	return answers
}

// answer is the answer to a request.
type answer struct {
	status int // 0: there was none
	header http.Header
	body   string
	at     time.Time
}

// got makes a request as a person.
func got(t *testing.T, url string, person uuid.UUID) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testdb.Patience(t))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	r.Header.Set("X-Person", person.String())
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err != nil {
		return answer{body: err.Error()}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return answer{resp.StatusCode, resp.Header, string(body), time.Now()}
}

// checkMetrics checks that the command serves the figures of queues to Prometheus, to requests to this machine only.
func checkMetrics(t *testing.T, jobs string) {
	t.Helper()
	address := strings.TrimSuffix(jobs, "/jobs") + "/metrics"
	const want = `taskkit_queue_tasks{taskkit_queue="default",taskkit_state="due"} 1`
	deadline := time.Now().Add(testdb.Patience(t))
	for {
		answer := got(t, address, uuid.UUID{})
		if answer.status == http.StatusOK && strings.Contains(answer.body, want) && strings.Contains(answer.body, "taskkit_build_info{") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the metrics are %d %s", answer.status, answer.body)
		}
		<-time.After(50 * time.Millisecond)
	}
}
