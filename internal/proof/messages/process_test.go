package messages_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/workers"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
	"taskkit.dev/taskkit/taskkind"
)

// processEnv makes the test binary a consumer: its value is a processArgs.
const processEnv = "TASKKIT_MESSAGES_PROCESS"

// processArgs says what consumer a process is.
type processArgs struct {
	Broker, URL, Queue string
	Dialect            dialect.Name
	DSN, Schema        string
	Batch              int
	// Versions: its messages are versions of references.
	Versions bool
	// Kafka: it is a kfake on URL instead, with its data in this directory.
	Kafka string
	// Exit: it exits after the first commit, before it acknowledges.
	Exit bool
}

// exitCode is the status of a process after its planned exit.
const exitCode = 7

func TestMain(m *testing.M) {
	if raw := os.Getenv(processEnv); raw != "" {
		fmt.Fprintln(os.Stderr, process(raw))
		os.Exit(1)
	}
	workers.Main(m, 8, registerApply)
}

// statusSpec is a change of a person's status.
type statusSpec struct {
	Message string `json:"message" validate:"required"`
}

var statusKind = taskkit.NewKind(taskkind.Definition[statusSpec, struct{}, struct{}]{Name: "status"})

// exiting is a source whose process exits instead of acknowledging.
type exiting struct{ intake.Source }

func (exiting) Ack(context.Context, []intake.Delivery) error {
	os.Exit(exitCode)
	return nil
}

func (exiting) Reject(context.Context, []intake.Delivery) error {
	os.Exit(exitCode)
	return nil
}

// process is a consumer until it is killed, or until its parent is gone, which closes its
// standard input.
func process(raw string) error {
	var a processArgs
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	if a.Kafka != "" {
		return serveKafka(a.Kafka, a.URL)
	}
	driver := "sqlite"
	if a.Dialect == dialect.Postgres {
		driver = "pgx"
	}
	db, err := sql.Open(driver, a.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxIdleConns(8)
	// What supervises the process starts it again if it cannot begin.
	for {
		c, err := newConsumer(db, a, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		err = c.Run(context.Background())
		fmt.Fprintln(os.Stderr, "the consumer is started again:", err)
		<-time.After(50 * time.Millisecond)
	}
}

func newConsumer(db *sql.DB, a processArgs, log *slog.Logger) (*intake.Consumer, error) {
	source, err := newSource(a.Broker, a.URL, a.Queue, a.Batch)
	if err != nil {
		return nil, err
	}
	if a.Exit {
		source = exiting{source}
	}
	handler := statusHandler
	if a.Versions {
		handler = versionHandler(a.Broker)
	}
	return intake.New(intake.Config{
		DB: db, Schema: a.Schema, Name: name, Source: source, BatchSize: a.Batch, DeadLetter: true,
		Retry: 20 * time.Millisecond, CallTimeout: 5 * time.Second, Log: log,
		Handler: handler,
	})
}

func statusHandler(_ context.Context, m intake.Message) (intake.Decision, error) {
	var spec statusSpec
	if err := json.Unmarshal(m.Body, &spec); err != nil {
		return intake.Decision{}, err
	}
	return intake.Submit(statusKind, spec, taskkit.System()), nil
}

// launch starts a process. Kill kills it; wait waits until it exits by itself and returns how.
func launch(t *testing.T, a processArgs) (kill func(), wait func() int) {
	t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	p := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "-test.run=^$") //nolint:gosec // it is this test
	p.Env = append(os.Environ(), processEnv+"="+string(raw))
	p.Stderr = t.Output()
	stdin, err := p.StdinPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatalf("start a consumer: %v", err)
	}
	var ended error
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		ended = p.Wait()
	}()
	kill = func() {
		_ = p.Process.Kill()
		<-exited
		_ = stdin.Close()
	}
	wait = func() int {
		t.Helper()
		select {
		case <-exited:
			_ = stdin.Close()
			if e, ok := errors.AsType[*exec.ExitError](ended); ok {
				return e.ExitCode()
			}
			return 0
		case <-time.After(testdb.Patience(t)):
			kill()
			t.Fatal("the consumer does not come as far as its first commit")
			return 0
		}
	}
	return kill, wait
}
