package tasktest

import (
	"context"
	"database/sql"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "modernc.org/sqlite" // the database in memory

	"taskkit.dev/internal/backoff"
	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit"
)

// deadline bounds one run. An executor under test that takes longer hangs.
const deadline = 2 * time.Minute

// Outcome is what became of a task.
type Outcome[Spec, State any] struct {
	*taskkit.TaskOf[Spec, State]
	Failures []taskkit.ItemFailure // at most the first 1,000
	Attempts []taskkit.Attempt     // failed attempts, newest first, at most 1,000
	Client   *taskkit.Client
	DB       *sql.DB
}

// Option changes a [Run].
type Option func(*options)

type options struct {
	db      *sql.DB
	limit   int
	submit  []taskkit.SubmitOption
	context func(ctx context.Context, owner, runAs uuid.UUID) (context.Context, error)
	tries   int
}

// On runs on a database of the test's own, which must be migrated and have no
// other worker. Defaults to a fresh SQLite database in memory.
func On(db *sql.DB) Option { return func(o *options) { o.db = db } }

// Limit fixes b.Limit. Defaults to the kind's own.
func Limit(n int) Option { return func(o *options) { o.limit = n } }

// Submitted passes options to Submit.
func Submitted(opts ...taskkit.SubmitOption) Option {
	return func(o *options) { o.submit = append(o.submit, opts...) }
}

// Context sets what taskkit.Config.Context is.
func Context(f func(ctx context.Context, owner, runAs uuid.UUID) (context.Context, error)) Option {
	return func(o *options) { o.context = f }
}

// MaxAttempts sets taskkit.Config.MaxAttempts. Defaults to 3; retries follow at
// once.
func MaxAttempts(n int) Option { return func(o *options) { o.tries = n } }

// Run submits a task, runs it to its end, and returns what became of it. What
// keeps it from ending fails the test.
func Run[Spec, State any](tb testing.TB, k *taskkit.Kind[Spec, State], x taskkit.Executor[Spec, State], spec Spec, opts ...Option) *Outcome[Spec, State] {
	tb.Helper()
	o := options{tries: 3}
	for _, f := range opts {
		f(&o)
	}
	if o.db == nil {
		o.db = Open(tb)
	}
	r := &rig[Spec, State]{tb: tb, db: o.db, kind: k, x: x, options: o}
	return r.run(spec, faults{})
}

// Open returns a fresh, migrated SQLite database in memory, closed with the
// test.
func Open(tb testing.TB) *sql.DB {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:/"+uuid.NewString()+"?vfs=memdb&_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)")
	if err != nil {
		tb.Fatalf("open SQLite in memory: %v", err)
	}
	// A database in memory is gone with its last connection.
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

// rig is one task under test.
type rig[Spec, State any] struct {
	tb   testing.TB
	db   *sql.DB
	kind *taskkit.Kind[Spec, State]
	x    taskkit.Executor[Spec, State]
	options
}

// run submits the task and runs workers over a store with faults until the task
// has ended.
func (r *rig[Spec, State]) run(spec Spec, f faults) *Outcome[Spec, State] {
	r.tb.Helper()
	ctx, cancel := context.WithTimeout(r.tb.Context(), deadline)
	defer cancel()
	id, err := taskkit.Submit(ctx, r.db, r.kind, spec, r.submit...)
	if err != nil {
		r.tb.Fatalf("submit: %v", err)
	}
	client := taskkit.NewClient(r.db)
	s, err := store.Open(ctx, r.db, taskkit.DefaultSchema)
	if err != nil {
		r.tb.Fatalf("open store: %v", err)
	}
	faulty := &faultyStore{Store: s, faults: f, client: client, task: id}
	for {
		t, err := client.Task(ctx, id)
		if err != nil {
			r.tb.Fatalf("read task: %v", err)
		}
		if t.Ended() {
			break
		}
		r.work(ctx, faulty, client, id)
		if ctx.Err() != nil {
			why, _ := client.Explain(r.tb.Context(), id)
			r.tb.Fatalf("the task has not ended after %v: %s", deadline, why)
		}
	}
	return r.outcome(ctx, client, id)
}

// work runs one worker until it has crashed or the task has ended.
func (r *rig[Spec, State]) work(ctx context.Context, s *faultyStore, client *taskkit.Client, id taskkit.ID) {
	r.tb.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.crash = cancel

	var reg taskkit.Registry
	taskkit.Register(&reg, r.kind, r.x)
	kinds, err := reg.Engine()
	if err != nil {
		r.tb.Fatalf("register: %v", err)
	}
	if r.limit > 0 {
		for _, k := range kinds {
			k.Limit = r.limit
		}
	}
	t, err := client.Task(ctx, id)
	if err != nil {
		r.tb.Fatalf("read task: %v", err)
	}
	w := engine.New(s, kinds, engine.Config{
		System: "tasktest", Version: taskkit.Version, Queues: []string{t.Queue}, Slots: 1,
		BatchTimeout: 30 * time.Second, BatchTarget: time.Second, FixedLimit: true,
		Drain: 2 * time.Second, Quantum: time.Hour,
		Heartbeat: 10 * time.Second, DeadAfter: time.Minute,
		Poll: 5 * time.Millisecond, PollListening: 5 * time.Millisecond, Call: 10 * time.Second, LockTimeout: 5 * time.Second,
		MaxAttempts: r.tries, Backoff: backoff.Policy{Base: time.Millisecond, Cap: time.Millisecond},
		SpecMax: 8 << 10, Identity: r.context, Log: logger(r.tb),
	})
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	_, _ = client.Wait(ctx, id, nil) // ends with a crash as well
	cancel()
	if err := <-done; err != nil {
		r.tb.Fatalf("worker: %v", err)
	}
}

func (r *rig[Spec, State]) outcome(ctx context.Context, client *taskkit.Client, id taskkit.ID) *Outcome[Spec, State] {
	r.tb.Helper()
	t, err := taskkit.Get(ctx, client, r.kind, id)
	if err != nil {
		r.tb.Fatalf("read task: %v", err)
	}
	failures, err := client.Failures(ctx, id, uuid.Nil, 1000)
	if err != nil {
		r.tb.Fatalf("read failures: %v", err)
	}
	attempts, err := client.Attempts(ctx, id, 1000)
	if err != nil {
		r.tb.Fatalf("read attempts: %v", err)
	}
	return &Outcome[Spec, State]{TaskOf: t, Failures: failures, Attempts: attempts, Client: client, DB: r.db}
}

// logger writes the runtime's log to the test's.
func logger(tb testing.TB) *slog.Logger {
	tb.Helper()
	return slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
}
