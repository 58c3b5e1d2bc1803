package taskkitcli_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/cmd/taskkit/taskkitcli"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

const ada, kurt = "01890a5d-ac96-774b-bcce-b302099a0001", "01890a5d-ac96-774b-bcce-b302099a0002"

// The flags of run are the fields of the spec, and all mistakes are reported by flag and line at once.
func TestRun(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		p := newProgram(t, db)
		dir := t.TempDir()
		file := func(name, text string) string {
			name = filepath.Join(dir, name)
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return name
		}
		id := strings.TrimSpace(p.want(0, "", "run", "watch", "--action", "watch", "--targets.people", ada+","+kurt, "--at", "2h", "--owner", kurt, "--by", ada, "--reason", "start of term", "-o", "name"))
		task, err := taskkit.ParseID(id)
		if err != nil {
			t.Fatal(err)
		}
		made, err := watchtask.Get(t.Context(), p.client, task)
		if err != nil {
			t.Fatal(err)
		}
		if got := made.Spec.Targets.People; len(got) != 2 || got[1].String() != kurt || made.Spec.Action != "watch" || made.Task.Owner.String() != kurt || made.Task.Reason != "start of term" {
			t.Errorf("submitted as %+v, %+v", made.Task, made.Spec)
		}
		if in := time.Until(made.Task.NotBefore); in < time.Hour || in > 3*time.Hour {
			t.Errorf("it starts in %v", in)
		}
		p.want(0, "follow it: campus tasks watch ", "run", "watch", "--action", "unwatch", "--targets.query.everyone")
		spec := file("spec.json", `{"action": "watch", "targets": {"people": ["`+ada+`"]}}`)
		out := p.want(0, `"action": "unwatch"`, "run", "watch", "--file", spec, "--action", "unwatch", "--key", "once", "-o", "json")
		p.want(0, "was submitted with this key before", "run", "watch", "--file", spec, "--action", "unwatch", "--key", "once")
		if !strings.Contains(out, ada) {
			t.Errorf("the file is not read: %s", out)
		}
		if status, out, errs := p.runUntil("", `{"action": "watch", "targets": {"query": {"everyone": true}}}`, "run", "watch", "--file", "-"); status != 0 {
			t.Errorf("from the standard input: %d %s%s", status, out, errs)
		}
		list := file("people.csv", "item,code\n"+ada+",gone\n"+kurt+",gone\n")
		if out := p.want(0, ada, "run", "watch", "--action", "watch", "--csv", list, "-o", "ndjson"); strings.Count(out, "\n") != 1 || !strings.Contains(out, kurt) {
			t.Errorf("from CSV: %s", out)
		}

		status, out, errs := p.run("run", "watch", "--action", "od\x1bd", "--targets.people", "x", "--targets.query.max", "many")
		for _, part := range []string{"the spec of watch is refused, and nothing was started; see `campus tasks run watch --help`", "\n    --action ", "\n    --targets.people ", "\n    --targets.query.max "} {
			if status != 2 || out != "" || !strings.Contains(errs, part) || strings.Contains(errs, "\x1b") {
				t.Errorf("status %d, want 2 with %q: %s%s", status, part, out, errs)
			}
		}
		p.want(2, "spec of watch refused, nothing was stored: targets: ", "run", "watch", "--action", "watch", "--targets.none")
		bad := file("bad.csv", ada+"\n\nnobody\n")
		p.want(2, bad+", line 3: ", "run", "watch", "--action", "watch", "--csv", bad)
		p.want(2, "takes one: keep that, or name it", "run", "watch", "--action", "watch", "--csv", file("two.csv", "a,b\n1,2\n"))
		p.want(2, "names of columns and no rows", "run", "watch", "--action", "watch", "--csv", file("none.csv", "item\n"))
		p.want(2, "both list the targets", "run", "watch", "--action", "watch", "--csv", list, "--targets.people", ada)
		p.want(2, "no such file", "run", "watch", "--file", filepath.Join(dir, "missing"))
		p.want(2, "neither a time", "run", "watch", "--at", "soon")
		p.want(2, "with --wait", "run", "watch", "--timeout", "1s")
		p.want(2, "--header needs --url", "run", "watch", "--header", "X: y")
		p.want(2, "unknown flag: --frob", "run", "watch", "--frob", "x")
		p.want(2, "there is no kind frob: the kinds are watch", "run", "frob", "--x", "y")
		p.want(2, "no kind given", "run")
		p.want(0, "People lists them by id.", "run", "watch", "--help")
	})
}

// With --wait the command follows the task to its end; an interrupt leaves the task and says how to come back.
func TestRunWaits(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		p := newProgram(t, db)
		status, _, errs := p.runUntil("QUEUED", "", "run", "watch", "--action", "watch", "--targets.people", ada, "-w")
		if status != 130 || !strings.Contains(errs, "the task continues. To watch again: campus tasks watch ") {
			t.Errorf("interrupted: status %d: %s", status, errs)
		}
		p.want(5, "has not ended within", "run", "watch", "--action", "watch", "--targets.people", ada, "-w", "--timeout", "50ms")
		p.work()
		p.want(0, "COMPLETED", "run", "watch", "--action", "watch", "--targets.people", ada, "-w")
		p.want(0, `"status": "COMPLETED"`, "run", "watch", "--action", "watch", "--targets.people", ada, "-w", "-o", "json")
		p.want(0, "to do it: campus tasks apply ", "run", "watch", "--action", "watch", "--targets.people", ada, "--preview", "-w")
		status, out, errs := p.run("run", "watch", "--action", "watch", "--targets.people", hostile, "-w")
		if status != 3 || strings.Contains(out+errs, "\x1b") || strings.Contains(out+errs, "\nFORGED") {
			t.Errorf("of a task that fails: status %d: %q%q", status, out, errs)
		}
		p.want(1, "has no result, it ended in FAILURE: see `campus tasks show ", "result", "@last")
	})
}

// With --url the kinds are those that an application starts, with the flags of its schemas.
func TestRunElsewhere(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		p := newProgram(t, db)
		person := uuid.New()
		jobs, err := taskhttp.New(db.DB, taskhttp.Config{Schema: p.config.Schema, Authorize: taskhttp.OwnJobs, Caller: func(r *http.Request) (taskhttp.Caller, error) {
			id, err := uuid.Parse(r.Header.Get("X-Person"))
			return taskhttp.Caller{Owner: id}, err
		}})
		if err != nil {
			t.Fatal(err)
		}
		taskhttp.Start(jobs, "POST /people/watch", watchtask.Kind)
		server := httptest.NewServer(jobs)
		t.Cleanup(server.Close)
		t.Cleanup(jobs.Drain)
		there := func(args ...string) []string {
			return append([]string{"run", "watch", "--url", server.URL, "--header", "X-Person: " + person.String()}, args...)
		}
		// Neither a database nor the kind is here.
		far := *p
		far.config = taskkitcli.Config{Name: "tasks"}
		far.want(0, "--targets.people", there("--help")...)
		far.want(2, "--action ", there("--action", "odd", "--targets.people", ada)...)
		out := far.want(0, " is started: "+server.URL+"/jobs/", there("--action", "watch", "--targets.people", ada, "--key", "once")...)
		if again := far.want(0, " is started: ", there("--action", "watch", "--targets.people", ada, "--key", "once")...); again != out {
			t.Errorf("with the same key: %s, then %s", out, again)
		}
		far.want(2, "the application decides it", there("--action", "watch", "--targets.people", ada, "--at", "2h")...)
		far.want(2, "the application starts no tasks of a kind frob; it starts watch", "run", "frob", "--url", server.URL, "--header", "X-Person: "+person.String())
		far.want(1, "answers 401", "run", "watch", "--url", server.URL)
		far.want(2, "--url accepts", "run", "watch", "--url", "campus")
		far.want(2, "--header accepts", "run", "watch", "--url", server.URL, "--header", "X")
		far.want(2, "this program has no kinds: name an application with --url", "run", "watch")
		far.want(0, "--url URL", "run", "watch", "--help")
		kinds := func(args ...string) []string {
			return append(append([]string{"kinds"}, args...), "--url", server.URL, "--header", "X-Person: "+person.String())
		}
		far.want(0, "watch\tpreview\t", kinds()...)
		far.want(0, `"name": "watch"`, kinds("-o", "json")...)
		far.want(0, "--targets.people\tuuid...\t", kinds("show", "watch")...)
		far.want(0, `"spec_schema": {`, kinds("show", "watch", "-o", "json")...)
		far.want(2, "the application starts no tasks of a kind frob; it starts watch", kinds("show", "frob")...)
		far.want(1, "answers 401", "kinds", "--url", server.URL)
		far.want(2, "--header needs --url", "kinds", "--header", "X: y")
		far.want(2, "--header needs --url", "kinds", "show", "watch", "--header", "X: y")
		far.want(0, "--csv file", "run", "--help")
		status, _, errs := far.runUntil("QUEUING", "", there("--action", "watch", "--targets.people", ada, "-w")...)
		if status != 130 || !strings.Contains(errs, "the task continues. To watch again: campus tasks watch ") {
			t.Errorf("interrupted: status %d: %s", status, errs)
		}
		p.work()
		far.want(0, "SUCCEEDED", there("--action", "watch", "--targets.people", ada, "-w")...)
		far.want(3, "failed: gone", there("--targets.people", hostile, "--action", "watch", "-w")...)
		// The program has the kind, too.
		p.want(0, `"kind": "watch"`, there("--action", "watch", "--targets.people", ada, "-o", "json")...)
		tasks, _, err := p.client.Tasks(context.WithoutCancel(t.Context()), taskkit.Filter{Owner: person})
		if err != nil || len(tasks) != 5 {
			t.Errorf("%d tasks of the person (%v), want 5", len(tasks), err)
		}
	})
}

// Headers and specs are for the application: a redirect to another host is not followed.
func TestRedirectsElsewhereAreNotFollowed(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Store(true)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	far := &program{T: t, config: taskkitcli.Config{Name: "tasks"}}
	far.want(1, "307", "run", "watch", "--url", server.URL, "--header", "X-Key: secret")
	far.want(1, "307", "watch", uuid.NewString(), "--url", server.URL, "--header", "X-Key: secret", "--timeout", "1m")
	if reached.Load() {
		t.Error("the other host was reached")
	}
}
