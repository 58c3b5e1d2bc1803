package main_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// built is the command, built once for all tests of the package.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "taskkit-command")
	if err != nil {
		panic(err)
	}
	built = filepath.Join(dir, "taskkit")
	if out, err := exec.Command("go", "build", "-ldflags=-w", "-o", built, ".").CombinedOutput(); err != nil {
		panic(string(out))
	}
	// The function given to Cleanup ends the process.
	testdb.LeakMain(m, goleak.Cleanup(func(status int) {
		_ = os.RemoveAll(dir)
		os.Exit(status)
	}))
}

// ran runs the command and returns its exit status and output.
func ran(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	cmd := exec.CommandContext(testdb.Within(t), built, args...)
	cmd.Env = append(os.Environ(), "DATABASE_URL=", "NO_COLOR=1")
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("taskkit %v: %v", args, err)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

// expect runs the command and checks its exit status and a part of its output.
func expect(t *testing.T, status int, part string, args ...string) {
	t.Helper()
	got, out, errs := ran(t, args...)
	if got != status || !strings.Contains(out+errs, part) {
		t.Errorf("taskkit %v: status %d, want %d with %q:\n%s%s", args, got, status, part, out, errs)
	}
}

// Every command, on a database with one waiting task, and its exit status.
func TestCommands(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		args := func(args ...string) []string {
			args = append(args, "-d", db.DSN)
			if db.Schema != "" {
				args = append(args, "--schema", db.Schema)
			}
			return args
		}
		expect(t, 1, "taskkit migrate", args("ls")...)
		expect(t, 0, "created", args("migrate")...)
		expect(t, 0, "", args("migrate")...)
		expect(t, 0, "no tasks", args("ls")...)
		expect(t, 1, "no task yet", args("show", "@last")...)

		schema := db.Schema
		if schema == "" {
			schema = taskkit.DefaultSchema
		}
		submit := func(opts ...taskkit.SubmitOption) string {
			id, err := watchtask.Submit(t.Context(), db.DB, watchtask.Spec{
				Action:  watch.Start,
				Targets: targets.Targets{Query: &targets.Query{Everyone: true}},
			}, append(opts, taskkit.WithSchema(schema), taskkit.System())...)
			if err != nil {
				t.Fatal(err)
			}
			return id.String()
		}
		id := submit()
		short := id[len(id)-6:]
		expect(t, 0, id, args("ls")...)
		expect(t, 0, `"id": "`+id, args("ls", "-o", "json")...)
		expect(t, 0, "watch (revision 1)", args("show", short)...)
		expect(t, 0, "no worker is alive", args("explain", "@last")...)
		expect(t, 0, "", args("workers")...)
		expect(t, 0, "queue default is paused; waiting: 1", args("queues", "pause", "default", "--reason", "a test", "--by", "system")...)
		expect(t, 0, "has been paused by system (a test)", args("explain", short)...)
		expect(t, 0, `"paused_reason": "a test"`, args("queues", "list", "-o", "json")...)
		expect(t, 0, "by system", args("queues")...)
		expect(t, 0, " UTC\tqueue\tdefault\tpause\topen\tpaused\tsystem\ta test", args("changes")...)
		expect(t, 0, "queue default is resumed", args("queues", "resume", "default")...)
		expect(t, 2, "is not a valid name of a queue", args("queues", "pause", "no such queue", "--new")...)
		expect(t, 1, `no task is in a queue "defaults", and no live worker serves it; the queues are default; to pause it before there is one, add --new`, args("queues", "pause", "defaults")...)
		expect(t, 1, `no task is in a queue "defaults"`, args("queues", "resume", "defaults")...)
		_, listed, _ := ran(t, args("queues")...)
		if strings.Contains(listed, "defaults") {
			t.Errorf("the misspelt queue exists:\n%s", listed)
		}
		for _, flag := range []string{"--due", "--approval", "--transaction"} {
			expect(t, 2, flag+": it is negative", args("doctor", flag, "-1h")...)
			expect(t, 2, `"`+flag+`" flag: want a duration`, args("doctor", flag, "ten")...)
		}
		expect(t, 0, "queue soon is paused", args("queues", "pause", "soon", "--new")...)
		expect(t, 0, "", args("pause", short, "--by", "system")...)
		expect(t, 0, "It is paused by system", args("explain", short)...)
		expect(t, 0, "pause\tQUEUED\tsystem", args("show", short)...)
		expect(t, 0, "", args("resume", short)...)
		expect(t, 1, "only a paused task can be resumed", args("resume", short)...)
		expect(t, 1, "only a task in ERROR or FAILURE", args("retry", short)...)
		expect(t, 5, "QUEUED  0  no worker is alive\ntaskkit: ", args("watch", short, "--timeout", "200ms")...)
		expect(t, 0, "", args("stop", short, "--reason", "a test")...)
		expect(t, 4, "", args("watch", short)...)
		expect(t, 0, "stopped", args("explain", short)...)
		expect(t, 0, "", args("rm", id)...)

		dead := submit()
		for _, to := range []string{
			"workflow_status = 'SCHEDULING', fence = 1, scheduled_by_process = 'w'",
			"workflow_status = 'ERROR', scheduled_by_process = NULL, workflow_status_desc = 'gone: x', workflow_stopped_date = '2020-01-01 00:00:00.000'",
		} {
			if _, err := db.ExecContext(t.Context(), "UPDATE taskkit_queued_task SET "+to+" WHERE id = $1", dead); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, 0, "gone", args("dead", "--older-than", "14d")...)
		expect(t, 0, `"example": "`+dead, args("dead", "list", "--kind", "watch", "-o", "json")...)
		expect(t, 0, "no dead letters", args("dead", "--code", "other")...)
		expect(t, 0, dead, args("dead", "show", "--code", "gone")...)
		expect(t, 2, "1 dead letter would be retried: repeat the command with --all --yes", args("dead", "retry")...)
		expect(t, 0, "retried: 1, refused: 0", args("dead", "retry", "--code", "gone", "--reason", "a test", "--yes")...)
		expect(t, 0, `"done": 0`, args("dead", "drop", "--all", "--yes", "-o", "json")...)
		expect(t, 0, "", args("rm", dead)...)

		waits := submit(taskkit.WithApproval())
		person := "01890a5d-ac96-774b-bcce-b302099a8057"
		expect(t, 0, waits, args("ls", "--approval", "--paused", "-o", "name")...)
		expect(t, 0, "approve continues it", args("explain", waits)...)
		expect(t, 0, "it waits for approval before its first batch", args("show", waits)...)
		expect(t, 1, "approve it", args("resume", waits, "--stop-after", "5%")...)
		expect(t, 2, "is not a limit of failed items", args("set", waits, "--stop-after", "many")...)
		expect(t, 2, "stop-after", args("set", waits)...)
		expect(t, 0, "has the new limit", args("set", waits, "--stop-after", "200")...)
		expect(t, 2, "--by: taskkit approve needs it: name the person who approves", args("approve", waits)...)
		expect(t, 0, "is approved", args("approve", waits, "--by", person, "--stop-after", "5%")...)
		expect(t, 1, "only a task that waits for approval", args("approve", waits, "--by", person)...)
		expect(t, 0, "no tasks", args("ls", "--approval")...)
		expect(t, 0, "approve", args("show", waits)...)
		expect(t, 1, "no task ", args("show", id)...)
		expect(t, 2, "is not a task", args("show", "zz")...)
		expect(t, 2, "", args("ls", "--no-such-flag")...)
	})
	expect(t, 2, "no database given", "ls")
	expect(t, 2, "frob", "frob")
	got, out, errs := ran(t, "ls", "-d", "postgres://me:secret@127.0.0.1:1/none?connect_timeout=2")
	if got != 1 || strings.Contains(out+errs, "secret") {
		t.Errorf("an unreachable server: status %d\n%s%s", got, out, errs)
	}
}

// The demonstration, with few people and a worker killed in the middle. What it says
// last is about the retry.
func TestDev(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		args := []string{"dev", "--exit", "--people-count", "400"}
		if db.Schema != "" {
			args = append(args, "--database-url", db.DSN, "--workers", "3", "--kills", "2")
		}
		expect(t, 0, "by both tasks together processed twice: 0, missed: 0", args...)
	})
}
