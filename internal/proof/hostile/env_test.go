package hostile_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// spec asks for items entities from one on, and for a case in the second batch.
type spec struct {
	From  int64  `json:"from"`
	Items int64  `json:"items"`
	Case  string `json:"case"`
}

type state struct {
	Next int64   `json:"next"`
	Text string  `json:"text"`
	Odd  float64 `json:"odd"`
}

type batch = taskkit.Batch[spec, state]

const (
	items       = 40
	limit       = 10
	maxAttempts = 100
	// A busy machine must not end the batches of healthy tasks.
	batchTimeout = 40 * time.Second
	// abandonAfter is the time of a batch where the case is that it passes.
	abandonAfter = 2 * time.Second
)

// Tasks of abandonedKind run on workers of their own, whose batches take at most
// abandonAfter.
var (
	kind          = newKind("hostile")
	abandonedKind = newKind("abandoned")
)

func newKind(name string) *taskkit.Kind[spec, state, struct{}] {
	return taskkit.NewKind(taskkind.Definition[spec, state, struct{}]{Name: name, BatchSize: limit})
}

// env is a database under the oracle.
type env struct {
	*testing.T
	db     *testdb.DB
	schema string
	o      *oracle.Oracle
	client *taskkit.Client
	next   int64
}

func newEnv(t *testing.T, db *testdb.DB) *env {
	t.Helper()
	w := &env{T: t, db: db, schema: db.Schema}
	if w.schema == "" {
		w.schema = taskkit.DefaultSchema
	}
	if err := taskkit.Migrate(t.Context(), db.DB, w.schema); err != nil {
		t.Fatalf("migrate: %v", err)
	}
	o, err := oracle.New(oracle.Dialect(db.Dialect), w.schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Install(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE late (task text NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	w.o, w.client = o, taskkit.NewClient(db, taskkit.WithSchema(w.schema))
	return w
}

// submit submits a task that runs a case, "" for a healthy one, and declares
// its set.
func (w *env) submit(name string, opts ...taskkit.SubmitOption) taskkit.ID {
	w.Helper()
	set := oracle.Range{First: w.next, Past: w.next + items}
	w.next = set.Past
	tx, err := w.db.BeginTx(w.Context(), nil)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	k := kind
	if cases[name].abandoned {
		k = abandonedKind
	}
	id, err := taskkit.Submit(w.Context(), tx, k, spec{From: set.First, Items: items, Case: name}, append([]taskkit.SubmitOption{taskkit.System(), taskkit.WithSchema(w.schema)}, opts...)...)
	if err == nil {
		err = w.o.Declare(w.Context(), tx, id.String(), set)
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		w.Fatalf("submit %q: %v", name, err)
	}
	return id
}

// system is the name of every worker here.
const system = "w"

// config returns the configuration of every worker in these tests.
func config(log *slog.Logger, schema string) taskkit.Config {
	return taskkit.Config{
		Schema: schema, SystemID: system, Slots: 6,
		Heartbeat: time.Second, DeadAfter: 3 * time.Minute, BatchTimeout: batchTimeout, CallTimeout: time.Minute,
		Poll: 20 * time.Millisecond, PollListening: 200 * time.Millisecond,
		Backoff: 5 * time.Millisecond, BackoffMax: 20 * time.Millisecond, MaxAttempts: maxAttempts, Drain: 20 * time.Second,
		Logger: log,
	}
}

// work runs a worker until the test ends.
func (w *env) work(x taskkit.Executor[spec, state]) {
	w.Helper()
	w.Cleanup(w.start(kind, x, batchTimeout))
}

// start starts a worker for a kind; stop ends it.
func (w *env) start(k *taskkit.Kind[spec, state, struct{}], x taskkit.Executor[spec, state], batch time.Duration) (stop func()) {
	w.Helper()
	var r taskkit.Registry
	taskkit.Register(&r, k, x)
	c := config(slog.New(slog.NewTextHandler(w.Output(), nil)), w.schema)
	c.BatchTimeout = batch
	worker, err := taskkit.NewWorker(context.Background(), w.db.DB, &r, c)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			w.Errorf("worker: %v", err)
		}
	}
}

// ended waits for a task's end.
func (w *env) ended(name string, id taskkit.ID) *taskkit.Task {
	w.Helper()
	t, err := w.client.Wait(testdb.Within(w.T), id, nil)
	if err != nil {
		why, _ := w.client.Explain(w.Context(), id)
		w.Fatalf("wait for %q, task %s: %v (%s)", name, id, err, why)
	}
	return t
}

// check asks the oracle, at the end of the run, and returns what it has read
// and how many violations it has found.
func (w *env) check() (c oracle.Counts, violations int) {
	w.Helper()
	r, err := w.o.Check(context.WithoutCancel(w.Context()), w.db.DB, oracle.Options{
		Ended: true, MaxAttempts: maxAttempts, BatchTimeout: batchTimeout, Slack: 10 * time.Second,
	})
	if err != nil {
		w.Fatal(err)
	}
	for _, v := range r.Violations {
		w.Error(v)
	}
	return r.Counts, len(r.Violations) + r.Unlisted
}

// count asks the database for a number.
func (w *env) count(query string, args ...any) (n int) {
	w.Helper()
	if err := w.db.QueryRowContext(w.Context(), query, args...).Scan(&n); err != nil {
		w.Fatalf("%s: %v", query, err)
	}
	return n
}

// touch touches the next items of a batch and counts them. It takes as many
// whatever b.Limit says, which a busy machine lowers, so that the second batch
// begins where the case is run.
func touch(ctx context.Context, o *oracle.Oracle, b *batch) (taskkit.Next, error) {
	n := min(limit, b.Spec.Items-b.State.Next)
	from := b.Spec.From + b.State.Next
	if err := o.Touch(ctx, b.Tx, b.Task.String(), "w", oracle.Range{First: from, Past: from + n}); err != nil {
		return taskkit.More, err
	}
	b.Total(int(b.Spec.Items))
	b.Advance(int(n))
	if b.State.Next += n; b.State.Next == b.Spec.Items {
		return taskkit.Done, nil
	}
	return taskkit.More, nil
}

// late writes what no commit may keep.
func late(ctx context.Context, tx taskkit.Execer, id taskkit.ID) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO late (task) VALUES ($1)", id.String())
	return err
}

// refused returns an error unless the transaction refuses a statement.
func refused(ctx context.Context, tx taskkit.ExecQuerier, query string) error {
	if _, err := tx.ExecContext(ctx, query); err == nil {
		return taskkit.Permanent("executed", fmt.Errorf("%q", query))
	}
	rows, err := tx.QueryContext(ctx, query)
	if err == nil {
		defer func() { _ = rows.Close() }()
		return taskkit.Permanent("executed", fmt.Errorf("%q as a query: %w", query, rows.Err()))
	}
	return nil
}
