package faultinject_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/faultinject/sqlitefault"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/testkit/testdb"
)

// workerEnv makes the test binary a worker process: its value is a workerArgs.
const workerEnv = "TASKKIT_FAULTINJECT_WORKER"

// workerArgs says what a worker process is to be.
type workerArgs struct {
	Dialect           dialect.Name
	DSN, Schema, Name string
	// At is the driver's call before which the process signals itself, on
	// SQLite, where nothing stands between it and its database. 0 for none.
	At     int
	Signal syscall.Signal
	// Slower multiplies the worker's limits. 0 is 1.
	Slower int
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
		return fmt.Errorf("read what worker to be: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	db, err := openFor(a)
	if err != nil {
		return err
	}
	defer db.Close()
	o, err := oracle.New(oracle.Dialect(a.Dialect), a.Schema)
	if err != nil {
		return err
	}
	w, err := newWorker(db, a.Schema, a.Name, o, 1, harmedLimits.times(max(a.Slower, 1)), slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// openFor opens the database of a worker.
func openFor(a workerArgs) (*sql.DB, error) {
	if a.Dialect == dialect.SQLite {
		k, err := sqliteConnector(a.DSN, a.onSelf())
		if err != nil {
			return nil, err
		}
		db := sql.OpenDB(k)
		testdb.SetConns(db, conns)
		return db, nil
	}
	db, err := sql.Open("pgx", a.DSN)
	if err != nil {
		return nil, fmt.Errorf("open the worker's database: %w", err)
	}
	testdb.SetConns(db, conns)
	return db, nil
}

// struckLine is what a process says on its standard output before it signals
// itself.
const struckLine = "struck "

// onSelf are the faults of a process that signals itself.
func (a workerArgs) onSelf() []sqlitefault.Fault {
	if a.At == 0 {
		return nil
	}
	return []sqlitefault.Fault{{Number: a.At, Match: counted, Action: sqlitefault.Hook, Hook: func(c sqlitefault.Call) {
		fmt.Fprintln(os.Stdout, struckLine+c.String())
		_ = syscall.Kill(os.Getpid(), a.Signal)
	}}}
}

// conns is how many connections a worker has.
const conns = 6

// process is a worker process.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	// struck gets the call before which the process is about to signal itself.
	struck chan string
	done   chan struct{}
}

// launch starts a worker process, which writes its log to a place.
func launch(a workerArgs, log io.Writer) (*process, error) {
	raw, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("write what worker to be: %w", err)
	}
	p := &process{cmd: exec.Command(os.Args[0], "-test.run=^$"), struck: make(chan string, 1), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), workerEnv+"="+string(raw), "GOMAXPROCS=1")
	p.cmd.Stderr = log
	said, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("a pipe from the worker process: %w", err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("a pipe to the worker process: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a worker process: %w", err)
	}
	go func() {
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if line, ok := strings.CutPrefix(lines.Text(), struckLine); ok {
				p.struck <- line
			}
		}
		_ = p.cmd.Wait() // how it ends is the fault's business
		close(p.done)
	}()
	return p, nil
}

// signal sends a signal; a process that is gone already needs none.
func (p *process) signal(s syscall.Signal) {
	_ = p.cmd.Process.Signal(s)
}

// stop asks the process to leave and waits until it has.
func (p *process) stop() error {
	p.signal(syscall.SIGCONT)
	p.signal(syscall.SIGTERM)
	defer p.stdin.Close()
	select {
	case <-p.done:
		return nil
	case <-time.After(leaving):
		p.signal(syscall.SIGKILL)
		<-p.done
		return fmt.Errorf("the worker process did not leave within %v of SIGTERM", leaving)
	}
}

// logBuffer keeps the log of one worker, to be shown if something is wrong.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
