package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/typescript"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// execute is an executor function.
type execute func(ctx context.Context, b *taskkit.Batch[watchtask.Spec, watchtask.State]) (taskkit.Next, error)

func (f execute) Execute(ctx context.Context, b *taskkit.Batch[watchtask.Spec, watchtask.State]) (taskkit.Next, error) {
	return f(ctx, b)
}

// site is a migrated database with a client for it.
type site struct {
	*testdb.DB
	schema string
	client *taskkit.Client
}

func migrated(t *testing.T, db *testdb.DB) *site {
	t.Helper()
	s := &site{DB: db, schema: db.Schema}
	if s.schema == "" {
		s.schema = taskkit.DefaultSchema
	}
	if err := taskkit.Migrate(t.Context(), db.DB, s.schema); err != nil {
		t.Fatal(err)
	}
	s.client = taskkit.NewClient(db.DB, taskkit.WithSchema(s.schema))
	return s
}

// args appends the flags that name the database.
func (s *site) args(args ...string) []string {
	return append(args, "-d", s.DSN, "--schema", s.schema)
}

func (s *site) submit(t *testing.T, opts ...taskkit.SubmitOption) taskkit.ID {
	t.Helper()
	id, err := watchtask.Submit(t.Context(), s.DB, watchtask.Spec{
		Action: watch.Start, Targets: targets.Targets{Query: &targets.Query{Everyone: true}},
	}, append([]taskkit.SubmitOption{taskkit.System(), taskkit.WithSchema(s.schema)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// work runs a worker for the kind watch until the test ends.
func (s *site) work(t *testing.T, f execute) {
	t.Helper()
	var r taskkit.Registry
	taskkit.Register(&r, watchtask.Kind, f)
	s.serve(t, &r)
}

// serve runs a worker until the test ends.
func (s *site) serve(t *testing.T, r *taskkit.Registry) {
	t.Helper()
	w, err := taskkit.NewWorker(t.Context(), s.DB.DB, r, taskkit.Config{
		Schema: s.schema, Poll: 20 * time.Millisecond, PollListening: 50 * time.Millisecond,
		Drain: 5 * time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("worker: %v", err)
		}
	})
}

// The exit status of watch tells how the task ended.
func TestWatchExitStatus(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		good := s.submit(t, taskkit.WithReason("good"), taskkit.WithTotal(3))
		bad := s.submit(t, taskkit.WithReason("bad"))
		s.work(t, func(ctx context.Context, b *taskkit.Batch[watchtask.Spec, watchtask.State]) (taskkit.Next, error) {
			switch b.Task {
			case good:
				b.Total(3)
				b.Advance(3)
				b.Fail("somebody", taskkit.Permanent("no_such_person", nil))
				return taskkit.Done, nil
			case bad:
				return taskkit.More, taskkit.Permanent("out_of_paper", errors.New("the tray\x1b[31m is empty"))
			default:
				// It continues until it is stopped.
				b.Advance(1)
				select {
				case <-time.After(10 * time.Millisecond):
					return taskkit.More, nil
				case <-ctx.Done():
					return taskkit.More, ctx.Err()
				}
			}
		})
		expect(t, 0, "COMPLETED  3/3 (100%), failed 1", s.args("watch", good.String())...)
		expect(t, 0, `"status": "COMPLETED"`, s.args("watch", good.String(), "-o", "json")...)
		expect(t, 3, "out_of_paper", s.args("watch", bad.String())...)
		expect(t, 0, "no_such_person", s.args("show", good.String())...)
		expect(t, 0, `"failed": [`, s.args("show", good.String(), "-o", "json")...)
		if _, out, errs := ran(t, s.args("show", bad.String())...); strings.Contains(out+errs, "\x1b") {
			t.Error("an escape sequence in an error reaches the terminal")
		}
		expect(t, 0, "will continue from checkpoint 0", s.args("retry", bad.String())...)
		expect(t, 3, "FAILURE", s.args("watch", bad.String())...)

		endless := s.submit(t)
		expect(t, 5, "it continues. Last status: ", s.args("watch", endless.String(), "--timeout", "300ms")...)
		expect(t, 0, "is stopped after", s.args("stop", endless.String(), "--wait", "--reason", "enough")...)
		expect(t, 4, "was stopped", s.args("watch", endless.String())...)
		expect(t, 0, "had already ended", s.args("stop", endless.String())...)
		expect(t, 0, "alive", s.args("workers")...)
		expect(t, 0, "enough", s.args("show", endless.String())...)

		gone := s.submit(t)
		w := begin(t, s.args("watch", gone.String())...)
		w.until("EXECUTING")
		expect(t, 0, "deleted", s.args("rm", gone.String())...)
		if status := w.end(); status != 4 {
			t.Errorf("watching a task that is deleted: status %d, want 4: %s", status, w.errs.String())
		}
		// A task that fails does not keep the others from being deleted.
		expect(t, 1, "is deleted", s.args("rm", "01890a5d-ac96-774b-bcce-b302099a8057", good.String())...)
	})
}

// Ctrl-C ends the command and does not affect the task.
func TestWatchDetaches(t *testing.T) {
	t.Parallel()
	s := migrated(t, testdb.SQLite(t))
	id := s.submit(t)
	w := begin(t, s.args("watch", "@last")...)
	w.until("QUEUED")
	if err := w.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if status := w.end(); status != 130 || !strings.Contains(w.errs.String(), "taskkit watch "+id.String()+" -d ") {
		t.Errorf("status %d, want 130 and the command to watch again: %s", status, w.errs.String())
	}
	task, err := s.client.Task(t.Context(), id)
	if err != nil || task.Status != taskkit.StatusQueued || task.Control != "" {
		t.Errorf("the task is %+v (%v), want it as it was", task, err)
	}
}

// watch continues while the server restarts and says so once.
func TestWatchSurvivesARestart(t *testing.T) {
	t.Parallel()
	server := testdb.OwnServer(t)
	s := migrated(t, testdb.On(t, server))
	id := s.submit(t)
	w := begin(t, s.args("watch", id.String())...)
	w.until("QUEUED")
	if err := server.Fast(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.says("; trying again\n")
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.says("reached the database again after ")
	w.until("QUEUED")
	s.SetMaxIdleConns(0) // those from before the restart are lost
	if _, err := s.client.Stop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if status := w.end(); status != 4 || strings.Count(w.errs.String(), "cannot reach the database (since ") != 1 {
		t.Errorf("status %d, want 4 and one line about the restart: %s", status, w.errs.String())
	}
}

// Without --exit the workers keep running, other commands can be used in the
// meantime, and Ctrl-C ends all of them in order.
func TestDevKeepsRunning(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "dev.db")
	d := begin(t, "dev", "--people-count", "100", "--kills", "0", "-d", file)
	d.until("taskkit workers -d " + file)
	expect(t, 0, "alive", "workers", "-d", file)
	expect(t, 0, "COMPLETED  25/25", "watch", "@last", "-d", file)
	d.until("curl -s http://")
	startByHTTP(t, d.lines.Text())
	showShapes(t, regexp.MustCompile(`http://[^/]+`).FindString(d.lines.Text()), file)
	if err := d.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if status := d.end(); status != 0 {
		t.Errorf("status %d, want 0: %s", status, d.errs.String())
	}
	_, out, _ := ran(t, "workers", "-d", file)
	// A worker whose heartbeats were late, on a busy machine, has registered again. Its newest row is the one that ended.
	newest := make(map[string]string)
	for _, row := range regexp.MustCompile(`(?m)^(dev\d+)-.*$`).FindAllStringSubmatch(out, -1) {
		newest[row[1]] = max(newest[row[1]], row[0]) // an ID has the time of its registration
	}
	for _, worker := range []string{"dev1", "dev2"} {
		if !strings.HasSuffix(strings.TrimSpace(newest[worker]), "\tleft") {
			t.Errorf("want that %s ended in order:\n%s", worker, out)
		}
	}
	expect(t, 1, "contains an earlier demonstration", "dev", "--exit", "-d", file)
}

// startByHTTP makes the request of a line of curl that starts a job, and awaits the job as
// the coach. The supervisor may see it, and not stop it.
func startByHTTP(t *testing.T, line string) {
	t.Helper()
	m := regexp.MustCompile(`curl -s (http://[^/]+)(/\S+) .* -d '(.*)'$`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("not a line that starts a job: %s", line)
	}
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	as := func(person string) *taskhttp.Client {
		return &taskhttp.Client{URL: m[1], HTTP: web, Prepare: func(r *http.Request) error {
			r.Header.Set("Person", person)
			return nil
		}}
	}
	coach, supervisor := as(""), as("01890a5d-ac96-774b-bcce-b302099a8058")
	var last taskhttp.Job
	_, err := taskhttp.Await[any](testdb.Within(t), coach, m[2], json.RawMessage(m[3]), func(j *taskhttp.Job) { last = *j })
	if err != nil || last.Status != taskhttp.Succeeded || last.Progress.Processed != 100 || last.Links["approve"].Href != "" {
		t.Errorf("%+v, %v", last, err)
	}
	if j, err := supervisor.Job(t.Context(), last.ID); err != nil || !j.Done {
		t.Errorf("the supervisor sees %+v, %v", j, err)
	}
	if _, err := supervisor.Stop(t.Context(), last.ID, ""); !errors.Is(err, taskhttp.ErrForbidden) {
		t.Errorf("the supervisor stops a job: %v", err)
	}
	t.Run("typescript", func(t *testing.T) { // by a subtest, which may be skipped
		if out := typescript.Loop(t, m[1]); out != "100 previewed, 100 exported to text/csv; charset=utf-8\n" {
			t.Errorf("the loop prints %q", out)
		}
	})
	if _, err := as("anybody").Job(t.Context(), last.ID); !errors.Is(err, taskhttp.ErrUnauthenticated) {
		t.Errorf("anybody sees a job: %v", err)
	}
}

// running is a command that has not ended yet.
type running struct {
	*exec.Cmd
	t     *testing.T
	lines *bufio.Scanner
	errs  output
}

// output is what a command has written so far. It is safe for concurrent use.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// says waits until a command has written a text to standard error.
func (r *running) says(text string) {
	r.t.Helper()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.Now().Add(testdb.Patience(r.t)); !strings.Contains(r.errs.String(), text); <-poll.C {
		if time.Now().After(deadline) {
			r.t.Fatalf("%v does not say %q: %s", r.Args[1:], text, r.errs.String())
		}
	}
}

func begin(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{Cmd: exec.CommandContext(t.Context(), built, args...), t: t}
	r.Stderr = &r.errs
	out, err := r.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	r.lines = bufio.NewScanner(out)
	return r
}

// until reads lines up to one with a word.
func (r *running) until(word string) {
	r.t.Helper()
	for r.lines.Scan() {
		if strings.Contains(r.lines.Text(), word) {
			return
		}
	}
	r.t.Fatalf("%v ended without %q: %s", r.Args[1:], word, r.errs.String())
}

// end waits until the command ends and returns its exit status.
func (r *running) end() int {
	for r.lines.Scan() {
		continue // the rest of the output is not checked
	}
	_ = r.Wait() // the exit status tells
	return r.ProcessState.ExitCode()
}
