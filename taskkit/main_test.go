package taskkit_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/takeover"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// workerEnv makes the test binary a worker process: its value is a workerArgs.
const workerEnv = "TASKKIT_TEST_WORKER"

// workerArgs says what a worker process is to be.
type workerArgs struct {
	Driver, DSN, Schema string
	Name                string
	// Dir is where the executor and the test meet: see holding.
	Dir  string
	Slow time.Duration // of each batch
	// BeforeTx: hold before the transaction has begun. On SQLite a process that
	// is stopped inside one keeps the only write lock.
	BeforeTx bool
	// BatchTimeout is that of the worker's Config. Defaults to 40 s.
	BatchTimeout time.Duration
	Drain        time.Duration
	// MaxAttempts is that of the worker's Config; 0 is its default.
	MaxAttempts int
	// LeftToReaper: when the process dies, a worker's reaper has to declare it dead.
	LeftToReaper bool
}

func TestMain(m *testing.M) {
	if raw := os.Getenv(workerEnv); raw != "" {
		if err := workerProcess(raw); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testdb.LeakMain(m)
}

// workerProcess runs a worker until SIGTERM, or until its parent is gone, which
// closes its standard input.
func workerProcess(raw string) error {
	var a workerArgs
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	db, err := sql.Open(a.Driver, a.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(12)
	db.SetMaxIdleConns(12)
	reg := registered(countKind, holding(a))
	taskkit.Register(reg, skippingKind, killedByItems())
	taskkit.Register(reg, skippingOf1024, killedByItems())
	taskkit.Register(reg, skippingOf100, killedByItems())
	taskkit.Register(reg, failingKind, killedByItems())
	taskkit.Register(reg, skippingOver, killedByItems())
	taskkit.Register(reg, ledgerKind, killedInBatch())
	w, err := taskkit.NewWorker(ctx, db, reg, taskkit.Config{
		Schema: a.Schema, SystemID: a.Name, Slots: 4,
		Heartbeat: 200 * time.Millisecond, DeadAfter: time.Minute, BatchTimeout: a.BatchTimeout,
		BatchTarget: 100 * time.Millisecond, Drain: a.Drain,
		Poll: 20 * time.Millisecond, PollListening: 100 * time.Millisecond, MaxAttempts: a.MaxAttempts,
		Backoff: 10 * time.Millisecond, BackoffMax: 100 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// countKind is the kind of all process tests.
var countKind = newKind[countSpec, countState]("count", 500)

// holding is an executor that, in the worker process for which the file
// "hold-NAME" exists, announces itself by "held-NAME" in its third batch or
// later, waits for "go-NAME" whatever its context says, and then goes on as if
// nothing had been.
func holding(a workerArgs) *funcs[countSpec, countState] {
	return &funcs[countSpec, countState]{execute: func(ctx context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
		if next, was, err := poisoned(ctx, b); was {
			return next, err
		}
		hold := a.Dir != "" && b.State.Next > 1000 && os.Remove(filepath.Join(a.Dir, "hold-"+a.Name)) == nil
		if hold && a.BeforeTx {
			meet(a)
		}
		if a.Slow > 0 {
			select {
			case <-time.After(a.Slow):
			case <-ctx.Done():
				return taskkit.More, ctx.Err()
			}
		}
		next, err := count(context.WithoutCancel(ctx), b, a.Name)
		if hold && !a.BeforeTx && err == nil {
			meet(a)
		}
		return next, err
	}}
}

func meet(a workerArgs) {
	_ = os.WriteFile(filepath.Join(a.Dir, "held-"+a.Name), nil, 0o600)
	for range time.Tick(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(a.Dir, "go-"+a.Name)); err == nil {
			return
		}
	}
}

// process is a worker process of a test.
type process struct {
	*exec.Cmd
	done chan struct{}
	mu   sync.Mutex
	err  error
}

// launch starts a worker process. It is killed when the test ends. When it dies
// before, the tasks that it had wait for others once done is closed.
func launch(tb testing.TB, db *testdb.DB, a workerArgs) *process {
	tb.Helper()
	a.Driver, a.DSN, a.Schema = "sqlite", db.DSN, schemaOf(db)
	if db.Dialect == dialect.Postgres {
		a.Driver = "pgx"
	}
	a.BatchTimeout = cmp.Or(a.BatchTimeout, 40*time.Second)
	a.Drain = cmp.Or(a.Drain, 20*time.Second)
	raw, err := json.Marshal(a)
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), workerEnv+"="+string(raw), "GOGC=") // its memory is measured
	cmd.Stderr = prefixed{tb, a.Name}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start worker process: %v", err)
	}
	p := &process{Cmd: cmd, done: make(chan struct{})}
	over := make(chan struct{})
	go func() {
		err := cmd.Wait()
		select {
		case <-over:
		default:
			if err != nil {
				silence(tb, db, a)
			}
		}
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(p.done)
	}()
	tb.Cleanup(func() {
		close(over)
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		<-p.done
	})
	return p
}

// silence declares the processes of a name dead, or leaves that to a reaper.
func silence(tb testing.TB, db *testdb.DB, a workerArgs) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), testdb.Patience(tb))
	defer cancel()
	declare := takeover.Declare
	if a.LeftToReaper {
		declare = takeover.Silence
	}
	if err := declare(ctx, db, schemaOf(db), a.Name); err != nil {
		tb.Errorf("process %s is gone: %v", a.Name, err)
	}
}

// rss returns the largest resident size of a running process so far, in bytes;
// 0 where the system does not say. (What wait(2) returns counts the memory of
// the process that forked.)
func (p *process) rss() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	return 0
}

// signal sends a signal.
func (p *process) signal(tb testing.TB, s syscall.Signal) {
	tb.Helper()
	if err := p.Process.Signal(s); err != nil {
		tb.Fatalf("signal %v: %v", s, err)
	}
}

// prefixed writes a child's log into the test's.
type prefixed struct {
	tb   testing.TB
	name string
}

func (p prefixed) Write(b []byte) (int, error) {
	_, _ = fmt.Fprintf(p.tb.Output(), "%s: %s", p.name, b)
	return len(b), nil
}
