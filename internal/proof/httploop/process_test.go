package httploop_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskkind"
)

// processEnv makes the test binary a server or a worker: its value is a processArgs.
const processEnv = "TASKKIT_HTTPLOOP_PROCESS"

// processArgs says what a process is to be.
type processArgs struct {
	Server  bool // otherwise it is a worker
	Address string
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

// person makes all requests.
var person = uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")

// process is a server or a worker until it is killed, or until its parent is gone, which
// closes its standard input.
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
	testdb.SetConns(db, 6)
	logger := slog.New(slog.DiscardHandler)
	if a.Server {
		jobs, err := taskhttp.New(db, taskhttp.Config{
			Caller:    func(*http.Request) (taskhttp.Caller, error) { return taskhttp.Caller{Owner: person}, nil },
			Authorize: taskhttp.OwnJobs, Schema: a.Schema, Poll: 50 * time.Millisecond, Logger: logger,
		})
		if err != nil {
			return err
		}
		taskhttp.Start(jobs, "POST /rows", rowsKind)
		var config net.ListenConfig
		l, err := config.Listen(context.Background(), "tcp", a.Address)
		if err != nil {
			return err
		}
		return (&http.Server{Handler: jobs, ReadHeaderTimeout: time.Minute}).Serve(l)
	}
	var reg taskkit.Registry
	taskkit.Register(&reg, rowsKind, rowWriter{table: tableIn(a.Dialect, a.Schema)})
	// A worker that cannot use the database when it starts ends with an error. What
	// supervises the process then starts it again.
	for {
		err := work(db, &reg, a.Schema, logger)
		fmt.Fprintln(os.Stderr, "the worker is started again:", err)
		<-time.After(50 * time.Millisecond)
	}
}

// work runs a worker.
func work(db *sql.DB, reg *taskkit.Registry, schema string, logger *slog.Logger) error {
	w, err := taskkit.NewWorker(context.Background(), db, reg, taskkit.Config{
		Schema: schema, Slots: 4, Heartbeat: 300 * time.Millisecond, DeadAfter: 2 * time.Second, BatchTimeout: time.Second,
		Poll: 50 * time.Millisecond, PollListening: 200 * time.Millisecond,
		Backoff: 5 * time.Millisecond, BackoffMax: 50 * time.Millisecond, MaxAttempts: 1000, Logger: logger,
	})
	if err != nil {
		return err
	}
	return w.Run(context.Background())
}

// launch starts a process and returns how it is killed.
func launch(t *testing.T, a processArgs) (kill func()) {
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
		t.Fatalf("start a process: %v", err)
	}
	return func() {
		_ = p.Process.Kill()
		_ = p.Wait()
		_ = stdin.Close()
	}
}

// writeRows asks for Items rows with a token, a batch each.
type writeRows struct {
	Token string `json:"token"`
	Items int    `json:"items"`
}

// writtenRows is how many there are.
type writtenRows struct {
	Rows int `json:"rows"`
}

var rowsKind = taskkit.NewKind(taskkind.Definition[writeRows, writtenRows, writeRows]{Name: "rows"})

// tableIn is the table of the rows.
func tableIn(d dialect.Name, schema string) string {
	if d == dialect.Postgres {
		return schema + ".httploop"
	}
	return "httploop"
}

// rowWriter writes rows.
type rowWriter struct{ table string }

// Execute implements [taskkit.Executor].
func (m rowWriter) Execute(ctx context.Context, b *taskkit.Batch[writeRows, writtenRows]) (taskkit.Next, error) {
	if _, err := b.Tx.ExecContext(ctx, "INSERT INTO "+m.table+" (token, task) VALUES ($1, $2)", b.Spec.Token, b.Task.String()); err != nil {
		return taskkit.More, err
	}
	select { // so that there is a time in which it can be killed
	case <-time.After(5 * time.Millisecond):
	case <-ctx.Done():
		return taskkit.More, ctx.Err()
	}
	if b.State.Rows++; b.State.Rows < b.Spec.Items {
		return taskkit.More, nil
	}
	return taskkit.Done, nil
}

// Report implements [taskkit.Reporter].
func (m rowWriter) Report(_ context.Context, b *taskkit.Batch[writeRows, writtenRows]) (writeRows, error) {
	return writeRows{Token: b.Spec.Token, Items: b.State.Rows}, nil
}

// isGone reports whether an error says that a job has been deleted.
func isGone(err error) bool {
	return errors.Is(err, taskhttp.ErrNoSuchJob)
}
