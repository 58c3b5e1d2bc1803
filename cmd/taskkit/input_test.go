package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// Wrong input is reported in one sentence, with the right exit status, and before
// anything is done.
func TestWrongInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing.db")
	csv := filepath.Join(dir, "people.csv")
	if err := os.WriteFile(csv, []byte("school_id,first_name\n1,Ann\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status int
		part   string
		args   []string
	}{
		{2, "no database given", []string{"ls"}},
		{2, `unknown command "frob"`, []string{"frob"}},
		{2, "unknown flag", []string{"--frob"}},
		{2, `unknown command "frob"`, []string{"help", "frob"}},
		{2, `unknown command "ls frob"`, []string{"help", "ls", "frob"}},
		{2, `unknown command "tcsh"`, []string{"completion", "tcsh"}},
		{2, "takes no arguments", []string{"completion", "bash", "extra"}},
		{2, "takes no arguments", []string{"ls", "frob", "-d", missing}},
		{2, "unknown flag", []string{"ls", "--frob"}},
		{2, "table, json, ndjson, name or csv", []string{"ls", "-o", "xml", "-d", missing}},
		{2, `--status: there is no status busy: use queued`, []string{"ls", "--status", "busy", "-d", missing}},
		{2, "not a UUID", []string{"ls", "--owner", "me", "-d", missing}},
		{2, "1 to 1000", []string{"ls", "-n", "0", "-d", missing}},
		{2, "is not a task", []string{"ls", "--before", "x", "-d", missing}},
		{2, "no task given", []string{"show", "-d", missing}},
		{2, "takes one task", []string{"watch", "1234", "5678", "-d", missing}},
		{2, "is not a task", []string{"stop", "12", "-d", missing}},
		{2, "36 characters", []string{"rm", "01890a5d-ac96-774b-bcce-b302099a805-", "-d", missing}},
		{2, "not a UUID", []string{"stop", "1234", "--by", "me", "-d", missing}},
		{2, "1 to 1000", []string{"dead", "show", "-n", "0", "-d", missing}},
		{2, "not a positive duration", []string{"dead", "drop", "--older-than", "0d", "-d", missing}},
		{2, "nothing selects the dead letters", []string{"dead", "drop", "--yes", "-d", missing}},
		{2, "contradict each other", []string{"dead", "retry", "--all", "--kind", "a", "-d", missing}},
		{2, "want a whole number: see", []string{"ls", "-n", "x", "-d", missing}},
		{2, "-1 looks like a flag", []string{"limits", "set", "key", "-1", "-d", missing}},
		{2, "want key=number", []string{"schedules", "set", "nightly", "--limit", "mail", "-d", missing}},
		{2, "the name of a header like X-Person", []string{"serve", "--person-header", "X Person", "-d", missing}},
		{2, "the name of a header like X-Person", []string{"serve", "--person-header", "host", "-d", missing}},
		{2, "--code is empty", []string{"dead", "drop", "--code", "", "--yes", "-d", missing}},
		{2, "--kind is empty", []string{"dead", "retry", "--kind", "", "--yes", "-d", missing}},
		{2, "--kind is empty", []string{"dead", "--kind", "a,", "-d", missing}},
		{2, "--queue is empty", []string{"dead", "show", "--queue=", "-d", missing}},
		{2, `unknown command "frob"`, []string{"dead", "frob", "-d", missing}},
		{2, "give one queue", []string{"queues", "pause", "-d", missing}},
		{2, "not a UUID", []string{"queues", "resume", "mail", "--by", "me", "-d", missing}},
		{2, `unknown command "frob"`, []string{"queues", "frob", "-d", missing}},
		{2, "--older-than is missing", []string{"prune-events", "-d", missing}},
		{2, "not a positive duration", []string{"prune-events", "--older-than", "0d", "-d", missing}},
		{2, "not a positive duration", []string{"prune-events", "--older-than", "-1h", "-d", missing}},
		{2, "not a positive duration", []string{"prune-events", "--older-than", "999999999d", "-d", missing}},
		{2, "--batch accepts", []string{"prune-events", "--older-than", "90d", "--batch", "0", "-d", missing}},
		{2, "mysql databases are not supported", []string{"ls", "-d", "mysql://me@host/x"}},
		{2, "escape special characters", []string{"ls", "-d", "postgres://me:sec%zzret@host/x"}},
		{2, "visible to one process only", []string{"ls", "-d", ":memory:"}},
		{2, "use https, or http with --webhook-allow", []string{"dev", "--exit", "--webhook", "http://ops.example"}},
		{2, "--webhook-allow accepts a network", []string{"dev", "--webhook", "https://ops.example", "--webhook-allow", "10.0.0.1"}},
		{2, "--webhook-target accepts", []string{"serve", "--person-header", "X-Person", "-d", missing, "--webhook", "https://ops.example", "--webhook-target", "Ops"}},
		{2, "--webhook-body accepts", []string{"serve", "--person-header", "X-Person", "-d", missing, "--webhook", "https://ops.example", "--webhook-body", "xml"}},
		{2, "--findings accepts", []string{"serve", "--person-header", "X-Person", "-d", missing, "--webhook", "https://ops.example", "--findings", "1s"}},
		{2, "need --webhook", []string{"serve", "--person-header", "X-Person", "-d", missing, "--findings", "5m"}},
		{2, "need --webhook", []string{"serve", "--person-header", "X-Person", "-d", missing, "--webhook-target", "ops"}},
		{2, "--queue needs --webhook", []string{"serve", "--person-header", "X-Person", "-d", missing, "--queue", "bulk"}},
		{2, "dev has no JSON output", []string{"dev", "-o", "json"}},
		{2, "--kills accepts", []string{"dev", "--kills", "6"}},
		{2, "--workers accepts", []string{"dev", "--workers", "0"}},
		{2, "--people-count accepts 10", []string{"dev", "--people-count", "9"}},
		{2, "omit --people-count", []string{"dev", "--people", csv, "--people-count", "3"}},
		{1, "does not exist", []string{"ls", "-d", missing}},
		{1, "not a database", []string{"ls", "-d", text}},
		{1, "cannot reach", []string{"migrate", "-d", filepath.Join(dir, "no", "such", "place.db")}},
		{1, "cannot reach postgres://me:xxxxx@127.0.0.1:1/x", []string{"ls", "-d", "postgres://me:secret@127.0.0.1:1/x"}},
		{1, "password=xxxxx", []string{"ls", "-d", "host=127.0.0.1 port=1 password=secret"}},
		{1, "no such file", []string{"dev", "--exit", "--people", missing}},
		{1, "last_name: this column is missing", []string{"dev", "--exit", "--people", csv}},
		{1, "is run by `taskkit dev`", []string{"dev-worker"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			status, out, errs := ran(t, c.args...)
			if status != c.status || strings.Count(errs, c.part) != 1 || strings.HasPrefix(errs, "Error:") {
				t.Errorf("status %d, want %d with %q once:\n%s", status, c.status, c.part, errs)
			}
			if strings.Contains(out, "dashboard") {
				t.Errorf("an address that is gone is printed:\n%s", out)
			}
			if strings.Contains(out+errs, "secret") || strings.Contains(out+errs, "zzret") {
				t.Errorf("a password is printed:\n%s%s", out, errs)
			}
			if _, err := os.Stat(missing); err == nil {
				t.Error("a file was created")
			}
		})
	}
}

// A suffix that matches several tasks is an error that lists them.
func TestAmbiguousSuffix(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		// With this many ids two end with the same four characters: the chance
		// that none do is below one in ten million.
		specs := make([]watchtask.Spec, 1500)
		for i := range specs {
			specs[i] = watchtask.Spec{Action: watch.Start, Targets: targets.Targets{Query: &targets.Query{Everyone: true}}}
		}
		ids, err := watchtask.SubmitMany(t.Context(), db.DB, specs, taskkit.WithSchema(s.schema), taskkit.WithoutNotify(), taskkit.System())
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]taskkit.ID{}
		for _, id := range ids {
			end := id.String()[32:]
			other, twice := seen[end]
			if !twice {
				seen[end] = id
				continue
			}
			expect(t, 1, "several ids end with that", s.args("stop", end)...)
			expect(t, 1, other.String(), s.args("show", end)...)
			expect(t, 0, id.String(), s.args("show", strings.ToUpper(id.String()[24:]))...)
			return
		}
		t.Fatal("no two ids have the same ending")
	})
}

// Text that differs between runs, which the comparison replaces.
var (
	idText   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timeText = regexp.MustCompile(`[ \t]\d+\.\ds`)
	zone     = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+`)
)

func steady(s string) string {
	s = idText.ReplaceAllString(s, "ID")
	s = timeText.ReplaceAllString(s, " 0.0s")
	return zone.ReplaceAllString(s, "WHEN")
}

// Output that does not go to a terminal is plain text: no colours, no frames.
func TestPlainText(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		owner := "01890a5d-ac96-474b-bcce-b302099a8057"
		first := s.submit(t, taskkit.WithTotal(40_000), taskkit.WithReason("start of term"))
		second := s.submit(t, taskkit.WithQueue("night"))
		third := s.submit(t)
		for _, args := range [][]string{
			{"pause", first.String(), "--reason", "not now", "--by", owner},
			{"stop", second.String()},
		} {
			expect(t, 0, "task ", s.args(args...)...)
		}
		for _, c := range []struct {
			args       []string
			want, errs string
		}{
			{[]string{"ls"}, `ID                                    KIND   STATUS     ITEMS  FAILED  QUEUE    TIME  NOTE
ID  watch  QUEUED         0          default  0.0s  no worker is alive
ID  watch  COMPLETED      0          night    0.0s  stopped
ID  watch  QUEUED     0/40,000          default  0.0s  paused by ` + owner + ` (not now)
`, ""},
			{[]string{"ls", "--queue", "night", "-n", "1"}, `ID                                    KIND   STATUS     ITEMS  FAILED  QUEUE  TIME  NOTE
ID  watch  COMPLETED      0          night  0.0s  stopped
`, "there may be more: use --before ID\n"},
			{[]string{"ls", "--status", "failure,error"}, "", "no tasks\n"},
			{[]string{"ls", "--kind", "send_email"}, "", "no tasks\n"},
			{[]string{"ls", "--before", first.String()}, "", "no tasks\n"},
			{[]string{"queues", "pause", "night", "--new", "--reason", "saving power", "--by", owner}, "queue night is paused; waiting: 0, running: 0\n", "no live worker serves this queue, and no task is in it\n"},
			{[]string{"queues"}, `QUEUE    STATUS  WAITING  DUE  OLDEST  RUNNING  WORKERS  NOTE
default  open          1    1    0.0s        0        0
night    paused        0    0                0        0  paused by ` + owner + `: saving power
`, ""},
			{[]string{"queues", "resume", "night"}, "queue night is resumed; waiting: 0, running: 0\n", "no live worker serves this queue, and no task is in it\n"},
			{[]string{"workers"}, "", "no workers are running, and none ended in the last hour\n"},
			{[]string{"explain", third.String()}, "It is due but no worker can take it: no worker is alive.\n", ""},
			{[]string{"explain", first.String()}, "It is paused by " + owner + " (not now) at checkpoint 0; resume continues it.\n", ""},
			{[]string{"show", first.String()}, `id         ID
kind       watch (revision 1)
status     QUEUED
cause      paused
           It is paused by ` + owner + ` (not now) at checkpoint 0; resume continues it.
items      0 of 40,000 (done 0, failed 0, skipped 0)
           40,000 remaining
queue      default, priority 2
owner      system
runs as    system
submitted by system
submitted  WHEN
fence      0, checkpoints 0, attempts since the last checkpoint 0
reason     start of term
spec       {"targets":{"query":{"everyone":true}},"action":"watch"}
state      {}

Requests and lost workers, newest first
WHEN                     ACTION  FROM STATUS     ACTOR OR WORKER                          REASON
WHEN  pause   QUEUED  ` + owner + `  not now
`, ""},
			{[]string{"rm", third.String()}, "task ID is deleted\n", ""},
		} {
			status, out, errs := ran(t, s.args(c.args...)...)
			if status != 0 || squeeze(steady(out)) != squeeze(c.want) || steady(errs) != c.errs {
				t.Errorf("taskkit %v: status %d\n%s%s\nwant\n%s%s", c.args, status, steady(out), errs, c.want, c.errs)
			}
		}
	})
}

// squeeze replaces runs of blanks and the tab between two cells by one blank, but not at the end of a line.
func squeeze(s string) string {
	return regexp.MustCompile(`(?m)[ \t]+$`).ReplaceAllString(regexp.MustCompile(`[ \t]+`).ReplaceAllString(s, " "), "")
}

// Help is short and has an example, and the summaries have one style.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"dev", "migrate", "ls", "show", "items", "buckets", "watch", "stop", "pause", "resume", "approve", "set", "retry", "rm", "prune-events", "explain", "workers", "queues", "dead", "schedules", "limits", "changes", "doctor", "run", "kinds", "result", "rate", "version"} {
		status, out, _ := ran(t, "help", c)
		if status != 0 || !strings.Contains(out, "Examples:\n  taskkit "+c) || strings.Count(out, "\n") > 45 {
			t.Errorf("taskkit help %s: status %d, want an example within 45 lines:\n%s", c, status, out)
		}
	}
	_, out, _ := ran(t, "--help")
	if first, _, _ := strings.Cut(out, "\n"); first != "Inspect and control tasks." {
		t.Errorf("the first line of the help is %q", first)
	}
	for _, m := range regexp.MustCompile(`(?m)^  [a-z-]+  +(\S.*)$`).FindAllStringSubmatch(out, -1) {
		if short := m[1]; short[0] < 'A' || short[0] > 'Z' || strings.HasSuffix(short, ".") {
			t.Errorf("the summary %q does not begin with a capital letter or ends with a full stop", short)
		}
	}
	expect(t, 0, "Exit status", "--help")
	expect(t, 0, "taskkit "+taskkit.Version, "--version")
}
