package taskkitcli_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/taskkitcli"
	"taskkit.dev/executors/targets"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// What every command writes with -o json fits the schema that the command schema prints.
func TestJSONFitsSchemas(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		p := newProgram(t, db)
		taskkit.Register(p.config.Registry, splitKind, splitter{})
		seen := make(map[string]bool)
		// fits executes a command, of so many words, and checks the values that it writes. It returns the id of the last one.
		fits := func(words int, args ...string) string {
			t.Helper()
			command := strings.Join(args[:words], " ")
			seen[command] = true
			_, out, errs := p.run(append(args, "-o", "json")...)
			var s jsonschema.Schema
			if err := json.Unmarshal([]byte(p.want(0, "", append([]string{"schema"}, args[:words]...)...)), &s); err != nil {
				t.Fatalf("schema %s: %v", command, err)
			}
			schema, err := s.Resolve(nil)
			if err != nil {
				t.Fatalf("schema %s: %v", command, err)
			}
			values, id := 0, ""
			for in := json.NewDecoder(strings.NewReader(out)); ; values++ {
				var v any
				if err := in.Decode(&v); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%q: %v: %s%s", args, err, out, errs)
				}
				if err := schema.Validate(v); err != nil {
					t.Errorf("%q: %v:\n%s", args, err, out)
				}
				if task, ok := v.(map[string]any); ok {
					id, _ = task["id"].(string)
				}
			}
			if values == 0 {
				t.Errorf("%q writes nothing: %s", args, errs)
			}
			return id
		}
		start := func(people string, more ...string) string {
			t.Helper()
			return fits(1, append([]string{"run", "watch", "--action", "watch", "--targets.people", people, "--reason", "a test"}, more...)...)
		}
		waits := start(ada, "--at", "2h", "--by", kurt)
		fits(1, "ls")
		fits(1, "explain", waits)
		fits(1, "pause", waits, "--reason", "not now", "--by", kurt)
		fits(1, "show", waits)
		fits(1, "resume", "--where", "kind:watch", "--yes")
		fits(1, "rate", waits, "5/s")
		fits(1, "set", waits, "--stop-after", "5%")
		fits(1, "stop", waits)
		fits(1, "rm", waits)
		fits(2, "queues", "pause", "mail", "--new", "--by", kurt, "--reason", "a test")
		fits(2, "queues", "resume", "mail")
		fits(2, "limits", "set", "mail", "3")
		fits(1, "limits")
		fits(1, "queues")
		fits(2, "queues", "list")
		fits(1, "changes")
		fits(1, "migrate")
		fits(2, "migrate", "status")
		fits(2, "migrate", "sql", "--all")
		fits(1, "version")
		fits(1, "schema", "ls")
		fits(1, "kinds")
		fits(2, "kinds", "show", "watch")
		fits(1, "prune-events", "--older-than", "90d")
		fits(2, "intake", "refused", "--source", "registrar")
		fits(2, "intake", "redrive", "--source", "registrar", "--all")

		p.work()
		preview := start(ada, "--preview", "-w")
		fits(1, "show", preview)
		fits(1, "apply", preview)
		partly := start(ada+","+broken, "-w")
		fits(1, "watch", partly)
		fits(1, "items", partly)
		fits(1, "retry-failed", partly)
		dead := start(hostile, "-w")
		fits(1, "show", dead)
		fits(1, "dead")
		fits(2, "dead", "list")
		fits(2, "dead", "show")
		fits(1, "ls", "--status", "failure")
		fits(1, "continue", dead)
		fits(1, "retry", "--where", "status:failed", "--yes")
		fits(1, "watch", "@last")
		fits(2, "dead", "retry", "--all", "--yes")
		fits(2, "dead", "drop", "--code", "gone", "--yes")
		split := fits(1, "run", "split", "-w")
		fits(1, "buckets", split)
		p.want(0, `"status":"SKIPPED","code":"empty"`, "buckets", split, "-o", "json")
		fits(1, "show", split)
		fits(1, "result", split)
		fits(1, "workers")
		fits(1, "doctor")
		approval, err := watchtask.Submit(t.Context(), db.DB, watchtask.Spec{Action: "watch", Targets: targets.Targets{People: []uuid.UUID{uuid.MustParse(ada)}}},
			taskkit.System(), taskkit.WithSchema(p.config.Schema), taskkit.WithApproval())
		if err != nil {
			t.Fatal(err)
		}
		fits(1, "approve", approval.String(), "--by", kurt)

		fits(2, "schedules", "set", "nightly", "--kind", "watch", "--cron", "0 2 * * *", "--spec", `{"action":"watch","targets":{"query":{"everyone":true}}}`, "--owner", "system")
		for _, verb := range []string{"show", "pause", "resume", "trigger"} {
			fits(2, "schedules", verb, "nightly")
		}
		fits(1, "schedules")
		fits(2, "schedules", "list")
		fits(2, "schedules", "delete", "nightly")

		var walk func(prefix string, c *cobra.Command)
		walk = func(prefix string, c *cobra.Command) {
			for _, sub := range c.Commands() {
				path := prefix + sub.Name()
				// A kind is run as a part of run, and intake alone is help.
				if !seen[path] && prefix != "run " && path != "intake" {
					t.Errorf("%s is not executed here", path)
				}
				walk(path+" ", sub)
			}
		}
		walk("", taskkitcli.Command(p.config))
	})
}
