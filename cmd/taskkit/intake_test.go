package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/testdb/cluster"
	"taskkit.dev/taskkit"
)

// The command declares its queue, makes tasks of the registrar's messages, and ends on an interrupt.
func TestIntake(t *testing.T) {
	t.Parallel()
	const person = `"person": "01890a5d-ac96-774b-bcce-b302099a8057", "program": "math"`
	broker, db := testdb.Broker(t, cluster.StartRabbitMQ), testdb.SQLite(t)
	expect(t, 0, "created", "migrate", "-d", db.DSN)
	expect(t, 2, "--amqp is missing", "intake", "-d", db.DSN)
	expect(t, 2, "cannot use --amqp", "intake", "-d", db.DSN, "--amqp", "localhost")

	var out, errs bytes.Buffer
	cmd := exec.CommandContext(testdb.Within(t), built, "intake", "-d", db.DSN, "--amqp", broker.DSN, "--declare")
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "DATABASE_URL="), &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = cmd.Process.Kill(), cmd.Wait()
		if t.Failed() {
			t.Logf("it says %q, and on stderr:\n%s", out.String(), errs.String())
		}
	})
	conn, err := amqp.Dial(broker.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	eventually(t, "the queue is declared", func() bool {
		ch, err := conn.Channel()
		if err != nil {
			t.Fatal(err)
		}
		q, err := ch.QueueDeclarePassive("registrar", true, false, false, false, nil)
		// A queue that is still being made has a name and loses what it is sent.
		return err == nil && q.Consumers > 0
	})
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.Confirm(false); err != nil {
		t.Fatal(err)
	}
	for id, body := range []string{
		`{` + person + `, "status": "exited", "on": "2036-12-01", "version": 1}`,
		`{` + person + `, "status": "active", "on": "2037-01-01", "version": 1}`,
		`{` + person + `, "status": "paused", "on": "2036-12-01", "version": 3}`,
		`{` + person + `, "status": "active", "version": 1}`,
		`{"program": "math", "status": "exited"}`,
		`{` + person + `, "status": "exited", "on": "tomorrow", "version": 1}`,
		`no JSON`,
		`{` + person + `, "status": "active", "on": "2036-12-01", "version": 2}`,
		`{` + person + `, "status": "active", "on": "2036-12-01"}`,
	} {
		m := amqp.Publishing{MessageId: string(rune('a' + id)), Body: []byte(body)}
		confirmed, err := ch.PublishWithDeferredConfirmWithContext(t.Context(), "", "registrar", false, false, m)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := confirmed.WaitContext(testdb.Within(t)); err != nil || !ok {
			t.Fatalf("the broker does not confirm message %s: %v", m.MessageId, err)
		}
	}
	eventually(t, "all are taken in", func() bool {
		var n int
		err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM taskkit_task_message").Scan(&n)
		return err == nil && n == 9
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if want := "9 received: 4 submitted, 1 superseded, 4 refused, 0 duplicates\n"; out.String() != want {
		t.Errorf("it says %q, want %q", out.String(), want)
	}
	for _, want := range []string{"taking messages in from queue registrar", "code=no_person", "code=no_version", "code=invalid_date", "code=undecodable"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, errs.String())
		}
	}
	all, _, err := taskkit.NewClient(db.DB).Tasks(t.Context(), taskkit.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, task := range all {
		reasons = append(reasons, task.Reason)
	}
	slices.Sort(reasons)
	if want := []string{"message: source=registrar id=d", "next-change: status=active on=2037-01-01", "next-change: status=paused on=2036-12-01"}; !slices.Equal(reasons, want) {
		t.Errorf("tasks for %q, want %q", reasons, want)
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	late := time.After(testdb.Patience(t))
	for !so() {
		select {
		case <-late:
			t.Fatalf("it is not so that %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
