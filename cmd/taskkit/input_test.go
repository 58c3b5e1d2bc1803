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
	"taskkit.dev/internal/testdb"
	"taskkit.dev/taskkit"
)

// What is wrong is said in one sentence, with the right status, and before
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
		{2, "no database is named", []string{"ls"}},
		{2, `there is no command "frob"`, []string{"frob"}},
		{2, "takes no argument", []string{"ls", "frob", "-d", missing}},
		{2, "unknown flag", []string{"ls", "--frob"}},
		{2, "table or json", []string{"ls", "-o", "xml", "-d", missing}},
		{2, "is no status", []string{"ls", "--status", "busy", "-d", missing}},
		{2, "want a UUID", []string{"ls", "--owner", "me", "-d", missing}},
		{2, "1 to 1000", []string{"ls", "-n", "0", "-d", missing}},
		{2, "names no task", []string{"ls", "--before", "x", "-d", missing}},
		{2, "no task is named", []string{"show", "-d", missing}},
		{2, "takes one task", []string{"watch", "1234", "5678", "-d", missing}},
		{2, "names no task", []string{"stop", "12", "-d", missing}},
		{2, "36 characters", []string{"rm", "01890a5d-ac96-774b-bcce-b302099a805-", "-d", missing}},
		{2, "want a UUID", []string{"stop", "1234", "--by", "me", "-d", missing}},
		{2, "no support for mysql", []string{"ls", "-d", "mysql://me@host/x"}},
		{2, "escape special characters", []string{"ls", "-d", "postgres://me:sec%zzret@host/x"}},
		{2, "belongs to one process", []string{"ls", "-d", ":memory:"}},
		{2, "dev writes for people", []string{"dev", "-o", "json"}},
		{2, "--kills takes", []string{"dev", "--kills", "6"}},
		{2, "--workers takes", []string{"dev", "--workers", "0"}},
		{2, "--people-count takes", []string{"dev", "--people-count", "0"}},
		{2, "leave out --people-count", []string{"dev", "--people", csv, "--people-count", "3"}},
		{2, "two databases", []string{"dev", "--database", missing, "-d", missing}},
		{2, "use -d for PostgreSQL", []string{"dev", "--database", "postgres://me@host/x"}},
		{1, "there is no SQLite file", []string{"ls", "-d", missing}},
		{1, "not a database", []string{"ls", "-d", text}},
		{1, "cannot reach", []string{"migrate", "-d", filepath.Join(dir, "no", "such", "place.db")}},
		{1, "cannot reach postgres://me:xxxxx@127.0.0.1:1/x", []string{"ls", "-d", "postgres://me:secret@127.0.0.1:1/x"}},
		{1, "password=xxxxx", []string{"ls", "-d", "host=127.0.0.1 port=1 password=secret"}},
		{1, "no such file", []string{"dev", "--exit", "--people", missing}},
		{1, "last_name: this column is missing", []string{"dev", "--exit", "--people", csv}},
		{1, "is what `taskkit dev` runs", []string{"dev-worker"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			status, out, errs := ran(t, c.args...)
			if status != c.status || !strings.Contains(errs, c.part) {
				t.Errorf("status %d, want %d with %q:\n%s", status, c.status, c.part, errs)
			}
			if strings.Contains(out+errs, "secret") || strings.Contains(out+errs, "zzret") {
				t.Errorf("a password is printed:\n%s%s", out, errs)
			}
			if _, err := os.Stat(missing); err == nil {
				t.Error("a file was made")
			}
		})
	}
}

// A suffix that several tasks have is refused, and says which they are.
func TestAmbiguousSuffix(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		// Of so many, two end with the same four characters: the chance that
		// none do is below one in ten million.
		specs := make([]watchtask.Spec, 1500)
		for i := range specs {
			specs[i] = watchtask.Spec{Action: watch.Start, Targets: targets.Targets{Query: &targets.Query{Everyone: true}}}
		}
		ids, err := watchtask.SubmitMany(t.Context(), db.DB, specs, taskkit.InSchema(s.schema), taskkit.Quiet())
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
		t.Fatal("no two ids end alike")
	})
}

// Which text changes from run to run, and what it is written as.
var (
	idText   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timeText = regexp.MustCompile(` \d+\.\ds`)
	zone     = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+`)
)

func steady(s string) string {
	s = idText.ReplaceAllString(s, "ID")
	s = timeText.ReplaceAllString(s, " 0.0s")
	return zone.ReplaceAllString(s, "WHEN")
}

// What is not written to a terminal is plain text: no colours, no frames.
func TestPlainText(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		owner := "01890a5d-ac96-474b-bcce-b302099a8057"
		first := s.submit(t, taskkit.WithTotal(40_000), taskkit.WithReason("start of term"))
		second := s.submit(t, taskkit.InQueue("night"))
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
ID  watch  QUEUED         0          default  0.0s
ID  watch  COMPLETED      0          night    0.0s  stopped
ID  watch  QUEUED     0/40,000          default  0.0s  paused
`, ""},
			{[]string{"ls", "--queue", "night", "-n", "1"}, `ID                                    KIND   STATUS     ITEMS  FAILED  QUEUE  TIME  NOTE
ID  watch  COMPLETED      0          night  0.0s  stopped
`, "there may be more: --before ID\n"},
			{[]string{"ls", "--status", "failure,error"}, "", "no tasks\n"},
			{[]string{"ls", "--kind", "send_email"}, "", "no tasks\n"},
			{[]string{"ls", "--before", first.String()}, "", "no tasks\n"},
			{[]string{"workers"}, "", "no workers: none lives, and none has ended in the last hour\n"},
			{[]string{"explain", third.String()}, "It is due but no worker can take it: no worker is alive.\n", ""},
			{[]string{"explain", first.String()}, "It is paused by " + owner + " (not now) at checkpoint 0; resume lets it go on.\n", ""},
			{[]string{"show", first.String()}, `id         ID
kind       watch (revision 1)
status     QUEUED
           It is paused by ` + owner + ` (not now) at checkpoint 0; resume lets it go on.
items      0 of 40,000 (done 0, failed 0, skipped 0)
queue      default, priority 2
owner      00000000-0000-0000-0000-000000000000
runs as    00000000-0000-0000-0000-000000000000
submitted  WHEN
holds      0, checkpoints 0, attempts since the last 0
reason     start of term
spec       {"targets":{"query":{"everyone":true}},"action":"watch"}
state      {}

What was asked of it, newest first
WHEN                     ACTION  WAS     BY                                    REASON
WHEN  pause   QUEUED  ` + owner + `  not now
`, ""},
			{[]string{"rm", third.String()}, "task ID is removed\n", ""},
		} {
			status, out, errs := ran(t, s.args(c.args...)...)
			if status != 0 || squeeze(steady(out)) != squeeze(c.want) || steady(errs) != c.errs {
				t.Errorf("taskkit %v: status %d\n%s%s\nwant\n%s%s", c.args, status, steady(out), errs, c.want, c.errs)
			}
		}
	})
}

// squeeze makes runs of blanks one: how wide a column is depends on ids and
// times.
func squeeze(s string) string { return regexp.MustCompile(` +`).ReplaceAllString(s, " ") }

// Help is short and has an example.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"dev", "migrate", "ls", "show", "watch", "stop", "pause", "resume", "retry", "rm", "explain", "workers"} {
		status, out, _ := ran(t, "help", c)
		if status != 0 || !strings.Contains(out, "Examples:\n  taskkit "+c) || strings.Count(out, "\n") > 45 {
			t.Errorf("taskkit help %s: status %d, want an example within 45 lines:\n%s", c, status, out)
		}
	}
	expect(t, 0, "Exit status", "--help")
	expect(t, 0, "taskkit "+taskkit.Version, "--version")
}
