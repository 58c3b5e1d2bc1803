package browser_test

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

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// processEnv makes the test binary a worker: its value is a workerArgs.
const processEnv = "TASKKIT_BROWSER_WORKER"

// workerArgs says what a worker in a process of its own is to be.
type workerArgs struct {
	Dialect  dialect.Name
	DSN      string
	Schema   string
	SystemID string
	HoldAt   int
	Repaired bool
}

func TestMain(m *testing.M) {
	if raw := os.Getenv(processEnv); raw != "" {
		fmt.Fprintln(os.Stderr, workAlone(raw))
		os.Exit(1)
	}
	testdb.LeakMain(m)
}

// workAlone runs a worker until the process is killed, or until its parent is gone, which closes its standard input.
func workAlone(raw string) error {
	var a workerArgs
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
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
	testdb.SetConns(db, 6)
	config := workerConfig(a.Schema)
	config.SystemID, config.Logger = a.SystemID, slog.New(slog.DiscardHandler)
	w, err := taskkit.NewWorker(ctx, db, registry(enroller{holdAt: a.HoldAt, repaired: a.Repaired}), config)
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// launch starts a worker in a process of its own, and returns how it is killed. It ends with the test at the latest.
func (s *site) launch(tb testing.TB, a workerArgs) (kill func()) {
	tb.Helper()
	a.Dialect, a.DSN, a.Schema = s.db.Dialect, s.db.DSN, s.schema
	raw, err := json.Marshal(a)
	if err != nil {
		tb.Fatal(err)
	}
	p := exec.CommandContext(context.WithoutCancel(tb.Context()), os.Args[0], "-test.run=^$") //nolint:gosec // it is this test
	p.Env = append(os.Environ(), processEnv+"="+string(raw))
	p.Stderr = tb.Output()
	stdin, err := p.StdinPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		tb.Fatalf("start a worker: %v", err)
	}
	killed := false
	kill = func() {
		if killed {
			return
		}
		killed = true
		_ = p.Process.Kill()
		_ = p.Wait()
		_ = stdin.Close()
	}
	tb.Cleanup(kill)
	return kill
}

// work runs a worker in this process until the test ends.
func (s *site) work(tb testing.TB) {
	tb.Helper()
	config := workerConfig(s.schema)
	config.Logger = slog.New(slog.NewTextHandler(tb.Output(), nil))
	w, err := taskkit.NewWorker(tb.Context(), s.db.DB, kinds(), config)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
}

// submit submits a task of a person.
func submit[Spec, State, Result any](tb testing.TB, s *site, k *taskkit.Kind[Spec, State, Result], person string, spec Spec, opts ...taskkit.SubmitOption) taskkit.ID {
	tb.Helper()
	opts = append([]taskkit.SubmitOption{taskkit.OwnedBy(s.people[person].ID), taskkit.WithSchema(s.schema)}, opts...)
	id, err := taskkit.Submit(tb.Context(), s.db.DB, k, spec, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// ended waits until a task has ended.
func (s *site) ended(tb testing.TB, id taskkit.ID) {
	tb.Helper()
	if _, err := s.client.Wait(testdb.Within(tb), id, nil); err != nil {
		tb.Fatal(err)
	}
}

// until waits until something holds.
func (*site) until(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	ctx := testdb.Within(tb)
	for !holds() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			tb.Fatalf("%s: %v", what, ctx.Err())
		}
	}
}
