// Package workers runs the workers of a test in processes of their own, which the test kills. The test binary
// itself is the program.
package workers

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of PostgreSQL

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// processEnv makes the test binary a worker: its value is an Args.
const processEnv = "TASKKIT_PROOF_WORKER"

// Args say what a worker works on.
type Args struct {
	Dialect dialect.Name
	DSN     string
	Schema  string
	Slots   int      // of a worker, where they differ
	Queues  []string // of a worker, where they differ
	// Extra is what else a package passes to its workers.
	Extra json.RawMessage `json:",omitempty"`
}

// On returns the Args of a database.
func On(db *testdb.DB) Args {
	a := Args{Dialect: db.Dialect, DSN: db.DSN, Schema: db.Schema}
	if a.Schema == "" {
		a.Schema = taskkit.DefaultSchema
	}
	return a
}

// Table returns the name of a table of the test, as workers and test write it.
func (a Args) Table(name string) string {
	if a.Dialect == dialect.Postgres {
		return a.Schema + "." + name
	}
	return name
}

// Open opens the database.
func (a Args) Open() (*sql.DB, error) {
	driver := "sqlite"
	if a.Dialect == dialect.Postgres {
		driver = "pgx"
	}
	return sql.Open(driver, a.DSN)
}

// Main is the TestMain of a package whose workers register what a function says. A Config of slots
// and connections is completed with short times.
func Main(m *testing.M, connections int, register func(a Args, r *taskkit.Registry) taskkit.Config) {
	if raw := os.Getenv(processEnv); raw != "" {
		fmt.Fprintln(os.Stderr, work(raw, connections, register))
		os.Exit(1)
	}
	testdb.LeakMain(m)
}

// work is a worker until it is killed, or until its parent is gone, which closes its
// standard input.
func work(raw string, connections int, register func(Args, *taskkit.Registry) taskkit.Config) error {
	var a Args
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	db, err := a.Open()
	if err != nil {
		return err
	}
	defer db.Close()
	testdb.SetConns(db, connections)
	var reg taskkit.Registry
	c := register(a, &reg)
	c.Schema = a.Schema
	// What supervises the process starts a worker again that cannot begin.
	for {
		w, err := taskkit.NewWorker(context.Background(), db, &reg, c)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "the worker is started again:", w.Run(context.Background()))
		<-time.After(50 * time.Millisecond)
	}
}

// Worker is a worker process.
type Worker struct{ kill func() }

// Launch starts a worker process, which is killed at the end of the test at the latest.
func Launch(t *testing.T, a Args) *Worker {
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
	killed := false
	w := &Worker{func() {
		if killed {
			return
		}
		killed = true
		_ = p.Process.Kill()
		_ = p.Wait()
		_ = stdin.Close()
	}}
	t.Cleanup(w.Kill)
	return w
}

// Kill ends the process by a SIGKILL and waits until it is gone.
func (w *Worker) Kill() { w.kill() }
