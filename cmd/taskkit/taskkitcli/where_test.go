package taskkitcli_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
)

// A search selects the tasks of a request: it is counted, and nothing is done without a yes.
func TestWhere(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		p := newProgram(t, db)
		var last string
		for range 3 {
			last = strings.TrimSpace(p.want(0, "", "run", "watch", "--action", "watch", "--targets.people", ada, "--owner", kurt, "-o", "name"))
		}
		p.want(2, "3 tasks of kind:watch match: repeat the command with --yes to pause them, or with --dry-run", "pause", "--where", "kind:watch")
		p.want(2, "3 tasks of all match: repeat the command with --yes to delete them", "rm", "--where", "all")
		p.want(2, "1 task of "+last+" matches: repeat", "retry", "--where", last)
		p.want(0, "3 tasks of all\n", "pause", "--where", "all", "--dry-run")
		p.want(0, "0 tasks of kind:other\n", "pause", "--where", "kind:other", "--yes")
		p.want(2, "--where is empty and selects nothing: the word all selects every task", "rm", "--where", "", "--yes")
		p.want(2, "there is no filter frob: use kind, status, owner", "rm", "--where", "frob:x", "--yes")
		p.want(2, "no index has reason", "rm", "--where", "reason:x", "--yes")
		p.want(2, "--where selects the tasks: leave out @last", "rm", "@last", "--where", "all")
		p.want(2, "tasks approve takes no --where: name each task by its id", "approve", "--where", "all")
		p.want(2, "unknown flag: --where", "workers", "--where", "all")
		p.want(2, "--yes and --dry-run need --where", "rm", "@last", "--yes")
		p.want(0, "pause: 3, refused: 0\n", "pause", "--where", "kind:watch owner:"+kurt, "--yes", "--reason", "not now")
		var report struct {
			Matched, Done, Refused int
			Refusals               []struct{ Error string }
		}
		out := p.want(1, "", "retry", "--where", "status:queued", "--yes", "-o", "json")
		if err := json.Unmarshal([]byte(out), &report); err != nil || report.Matched != 3 || report.Refused != 3 || len(report.Refusals) != 3 || !strings.Contains(report.Refusals[0].Error, "only a task in ERROR or FAILURE") {
			t.Errorf("%v: %s", err, out)
		}
		p.want(0, "is resumed", "resume", last)
		p.want(1, "only a paused task can be resumed", "resume", last)
		p.want(1, "resume: 2, refused: 1\n", "resume", "--where", "all", "--yes")
		p.want(0, "stop: 3, refused: 0\n", "stop", "--where", "status:queued", "--yes")
		p.want(0, "rm: 3, refused: 0\n", "rm", "--where", "status:ended", "--yes")
		if tasks, _, err := p.client.Tasks(t.Context(), taskkit.Filter{}); err != nil || len(tasks) != 0 {
			t.Errorf("%d tasks are left (%v)", len(tasks), err)
		}
	})
}

// Of many tasks that match, a bulk operation makes the request if a worker can.
func TestWhereInBulk(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		p := newProgram(t, db)
		const many = 1100
		later := []taskkit.SubmitOption{taskkit.System(), taskkit.WithSchema(p.config.Schema), taskkit.WithDelay(time.Hour)}
		if _, err := taskkit.SubmitMany(t.Context(), db.DB, watchtask.Kind, slices.Repeat([]watchtask.Spec{watchSpec()}, many), later...); err != nil {
			t.Fatal(err)
		}
		p.want(0, "pause: 1,100, refused: 0\n", "pause", "--where", "kind:watch", "--yes")
		taskbulk.Register(p.config.Registry)
		p.work()
		for served := false; !served; {
			var err error
			if _, served, err = taskbulk.Queue(testdb.Within(t), p.client); err != nil {
				t.Fatal(err)
			}
		}
		id := strings.TrimSpace(p.want(0, "", "resume", "--where", "kind:watch", "--yes", "-o", "name"))
		p.want(0, "COMPLETED", "watch", id)
		task, err := p.client.Resolve(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.client.Task(t.Context(), task); err != nil || got.Kind != taskbulk.Kind.Name() || got.Progress.Done != many {
			t.Errorf("%+v, %v", got, err)
		}
		p.want(0, "will stop 1,100 tasks: follow it with `campus tasks watch ", "stop", "--where", "kind:watch", "--yes", "--reason", "wrong")
	})
}

// watchSpec is a spec of the kind watch.
func watchSpec() watchtask.Spec {
	var s watchtask.Spec
	s.Action = "watch"
	s.Targets.People = append(s.Targets.People, uuid.MustParse(ada))
	return s
}

// The formats of lists are for people, programs and pipes.
func TestFormats(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		p := newProgram(t, db)
		p.work()
		first := strings.TrimSpace(p.want(0, "", "run", "watch", "--action", "watch", "--targets.people", ada+","+broken, "-o", "name"))
		p.want(0, "COMPLETED", "watch", first)
		second := strings.TrimSpace(p.want(0, "", "run", "watch", "--action", "watch", "--targets.people", ada, "--at", "2h", "-o", "name"))
		if out := p.want(0, "", "ls", "-o", "name"); out != second+"\n"+first+"\n" {
			t.Errorf("names: %s", out)
		}
		if out := p.want(0, "id,kind,status,done,failed,skipped,total,queue,owner,", "ls", "-o", "csv"); strings.Count(out, "\n") != 3 || !strings.Contains(out, first+",watch,COMPLETED,1,1,0,2,default,system,") {
			t.Errorf("CSV: %s", out)
		}
		if out := p.want(0, first+"\twatch\tCOMPLETED\t2/2\t1\tdefault\t", "ls"); !strings.HasPrefix(out, "ID\tKIND\tSTATUS\t") {
			t.Errorf("tabs: %s", out)
		}
		for _, args := range [][]string{{"ls"}, {"workers"}, {"queues"}, {"kinds"}, {"items", first}} {
			out := p.want(0, "", append(args, "-o", "ndjson")...)
			for line := range strings.Lines(out) {
				if !json.Valid([]byte(line)) || out == "" {
					t.Errorf("%v: not JSON: %s", args, line)
				}
			}
		}
		p.want(0, broken+",failed,gone", "items", first, "--outcome", "failed", "-o", "csv")
		p.want(2, `there is no outcome "odd": use failed, skipped`, "items", first, "--outcome", "odd")
		p.want(0, "watch\t1\tdefault\t1\tpreview\t", "kinds")
		p.want(0, "--targets.query.max\tnumber\t", "kinds", "show", "watch")
		p.want(0, "one of active, paused, exited)", "run", "watch", "--help")
		p.want(0, `"spec_schema": {`, "kinds", "show", "watch", "-o", "json")
		p.want(2, "this program has no kind frob", "kinds", "show", "frob")
		bare := *p
		bare.config.Registry = nil
		bare.want(0, "watch\t1\t\t1\tunknown\t", "kinds")
		bare.want(0, `"preview": null`, "kinds", "-o", "json")
		bare.want(2, "this program has no kind watch: run the program that has it", "kinds", "show", "watch")
		p.want(0, "processes at most 1.5 items a second", "rate", second, "90/m")
		p.want(0, "has no rate limit any more", "rate", second, "none")
		p.want(2, `"fast" is no rate`, "rate", second, "fast")
		p.want(2, "want a task and a rate", "rate", second)
		p.want(0, "taskkit "+taskkit.Version, "version")
		p.want(0, "is up to date, version 1", "migrate", "status")
		p.want(0, `CREATE TABLE`, "migrate", "sql", "--all")
		if out := p.want(0, "", "migrate", "sql"); out != "" {
			t.Errorf("SQL of tables that are up to date: %s", out)
		}
		status, out, _ := p.runUntil(second, "", "ls", "--watch", "-o", "ndjson")
		if status != 130 || !strings.Contains(out, first) {
			t.Errorf("ls --watch: status %d: %s", status, out)
		}
		p.want(2, "--watch prints a table", "ls", "-w", "-o", "json")
		p.want(0, first, "ls", "--status", "Ended,completed", "-o", "name")
		p.want(0, "no tasks", "ls", "--status", "failed")
		p.want(2, "--kind is empty", "ls", "--kind", "")
		p.want(2, "--limit accepts 1 to 1000", "ls", "-n", "1001")
		p.want(0, "1 to 1000", "ls", "--help")
		p.want(1, "give the last characters, not the first; `campus tasks ls` lists them", "show", first[:13])
		p.want(2, "campus tasks buckets: task "+first+" has no buckets", "buckets", first)
		p.want(0, "no dead letters match", "dead", "retry", "--all", "--yes")
		p.want(0, "each task with it has the limit that it was submitted with", "limits", "set", "mail", "0")
	})
}

// The shells complete kinds, ids, statuses and filters.
func TestCompletion(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		p := newProgram(t, db)
		id := strings.TrimSpace(p.want(0, "", "run", "watch", "--action", "watch", "--targets.people", ada, "-o", "name"))
		complete := func(args ...string) string {
			t.Helper()
			status, out, errs := p.complete(args...)
			if status != 0 {
				t.Errorf("complete %v: status %d: %s", args, status, errs)
			}
			return out
		}
		for want, args := range map[string][]string{
			"watch\tExecutor starts": {"tasks", "run", ""},
			"--targets.people":       {"tasks", "run", "watch", "--targets.p"},
			"unwatch\n":              {"tasks", "run", "watch", "--action", ""},
			"watch\n":                {"tasks", "ls", "--kind", ""},
			"failure\n":              {"tasks", "ls", "--status", ""},
			id + "\twatch QUEUED\n":  {"tasks", "stop", ""},
			"@last\t":                {"tasks", "show", ""},
			"status:failed\n":        {"tasks", "rm", "--where", ""},
			"kind:x status:failed\n": {"tasks", "rm", "--where", "kind:x st"},
			"ndjson\n":               {"tasks", "ls", "-o", ""},
			"default\n":              {"tasks", "queues", "pause", ""},
			"deferred\n":             {"tasks", "items", "--outcome", ""},
		} {
			if out := complete(args...); !strings.Contains(out, want) {
				t.Errorf("complete %v: want %q in\n%s", args, want, out)
			}
		}
		for _, shell := range []string{"bash", "zsh", "fish"} {
			status, out, errs := p.script(shell)
			if status != 0 || !strings.Contains(out, "campus") || len(out) < 1000 {
				t.Errorf("completion %s: status %d: %.200s%s", shell, status, out, errs)
			}
		}
	})
}
