package tasktest

import (
	"context"
	"database/sql"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "modernc.org/sqlite" // the database in memory

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/taskkit"
)

// deadline bounds one run. An executor under test that takes longer hangs.
const deadline = 2 * time.Minute

// Outcome is a task that has ended, with its spec, state and result.
type Outcome[Spec, State, Result any] struct {
	*taskkit.Typed[Spec, State, Result]
	Failed   []taskkit.Item    // items that failed, at most the first 1,000
	Skipped  []taskkit.Item    // items that were skipped, at most the first 1,000
	Attempts []taskkit.Attempt // failed attempts, newest first, at most 1,000
	Client   *taskkit.Client
	DB       *sql.DB
}

// An Option is an option of [Run]. Only this package implements it.
type Option interface{ apply(o *options) }

type option func(*options)

func (f option) apply(o *options) { f(o) }

type options struct {
	db      *sql.DB
	limit   int
	submit  []taskkit.SubmitOption
	context func(ctx context.Context, owner, runAs uuid.UUID) (context.Context, error)
	tries   int
	fail    bool // the first attempt of every batch
}

// WithDB runs the task on a database of the test's own, which must be migrated and
// have no other worker. Defaults to a fresh SQLite database in memory.
func WithDB(db *sql.DB) Option { return option(func(o *options) { o.db = db }) }

// WithSubmitOptions passes options to Submit. Without an owner among them the task
// is submitted with [taskkit.System].
func WithSubmitOptions(opts ...taskkit.SubmitOption) Option {
	return option(func(o *options) { o.submit = append(o.submit, opts...) })
}

// WithContext sets the function that is Config.Context of a worker.
func WithContext(f func(ctx context.Context, owner, runAs uuid.UUID) (context.Context, error)) Option {
	return option(func(o *options) { o.context = f })
}

// WithMaxAttempts sets Config.MaxAttempts of the worker. Defaults to 3. Retries
// follow at once.
func WithMaxAttempts(n int) Option { return option(func(o *options) { o.tries = n }) }

// A LimitOption is an option of [Run] and of [NewBatch]. See [WithLimit].
type LimitOption struct{ limit int }

// WithLimit fixes b.Limit. Defaults to the kind's batch size.
func WithLimit(n int) LimitOption { return LimitOption{n} }

func (l LimitOption) apply(o *options) { o.limit = l.limit }

func (l LimitOption) applyBatch(o *batchOptions) { o.limit = l.limit }

// Run submits a task, runs it to its end and returns the outcome. It fails the test
// when the task does not end. Deferred items are tried again at once, as often as the
// kind allows.
func Run[Spec, State, Result any](tb testing.TB, k *taskkit.Kind[Spec, State, Result], x taskkit.Executor[Spec, State], spec Spec, opts ...Option) *Outcome[Spec, State, Result] {
	tb.Helper()
	o := options{tries: 3}
	for _, f := range opts {
		f.apply(&o)
	}
	if o.db == nil {
		o.db = Open(tb)
	}
	h := &harness[Spec, State, Result]{
		tb: tb, db: o.db, kind: k, options: o,
		newExecutor: func() taskkit.Executor[Spec, State] { return x },
	}
	return h.run(spec, faults{})
}

// Open returns a fresh, migrated SQLite database in memory. The end of the test closes it.
func Open(tb testing.TB) *sql.DB {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:/"+uuid.NewString()+"?vfs=memdb&_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)")
	if err != nil {
		tb.Fatalf("open SQLite in memory: %v", err)
	}
	// The database exists as long as a connection to it.
	db.SetMaxIdleConns(4)
	db.SetConnMaxLifetime(0)
	keep, err := db.Conn(tb.Context())
	if err != nil {
		tb.Fatalf("open SQLite in memory: %v", err)
	}
	tb.Cleanup(func() {
		_ = keep.Close()
		_ = db.Close()
	})
	if err := taskkit.Migrate(tb.Context(), db, taskkit.DefaultSchema); err != nil {
		tb.Fatalf("migrate: %v", err)
	}
	return db
}

// harness is one task under test.
type harness[Spec, State, Result any] struct {
	tb   testing.TB
	db   *sql.DB
	kind *taskkit.Kind[Spec, State, Result]
	// newExecutor makes the executor of one worker.
	newExecutor func() taskkit.Executor[Spec, State]
	options
}

// run submits the task and runs workers over a store with faults until the task
// has ended.
func (h *harness[Spec, State, Result]) run(spec Spec, f faults) *Outcome[Spec, State, Result] {
	h.tb.Helper()
	ctx, cancel := context.WithTimeout(h.tb.Context(), deadline)
	defer cancel()
	opts := append([]taskkit.SubmitOption{taskkit.System()}, h.submit...)
	id, err := taskkit.Submit(ctx, h.db, h.kind, spec, opts...)
	if err != nil {
		h.tb.Fatalf("submit: %v", err)
	}
	client := taskkit.NewClient(h.db)
	s, err := dbstore.Open(ctx, h.db, taskkit.DefaultSchema, dbstore.Options{})
	if err != nil {
		h.tb.Fatalf("open store: %v", err)
	}
	faulty := &faultyStore{Store: s, faults: f, client: client, task: id, guard: progressGuard{maxBatches: f.maxBatches}}
	for {
		t, err := client.Task(ctx, id)
		if err != nil {
			h.tb.Fatalf("read task: %v", err)
		}
		if t.Ended() {
			break
		}
		h.work(ctx, faulty, client, id)
		if err := faulty.stuck(); err != nil {
			h.tb.Fatal(err)
		}
		if ctx.Err() != nil {
			why, _ := client.Explain(h.tb.Context(), id)
			h.tb.Fatalf("the task has not ended after %v: %s", deadline, why)
		}
	}
	return h.outcome(ctx, client, id)
}

// work runs one worker until it has crashed or the task has ended.
func (h *harness[Spec, State, Result]) work(ctx context.Context, s *faultyStore, client *taskkit.Client, id taskkit.ID) {
	h.tb.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.crash = cancel

	var reg taskkit.Registry
	x := &received[Spec, State]{Executor: h.newExecutor()}
	taskkit.Register(&reg, h.kind, x)
	if err := reg.Err(); err != nil {
		h.tb.Fatalf("register: %v", err)
	}
	if h.limit > 0 {
		x.kind.Limit = h.limit
	}
	if h.fail {
		x.kind.Open = openFailing(x.kind)
	}
	x.kind.DeferDelays = slices.Repeat([]time.Duration{time.Millisecond}, len(x.kind.DeferDelays))
	s.divided = x.kind.Children && x.kind.FindsTargets
	t, err := client.Task(ctx, id)
	if err != nil {
		h.tb.Fatalf("read task: %v", err)
	}
	w := engine.New(s, map[string]*session.Kind{t.Kind: x.kind}, engine.Config{
		Config: session.Config{
			BatchTimeout: 30 * time.Second, BatchTarget: time.Second, FixedLimit: true, Quantum: time.Hour,
			Heartbeat: 10 * time.Second, Call: 10 * time.Second, LockTimeout: 5 * time.Second,
			MaxAttempts: h.tries, Backoff: classify.Backoff{Base: time.Millisecond, Cap: time.Millisecond},
			Identity: h.context,
		},
		System: "tasktest", Version: taskkit.Version, Queues: []string{t.Queue}, Slots: 1,
		Drain: 2 * time.Second, DeadAfter: time.Minute, Poll: 5 * time.Millisecond,
		PollListening: 5 * time.Millisecond, SpecMax: 8 << 10, Log: logger(h.tb),
	})
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	_, _ = client.Wait(ctx, id, nil) // a crash ends it too
	cancel()
	if err := <-done; err != nil {
		h.tb.Fatalf("worker: %v", err)
	}
}

func (h *harness[Spec, State, Result]) outcome(ctx context.Context, client *taskkit.Client, id taskkit.ID) *Outcome[Spec, State, Result] {
	h.tb.Helper()
	t, err := taskkit.Get(ctx, client, h.kind, id)
	if err != nil {
		h.tb.Fatalf("read task: %v", err)
	}
	items := func(outcome taskkit.Outcome) (items []taskkit.Item) {
		for i, err := range client.Items(ctx, id, outcome) {
			if err != nil {
				h.tb.Fatalf("read %s items: %v", outcome, err)
			}
			if items = append(items, i); len(items) == 1000 {
				break
			}
		}
		return items
	}
	attempts, err := client.Attempts(ctx, id, 1000)
	if err != nil {
		h.tb.Fatalf("read attempts: %v", err)
	}
	return &Outcome[Spec, State, Result]{
		Typed: t, Failed: items(taskkit.OutcomeFailed), Skipped: items(taskkit.OutcomeSkipped),
		Attempts: attempts, Client: client, DB: h.db,
	}
}

// logger writes the log of the runtime to the log of the test.
func logger(tb testing.TB) *slog.Logger {
	tb.Helper()
	return slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
}
