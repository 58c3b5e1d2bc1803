package main_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/taskops"
)

const webhookSecret = "TASKKIT_WEBHOOK_SECRET=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// The command serve delivers the notifications of its target, and show and explain say what a task delivers.
func TestMID59Serve(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		schema, flags := taskkit.DefaultSchema, []string{"-d", db.DSN}
		if db.Schema != "" {
			schema, flags = db.Schema, append(flags, "--schema", db.Schema)
		}
		if err := taskkit.Migrate(t.Context(), db.DB, schema); err != nil {
			t.Fatal(err)
		}
		got := make(chan string, 10)
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("webhook-id") }))
		t.Cleanup(receiver.Close)
		serve := func(more ...string) *exec.Cmd {
			cmd := exec.CommandContext(testdb.Within(t), built, append(append(flags, "serve", "--listen", "127.0.0.1:0", "--person-header", "X-Person", "--webhook", receiver.URL, "--webhook-target", "ops"), more...)...)
			cmd.Env = append(os.Environ(), "DATABASE_URL=", "NO_COLOR=1", webhookSecret)
			return cmd
		}
		if out, err := serve().CombinedOutput(); err == nil || !strings.Contains(string(out), "use https") {
			t.Errorf("a receiver on this machine is not refused: %v\n%s", err, out)
		}
		cmd := serve("--webhook-allow", "127.0.0.0/8", "--webhook-body", "slack", "--findings", "5m")
		cmd.Stderr = t.Output()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		client := taskkit.NewClient(db.DB, taskkit.WithSchema(schema))
		id, err := watchtask.Submit(t.Context(), db.DB, watchtask.Spec{Action: watch.Start, Targets: targets.Targets{Query: &targets.Query{Everyone: true}}},
			taskkit.WithSchema(schema), taskkit.System(), taskkit.WithNotifications("ops"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		var message string
		select {
		case message = <-got:
		case <-time.After(testdb.Patience(t)):
			t.Fatal("the webhook was not delivered")
		}
		deliveries, _, err := client.Tasks(t.Context(), taskkit.Filter{Kinds: []string{notice.Kind}})
		if err != nil || len(deliveries) != 1 || message != "msg_"+deliveries[0].ID.String() {
			t.Fatalf("delivered %s by %v, %v", message, deliveries, err)
		}
		if s, err := taskops.New(client).Schedule(t.Context(), "taskkit_findings_ops"); err != nil || s.Cron != "@every 5m0s" {
			t.Errorf("the schedule of the doctor is %+v, %v", s, err)
		}
		what := "that task " + id.String() + " of kind watch is partial, to target ops"
		expect(t, 0, what, append(flags, "show", deliveries[0].ID.String())...)
		expect(t, 0, "It delivers "+what+".", append(flags, "explain", deliveries[0].ID.String())...)
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ends with %v", err)
		}
	})
}
