package taskkitcli_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/cmd/taskkit/taskkitcli"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// campus is an application with the jobs of a program, at an address that stays when it starts again.
type campus struct {
	*program

	person  uuid.UUID
	address string
	jobs    *taskhttp.Server
	mu      sync.Mutex
	server  *http.Server
}

func newCampus(p *program) *campus {
	p.Helper()
	c := &campus{program: p, person: uuid.New(), address: "127.0.0.1:0"}
	var err error
	c.jobs, err = taskhttp.New(p.config.DB, taskhttp.Config{Schema: p.config.Schema, Authorize: taskhttp.OwnJobs, Caller: func(r *http.Request) (taskhttp.Caller, error) {
		id, err := uuid.Parse(r.Header.Get("X-Person"))
		return taskhttp.Caller{Owner: id}, err
	}})
	if err != nil {
		p.Fatal(err)
	}
	taskhttp.Start(c.jobs, "POST /people/watch", watchtask.Kind)
	c.start()
	p.Cleanup(func() {
		c.stop()
		c.jobs.Drain()
	})
	return c
}

// start lets the application listen.
func (c *campus) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", c.address)
	if err != nil {
		c.Error(err)
		return
	}
	c.address, c.server = l.Addr().String(), &http.Server{Handler: c.jobs}
	go func() { _ = c.server.Serve(l) }()
}

// stop ends the application with all connections to it.
func (c *campus) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.server.Close()
}

// submit submits a task of the person over some people.
func (c *campus) submit(people ...string) taskkit.ID {
	c.Helper()
	var spec watchtask.Spec
	spec.Action = "watch"
	for _, p := range people {
		spec.Targets.People = append(spec.Targets.People, uuid.MustParse(p))
	}
	id, err := watchtask.Submit(c.Context(), c.config.DB, spec, taskkit.OwnedBy(c.person), taskkit.WithSchema(c.config.Schema))
	if err != nil {
		c.Fatal(err)
	}
	return id
}

// args are the arguments that watch a task.
func (c *campus) args(id taskkit.ID, more ...string) []string {
	return append([]string{"watch", id.String(), "--url", "http://" + c.address, "--header", "X-Person: " + c.person.String()}, more...)
}

// watch --url follows a task of an application, with the exit status that watch has for a task of a database.
func TestWatchElsewhere(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		there := newCampus(newProgram(t, db))
		far := *there.program // without a database
		far.config = taskkitcli.Config{Name: "tasks"}
		id := there.submit(ada, broken)
		for timeout := 50 * time.Millisecond; ; timeout *= 2 { // until it is enough to read the task
			status, out, errs := far.run(there.args(id, "--timeout", timeout.String())...)
			last := ""
			if out != "" {
				last = ". Last status: watch " + id.String()[28:] + "  QUEUING  worker"
			}
			if want := "has not ended within " + timeout.String() + "; it continues" + last + "\n"; status != 5 || !strings.Contains(errs, want) {
				t.Fatalf("status %d, want 5 with %q: %s%s", status, want, out, errs)
			}
			if out != "" {
				break
			}
		}
		status, _, errs := far.runUntil("QUEUING", "", there.args(id)...)
		if want := "the task continues. To watch again: campus tasks watch " + id.String() + " --url http://" + there.address + " --header 'X-Person: ...'\n"; status != 130 || !strings.Contains(errs, want) {
			t.Errorf("interrupted: status %d: %s, want %s", status, errs, want)
		}

		gone := there.submit(ada)
		status, _, errs = far.deleting("QUEUING", func() error {
			_, err := there.client.Delete(context.WithoutCancel(t.Context()), gone)
			return err
		}, there.args(gone)...)
		if status != 4 || !strings.Contains(errs, "was deleted") {
			t.Errorf("of a task that is deleted: status %d: %s", status, errs)
		}
		far.want(1, "no task "+gone.String(), there.args(gone)...)
		stopped := there.submit(ada)
		if _, err := there.client.Stop(t.Context(), stopped); err != nil {
			t.Fatal(err)
		}
		far.want(4, "was stopped", there.args(stopped)...)

		there.work()
		far.want(0, "SUCCEEDED  2/2 (100%), failed 1\n", there.args(id)...)
		far.want(0, `"status": "SUCCEEDED"`, there.args(id, "-o", "json")...)
		far.want(3, "failed: gone", there.args(there.submit(hostile))...)

		far.want(1, "It is not known who you are: say with --header or TASKKIT_AUTHORIZATION who you are", "watch", id.String(), "--url", "http://"+there.address)
		far.want(2, "with --url a task is given by its full id", "watch", "@last", "--url", "http://"+there.address)
		far.want(2, "--url accepts", "watch", id.String(), "--url", "campus")
		far.want(2, "--header needs --url", "watch", id.String(), "--header", "X: y")
	})
}

// watch --url goes on when the application has started again, and says so once.
func TestWatchElsewhereSurvivesARestart(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	if err := taskkit.Migrate(t.Context(), db.DB, taskkit.DefaultSchema); err != nil {
		t.Fatal(err)
	}
	there := newCampus(newProgram(t, db))
	id := there.submit(ada)
	var ends, starts, works sync.Once
	out := &output{onWrite: func(text string) {
		if strings.Contains(text, "QUEUING") {
			ends.Do(there.stop)
		}
	}}
	errs := &output{onWrite: func(text string) {
		if strings.Contains(text, "trying again") {
			starts.Do(there.start)
		}
		if strings.Contains(text, "reached the application again after ") {
			works.Do(there.work)
		}
	}}
	status := there.execute(testdb.Within(t), out, errs, "", append([]string{"tasks"}, there.args(id)...)...)
	if status != 0 || !strings.Contains(out.text.String(), "SUCCEEDED") || strings.Count(errs.text.String(), "cannot reach the application (since ") != 1 {
		t.Errorf("status %d, want 0 and one line about the restart: %s%s", status, out.text.String(), errs.text.String())
	}
}
