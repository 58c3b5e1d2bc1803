package main_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// Every command on schedules, and its exit status.
func TestSchedules(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		run := func(status int, part string, args ...string) {
			t.Helper()
			expect(t, status, part, s.args(append([]string{"schedules"}, args...)...)...)
		}
		run(0, "no schedules")
		run(0, "[]", "list", "-o", "json")
		run(2, "the name of one schedule", "show")
		run(1, `no such schedule: "nightly"`, "show", "nightly")
		run(1, `no such schedule: "nightly"`, "pause", "nightly")
		run(2, "no live worker knows", "set", "nightly", "--kind", "watch", "--spec", "{}", "--cron", "0 2 * * *")
		run(2, `there is no schedule "nightly": to make it, give --kind, --spec and --cron`, "set", "nightly", "--cron", "0 2 * * *")
		run(2, `there is no schedule "nightly": to make it`, "set", "nightly")
		spec := watchtask.Spec{Action: watch.Start, Targets: targets.Targets{Query: &targets.Query{Everyone: true}}}
		schema := db.Schema
		if schema == "" {
			schema = taskkit.DefaultSchema
		}
		nightly := taskops.Schedule{Cron: "30 2 * * *", Zone: "Europe/Oslo"}
		if err := taskops.SetSchedule(t.Context(), db.DB, watchtask.Kind, "nightly", spec, nightly, taskkit.WithSchema(schema)); err != nil {
			t.Fatal(err)
		}
		run(0, "02:30 Europe/Oslo")
		run(0, `"cron": "30 2 * * *"`, "list", "-o", "json")
		status, out, errs := ran(t, s.args("schedules", "show", "nightly")...)
		if status != 0 || !strings.Contains(out, "Next five fires\n") || strings.Count(out, " 02:30\t")+strings.Count(out, " 02:30 ") != 6 {
			t.Errorf("show: status %d\n%s%s", status, out, errs)
		}
		run(0, "is paused", "pause", "nightly", "--reason", "holidays")
		run(0, "paused: holidays")
		run(0, "yes (holidays)", "show", "nightly")
		run(0, "is to submit a task once", "trigger", "nightly")
		run(0, "triggered")
		run(0, "goes on, next at ", "resume", "nightly")
		run(0, "03:45", "set", "nightly", "--cron", "45 3 * * *", "--misfire", "all")
		owner, runAs := uuid.NewString(), uuid.NewString()
		run(0, runAs, "set", "nightly", "--run-as", runAs)
		run(0, owner, "set", "nightly", "--owner", owner)
		run(0, runAs, "show", "nightly")
		expect(t, 0, `{"owner":"system"}`, s.args("changes")...)
		run(2, "never fires", "set", "nightly", "--cron", "0 0 30 2 *")
		run(2, "names a time zone", "set", "nightly", "--cron", "TZ=")
		run(2, "is not known here", "set", "nightly", "--zone", "Europe/Olso")
		run(2, "is no policy", "set", "nightly", "--misfire", "twice")
		run(2, "not between 1 and 4", "set", "nightly", "--priority", "9")
		for _, flag := range []string{"--kind", "--cron", "--zone", "--misfire", "--queue"} {
			run(2, flag+" is empty", "set", "nightly", flag, "")
		}
		run(2, "not storable as JSON", "set", "nightly", "--spec", "")
		run(2, "json: nul at /tokens/***", "set", "nightly", "--spec", `{"tokens":{"key":"\u0000"}}`)
		run(2, "not a JSON object", "set", "nightly", "--spec", " []")
		run(0, "45 3 * * *")
		run(0, "is deleted", "delete", "nightly")
		run(1, `no such schedule: "nightly"`, "delete", "nightly")
		run(2, "unknown command", "nightly")
	})
}
