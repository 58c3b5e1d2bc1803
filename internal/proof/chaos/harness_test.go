package chaos_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// workerEnv makes the test binary a worker process: its value is a workerArgs.
const workerEnv = "TASKKIT_CHAOS_WORKER"

// workerArgs says what a worker process is to be.
type workerArgs struct {
	Dialect   dialect.Name
	DSN       string
	Schema    string
	Name      string
	Slots     int
	Heartbeat time.Duration
	DeadAfter time.Duration
	MaxConns  int
	Call      time.Duration // 0: the default
	Batch     time.Duration // 0: batchTimeout
	ListenDSN string
	// Logs is a directory for the worker's log, from warnings on. "" for none.
	Logs string
	// Other: it knows another kind than the one that is tested.
	Other bool
	// Items: it also knows the kind of lots.
	Items bool
	// Parents: it also knows the kinds of tasks that have children.
	Parents bool
	// Defaults: all settings but Slots and ListenDSN are defaults.
	Defaults bool
}

func TestMain(m *testing.M) {
	if raw := os.Getenv(workerEnv); raw != "" {
		if err := workerProcess(raw); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// toxiproxy's: a pipe whose neighbour has ended while a toxic was put in or
	// taken out waits for it for ever.
	testdb.LeakMain(m, goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"))
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
	driver := "sqlite"
	if a.Dialect == dialect.Postgres {
		driver = "pgx"
	}
	db, err := sql.Open(driver, a.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	testdb.SetConns(db, a.MaxConns)
	o, err := oracle.New(oracle.Dialect(a.Dialect), a.Schema)
	if err != nil {
		return err
	}
	var reg taskkit.Registry
	taskkit.Register(&reg, kindOf(a.Other), &walker{o: o, worker: a.Name})
	if a.Items {
		taskkit.Register(&reg, lots, &lotWorker{o: o, worker: a.Name})
	}
	if a.Parents {
		taskkit.Register(&reg, families, &familyWorker{})
		taskkit.Register(&reg, divided, divider{o, a.Name})
		taskkit.Register(&reg, composites, compositor{})
	}
	logger := slog.New(slog.DiscardHandler)
	if a.Logs != "" {
		file, err := os.Create(filepath.Join(a.Logs, a.Name+".log"))
		if err != nil {
			return err
		}
		defer file.Close()
		logger = slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	config := taskkit.Config{
		Schema: a.Schema, SystemID: a.Name, Slots: a.Slots,
		Heartbeat: a.Heartbeat, DeadAfter: a.DeadAfter, BatchTimeout: a.batch(),
		Poll: 50 * time.Millisecond, PollListening: time.Second,
		Backoff: 5 * time.Millisecond, BackoffMax: 50 * time.Millisecond, MaxAttempts: 1000,
		CallTimeout: a.Call, ListenDSN: a.ListenDSN, Drain: drain, Logger: logger,
	}
	if a.Defaults {
		config = taskkit.Config{Schema: a.Schema, SystemID: a.Name, Slots: a.Slots, ListenDSN: a.ListenDSN, Logger: logger}
	}
	w, err := taskkit.NewWorker(ctx, db, &reg, config)
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// batchTimeout is the longest batch, and so the longest time that a request may
// have to wait for a batch boundary.
const batchTimeout = time.Second

// batch is the longest batch of these workers.
func (a *workerArgs) batch() time.Duration { return cmp.Or(a.Batch, batchTimeout) }

// drain is how long a worker may take to leave.
const drain = 5 * time.Second

// walk asks for items from From on, a batch each so many milliseconds. A batch has one
// item, or up to three of the frozen set that the task has if Frozen.
type walk struct {
	From    int64   `json:"from"`
	Items   int64   `json:"items"`
	Delay   int64   `json:"delay"`
	Frozen  bool    `json:"frozen"`
	Targets []int64 `json:"targets"`
	// Declares: it declares its set to the oracle itself, in its first batch. Breaks: some batches of it
	// fail permanently. Neither is for one with a frozen set.
	Declares bool `json:"declares"`
	Breaks   bool `json:"breaks"`
}

// options returns the options of a submission of the walk. Every second one is over a frozen set.
func (w *walk) options(schema string) []taskkit.SubmitOption {
	opts := []taskkit.SubmitOption{taskkit.WithSchema(schema), taskkit.System()}
	if w.Frozen = w.From/w.Items%2 == 1; w.Frozen {
		opts = append(opts, taskkit.WithTargets(func(yield func(int64) bool) {
			for at := w.From; at < w.From+w.Items && yield(at); {
				at++
			}
		}))
	}
	return opts
}

// walked is how far it is.
type walked struct {
	Next int64 `json:"next"`
}

// kindOf is the kind of the tests, or another one.
func kindOf(other bool) *taskkit.Kind[walk, walked, struct{}] {
	name := "walk"
	if other {
		name = "other"
	}
	return taskkit.NewKind(taskkind.Definition[walk, walked, struct{}]{
		Name: name, BatchSize: 1, MaxBatchSize: 3,
		Targets: taskkind.TargetsIn("targets", func(w *walk) *[]int64 { return &w.Targets }),
	})
}

// walker processes items. In a frozen set some fail and some are skipped.
type walker struct {
	o      *oracle.Oracle
	worker string
}

// Execute implements [taskkit.Executor].
func (w *walker) Execute(ctx context.Context, b *taskkit.Batch[walk, walked]) (taskkit.Next, error) {
	if err := takeTime(ctx, b.Spec.Delay); err != nil {
		return taskkit.More, err
	}
	if b.Spec.Frozen {
		return w.take(ctx, b)
	}
	if b.Spec.Declares && b.State.Next == 0 {
		if err := w.o.Declare(ctx, b.Tx, b.Task.String(), oracle.Range{First: b.Spec.From, Past: b.Spec.From + b.Spec.Items}); err != nil {
			return taskkit.More, err
		}
	}
	if b.Spec.Breaks && breaks() {
		return taskkit.More, taskkit.Permanent(codeBroken, errBroken)
	}
	at := b.Spec.From + b.State.Next
	if err := w.o.Touch(ctx, b.Tx, b.Task.String(), w.worker, oracle.Range{First: at, Past: at + 1}); err != nil {
		return taskkit.More, err
	}
	b.Advance(1)
	if b.State.Next++; b.State.Next < b.Spec.Items {
		return taskkit.More, nil
	}
	return taskkit.Done, nil
}

// breaks says whether a batch fails: one of 80.
func breaks() bool { return rand.IntN(80) == 0 }

// take processes the next items of a frozen set.
func (w *walker) take(ctx context.Context, b *taskkit.Batch[walk, walked]) (taskkit.Next, error) {
	items, next := taskkit.Take(b, b.Spec.Targets)
	for _, at := range items {
		if err := w.o.Touch(ctx, b.Tx, b.Task.String(), w.worker, oracle.Range{First: at, Past: at + 1}); err != nil {
			return taskkit.More, err
		}
		switch at % 5 {
		case 1:
			b.Fail(at, errors.New("an item that never works"))
		case 3:
			b.Skip(at, "nothing_to_do")
		}
	}
	return next, nil
}

// Abort implements [taskkit.Aborter]: so a worker must be there for the end.
func (w *walker) Abort(context.Context, *taskkit.Batch[walk, walked]) error { return nil }

// harness is the worker processes of a test, over a database with the oracle.
type harness struct {
	*testing.T
	db     *testdb.DB
	o      *oracle.Oracle
	args   workerArgs
	client *taskkit.Client
	// long: the long form, which runs alone. A machine that runs other tests too is
	// no measure of time.
	long bool

	mu       sync.Mutex
	launched int
	next     int64 // the first entity that no task has
}

// newHarness migrates a database and installs the oracle.
func newHarness(t *testing.T, db *testdb.DB) *harness {
	t.Helper()
	schema := db.Schema
	if schema == "" {
		schema = taskkit.DefaultSchema
	}
	if err := taskkit.Migrate(t.Context(), db.DB, schema); err != nil {
		t.Fatal(err)
	}
	o, err := oracle.New(oracle.Dialect(db.Dialect), schema)
	if err == nil {
		err = o.Install(t.Context(), db)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, long := prove.Budget(t)
	return &harness{
		T: t, db: db, o: o, long: long, client: taskkit.NewClient(db.DB, taskkit.WithSchema(schema)),
		args: workerArgs{
			Dialect: db.Dialect, DSN: db.DSN, Schema: schema, Slots: 1,
			Heartbeat: 500 * time.Millisecond, DeadAfter: 3 * time.Second, MaxConns: 4,
		},
	}
}

// worker is a worker process.
type worker struct {
	*exec.Cmd
	name string
	gone chan struct{}
}

// launch starts a worker process. It is killed when the test ends.
func (f *harness) launch(change ...func(*workerArgs)) *worker {
	f.Helper()
	f.mu.Lock()
	f.launched++
	a := f.args
	a.Name = fmt.Sprintf("w%d", f.launched)
	f.mu.Unlock()
	for _, c := range change {
		c(&a)
	}
	raw, err := json.Marshal(a)
	if err != nil {
		f.Fatal(err)
	}
	w := &worker{Cmd: exec.Command(os.Args[0], "-test.run=^$"), name: a.Name, gone: make(chan struct{})} //nolint:gosec // it is this test
	w.Env = append(os.Environ(), workerEnv+"="+string(raw))
	w.Stderr = f.Output()
	stdin, err := w.StdinPipe()
	if err == nil {
		err = w.Start()
	}
	if err != nil {
		f.Fatalf("start a worker process: %v", err)
	}
	go func() { _ = w.Wait(); close(w.gone) }()
	f.Cleanup(func() {
		_ = stdin.Close()
		_ = w.Process.Kill()
		<-w.gone
	})
	return w
}

// submit submits a task and declares its set to the oracle, in one transaction.
func (f *harness) submit(items int64, delay time.Duration) taskkit.ID {
	f.Helper()
	f.mu.Lock()
	from := f.next
	f.next += items
	f.mu.Unlock()
	tx, err := f.db.BeginTx(f.Context(), nil)
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	spec := walk{From: from, Items: items, Delay: delay.Milliseconds()}
	opts := spec.options(f.args.Schema)
	id, err := taskkit.Submit(f.Context(), tx, kindOf(false), spec, opts...)
	if err == nil {
		err = f.o.Declare(f.Context(), tx, id.String(), oracle.Range{First: from, Past: from + items})
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		f.Fatalf("submit: %v", err)
	}
	return id
}

// until polls a condition on the database; what it waits for has no signal.
func (f *harness) until(what string, ok func() bool) {
	f.Helper()
	within := testdb.Patience(f.T)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(within)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			f.Fatalf("still not so after %v: %s", within, what)
		}
	}
}

// within returns whether a test has done so many things that it is over: as many as the short form does,
// and in the long form as many as there is time for, up to most.
func (f *harness) within(short, most int) func(done int) bool {
	budget, long := prove.Budget(f.T)
	end := time.Now().Add(budget)
	return func(done int) bool {
		return done >= most || done >= short && (!long || time.Now().After(end))
	}
}

// task reads a task.
func (f *harness) task(id taskkit.ID) *taskkit.Task {
	f.Helper()
	t, err := f.client.Task(f.Context(), id)
	if err != nil {
		f.Fatal(err)
	}
	return t
}

// check asks the oracle, and fails the test for each violation.
func (f *harness) check(p oracle.Options) *oracle.Report {
	f.Helper()
	p.MaxAttempts, p.BatchTimeout = 1000, f.args.batch()
	if !f.long {
		p.Slack = time.Minute
	}
	r, err := f.o.Check(f.Context(), f.db.DB, p)
	if err != nil {
		f.Fatal(err)
	}
	for _, v := range r.Violations {
		f.Error(v)
	}
	return r
}

// quantile is that part of sorted times which is not longer.
func quantile(times []time.Duration, part float64) time.Duration {
	slices.Sort(times)
	return times[min(int(part*float64(len(times))), len(times)-1)]
}
