package tasktest

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
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
	kinds   []KindOption
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
		newKinds: func() []KindOption { return append([]KindOption{WithKind(k, x)}, o.kinds...) },
	}
	out, _ := h.run(spec, faults{})
	return out
}

// Open returns a fresh, migrated SQLite database in memory. The end of the test closes it.
func Open(tb testing.TB) *sql.DB {
	tb.Helper()
	return open(tb, 10*time.Second)
}

// open opens a database whose connections wait for a lock for so long.
func open(tb testing.TB, busy time.Duration) *sql.DB {
	tb.Helper()
	db, err := sql.Open("sqlite", fmt.Sprintf("file:/%s?vfs=memdb&_txlock=immediate&_pragma=busy_timeout(%d)&_pragma=foreign_keys(1)", uuid.NewString(), busy.Milliseconds()))
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
	// newKinds makes the executors of one worker, the executor under test first.
	newKinds func() []KindOption
	// watch finds writes outside b.Tx, with tables as the snapshot. It may be nil.
	watch  *rollbackWatch
	tables func(ctx context.Context, db *sql.DB) (any, error)
	log    *slog.Logger
	options
}

// run submits the task and runs workers over a store with faults until the task
// has ended. It returns the number of committed batches, also of its children.
func (h *harness[Spec, State, Result]) run(spec Spec, f faults) (out *Outcome[Spec, State, Result], batches int) {
	h.tb.Helper()
	ctx, cancel := context.WithTimeout(h.tb.Context(), deadline)
	defer cancel()
	h.log = runtimeLogger(logger(h.tb))
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
	faulty := &faultyStore{Store: anyQueue{s}, faults: f, client: client, task: id, guard: progressGuard{maxBatches: f.maxBatches}, watch: h.watch}
	if faulty.watch == nil {
		faulty.watch = newRollbackWatch(0)
	}
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
	return h.outcome(ctx, client, id), faulty.guard.batches
}

// work runs one worker until it has crashed or the task has ended.
func (h *harness[Spec, State, Result]) work(ctx context.Context, s *faultyStore, client *taskkit.Client, id taskkit.ID) {
	h.tb.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.crash, s.stopped = cancel, ctx.Done()

	s.kinds = register(h.tb, h.newKinds())
	kind := s.kinds[h.kind.Name()]
	if h.limit > 0 {
		kind.Limit = h.limit
	}
	if h.fail || h.watch != nil {
		for _, k := range s.kinds {
			k.Open = openWatched(k, s, h.fail)
		}
	}
	plan, err := s.Plan(ctx, id)
	if err != nil && ctx.Err() == nil {
		h.tb.Fatalf("read the plan of the task: %v", err)
	}
	s.divided = plan.Frozen.AreParts()
	c := engineConfig(h.log, h.tries)
	c.Identity = h.context
	w := engine.New(s, s.kinds, c)
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = client.Wait(ctx, id, nil) // a crash ends it too
	}()
	h.serve(s.watch, ended)
	cancel()
	if err := <-done; err != nil {
		h.tb.Fatalf("worker: %v", err)
	}
}

// serve makes the snapshots that the watch requests, until the channel is closed.
func (h *harness[Spec, State, Result]) serve(w *rollbackWatch, ended <-chan struct{}) {
	for {
		select {
		case reply := <-w.requests:
			snapshot, err := h.tables(h.tb.Context(), h.db)
			if err != nil {
				snapshot = err
			}
			reply <- snapshot
		case <-ended:
			return
		}
	}
}

// engineConfig returns the configuration of a worker in a test.
func engineConfig(log *slog.Logger, tries int) engine.Config {
	return engine.Config{
		Config: session.Config{
			BatchTimeout: 30 * time.Second, BatchTarget: time.Second, FixedLimit: true, Quantum: time.Hour,
			Heartbeat: 10 * time.Second, Call: 10 * time.Second, LockTimeout: 5 * time.Second,
			MaxAttempts: tries, Backoff: classify.Backoff{Base: time.Millisecond, Cap: time.Millisecond},
		},
		System: "tasktest", Version: taskkit.Version, Queues: []string{"default"}, Slots: 1,
		Drain: 2 * time.Second, DeadAfter: time.Minute, Poll: 5 * time.Millisecond,
		PollListening: 5 * time.Millisecond, SpecMax: 8 << 10, Log: log,
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
