package manyitems_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// processEnv makes the test binary a worker or a client: its value is a processArgs.
const processEnv = "TASKKIT_MANYITEMS_PROCESS"

// processArgs says what a process is to be.
type processArgs struct {
	Dialect dialect.Name
	DSN     string
	Schema  string
	Name    string
	Batch   int // items
	// DeadAfter is the worker's Config.DeadAfter, from which its other times follow.
	DeadAfter time.Duration

	// Call is what a client does; "" makes the process a worker.
	Call string
	Spec peopleSpec // of "submit"
	Last int64      // of "submit": the targets are 1 to Last
	Task taskkit.ID // of the other calls
}

func TestMain(m *testing.M) {
	raw := os.Getenv(processEnv)
	if raw == "" {
		testdb.LeakMain(m)
		return
	}
	if err := process(raw); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func process(raw string) error {
	var a processArgs
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		return err
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
	testdb.SetConns(db, 6)
	if a.Call == "" {
		return a.work(db)
	}
	return a.call(db)
}

// answer is what a client prints.
type answer struct {
	ID     taskkit.ID
	Took   time.Duration
	PeakMB float64
}

// call makes one call of a client and prints its answer.
func (a *processArgs) call(db *sql.DB) error {
	var (
		c     = taskkit.NewClient(db, taskkit.WithSchema(a.Schema))
		ctx   = context.Background()
		began = time.Now()
		id    taskkit.ID
		err   error
	)
	switch a.Call {
	case "submit":
		id, err = taskkit.Submit(ctx, db, peopleKind(a.Batch), a.Spec, taskkit.System(), taskkit.WithSchema(a.Schema),
			taskkit.WithTargets(func(yield func(int64) bool) {
				for before := range a.Last {
					if !yield(before + 1) {
						return
					}
				}
			}))
	case "continue":
		id, err = c.Continue(ctx, a.Task)
	case "retry":
		id, err = c.RetryFailed(ctx, a.Task)
	default:
		err = fmt.Errorf("there is no call %q", a.Call)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(answer{id, time.Since(began), peakMB(os.Getpid())})
}

// work runs a worker until SIGTERM, or until its standard input is closed.
func (a *processArgs) work(db *sql.DB) error {
	o, err := oracle.New(oracle.Dialect(a.Dialect), a.Schema)
	if err != nil {
		return err
	}
	x := &executor{o: o, worker: a.Name, on: make(chan struct{})}
	var reg taskkit.Registry
	taskkit.Register(&reg, peopleKind(a.Batch), x)
	w, err := taskkit.NewWorker(context.Background(), db, &reg, taskkit.Config{
		Schema: a.Schema, SystemID: a.Name, Slots: 1, Heartbeat: a.DeadAfter / 10, DeadAfter: a.DeadAfter, BatchTimeout: a.batchTimeout(), Poll: 20 * time.Millisecond, PollListening: 100 * time.Millisecond,
		Backoff: 5 * time.Millisecond, BackoffMax: 50 * time.Millisecond, MaxAttempts: maxAttempts,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ended := make(chan error, 2)
	go func() { ended <- w.Run(ctx) }()
	go func() { ended <- x.listen() }()
	return <-ended
}

// batchTimeout is the longest batch. On SQLite no heartbeat is written meanwhile.
func (a *processArgs) batchTimeout() time.Duration { return a.DeadAfter * 3 / 4 }

// maxAttempts is how often a batch is tried: more often than workers are killed.
const maxAttempts = 1000

// peopleSpec asks for people by their numbers. At each multiple of PauseEvery a batch waits
// for the test; 0: at none. With Ledger, the oracle's ledger is written.
type peopleSpec struct {
	PauseEvery int64   `json:"pause_every"`
	Ledger     bool    `json:"ledger"`
	People     []int64 `json:"people"`
}

type peopleState struct{}

func peopleKind(batch int) *taskkit.Kind[peopleSpec, peopleState, struct{}] {
	return taskkit.NewKind(taskkind.Definition[peopleSpec, peopleState, struct{}]{
		Name: "people", BatchSize: batch, MaxBatchSize: batch,
		Targets: taskkind.TargetsIn("people", func(s *peopleSpec) *[]int64 { return &s.People }),
	})
}

// executor changes the people who are well. It fails those who are ill and skips those
// who are away.
type executor struct {
	o      *oracle.Oracle
	worker string
	on     chan struct{} // the test lets a batch go on
}

// listen lets a batch go on at each line of the standard input, until the test is gone.
func (x *executor) listen() error {
	for in := bufio.NewReader(os.Stdin); ; x.on <- struct{}{} {
		if _, err := in.ReadString('\n'); err != nil {
			return fmt.Errorf("read the standard input: %w", err)
		}
	}
}

// Execute implements [taskkit.Executor].
func (x *executor) Execute(ctx context.Context, b *taskkit.Batch[peopleSpec, peopleState]) (taskkit.Next, error) {
	people, next := taskkit.Take(b, b.Spec.People)
	for r := range runs(people) {
		if err := x.change(ctx, b, r); err != nil {
			return taskkit.More, err
		}
	}
	if n := len(people); n > 0 && b.Spec.PauseEvery > 0 && people[n-1]/b.Spec.PauseEvery > (people[0]-1)/b.Spec.PauseEvery {
		fmt.Println(people[n-1] / b.Spec.PauseEvery)
		select {
		case <-x.on:
		case <-ctx.Done():
			return taskkit.More, context.Cause(ctx)
		}
	}
	return next, nil
}

// change processes people whose numbers follow each other.
func (x *executor) change(ctx context.Context, b *taskkit.Batch[peopleSpec, peopleState], r oracle.Range) error {
	if b.Spec.Ledger {
		if err := x.o.Touch(ctx, b.Tx, b.Task.String(), x.worker, r); err != nil {
			return err
		}
	}
	if _, err := b.Tx.ExecContext(ctx, "UPDATE person SET changed = changed + 1 WHERE id >= $1 AND id < $2 AND health = 'well'", r.First, r.Past); err != nil {
		return err
	}
	rows, err := b.Tx.QueryContext(ctx, "SELECT id, health FROM person WHERE id >= $1 AND id < $2 AND health <> 'well' ORDER BY id", r.First, r.Past)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var (
			id     int64
			health string
		)
		if err := rows.Scan(&id, &health); err != nil {
			return err
		}
		if health == ill {
			b.Fail(id, taskkit.Permanent("ill", errors.New("this person is ill")))
		} else {
			b.Skip(id, "away")
		}
	}
	return rows.Err()
}

// runs yields the ranges of numbers that follow each other.
func runs(numbers []int64) func(func(oracle.Range) bool) {
	return func(yield func(oracle.Range) bool) {
		for i := 0; i < len(numbers); {
			r := oracle.Range{First: numbers[i], Past: numbers[i]}
			for i < len(numbers) && numbers[i] == r.Past {
				r.Past++
				i++
			}
			if !yield(r) {
				return
			}
		}
	}
}

// peakMB is the most memory that a process has had resident, in MB; 0 where it is not
// known. The kernel counts it from the process's exec on, unlike getrusage.
func peakMB(pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kb float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kb); err == nil {
			return kb / 1000
		}
	}
	return 0
}
