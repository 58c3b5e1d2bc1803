package bucketkills_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// processEnv makes the test binary a worker: its value is a processArgs.
const processEnv = "TASKKIT_BUCKETKILLS_PROCESS"

// processArgs says what a worker works on.
type processArgs struct {
	Dialect dialect.Name
	DSN     string
	Schema  string
}

func TestMain(m *testing.M) {
	if raw := os.Getenv(processEnv); raw != "" {
		fmt.Fprintln(os.Stderr, process(raw))
		os.Exit(1)
	}
	testdb.LeakMain(m)
}

// process is a worker until it is killed, or until its parent is gone, which closes its
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
	driver := "sqlite"
	if a.Dialect == dialect.Postgres {
		driver = "pgx"
	}
	db, err := sql.Open(driver, a.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(6)
	var reg taskkit.Registry
	taskkit.Register(&reg, visitKind, visitor{tableIn(a.Dialect, a.Schema)})
	// What supervises the process starts a worker again that cannot begin.
	for {
		w, err := taskkit.NewWorker(db, &reg, taskkit.Config{
			Schema: a.Schema, Slots: 2, Heartbeat: 300 * time.Millisecond, DeadAfter: 2 * time.Second, BatchTimeout: time.Second,
			Poll: 50 * time.Millisecond, PollListening: 200 * time.Millisecond,
			Backoff: 5 * time.Millisecond, BackoffMax: 50 * time.Millisecond, MaxAttempts: 1000, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "the worker is started again:", w.Run(context.Background()))
		<-time.After(50 * time.Millisecond)
	}
}

// worker is a worker process.
type worker struct{ kill func() }

// launch starts a worker process.
func launch(t *testing.T, a processArgs) *worker {
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
		t.Fatalf("start a worker: %v", err)
	}
	return &worker{func() {
		_ = p.Process.Kill()
		_ = p.Wait()
		_ = stdin.Close()
	}}
}
