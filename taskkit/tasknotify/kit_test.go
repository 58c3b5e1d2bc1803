package tasknotify_test

import (
	"context"
	"errors"
	"log/slog"
	"math/big"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/tasknotify"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

// inbox is a target that keeps what it was sent.
type inbox struct {
	mu       sync.Mutex
	messages []tasknotify.Message
	err      func(m *tasknotify.Message) error // nil: none
}

func (x *inbox) Deliver(_ context.Context, m *tasknotify.Message) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.messages = append(x.messages, *m)
	if x.err != nil {
		return x.err(m)
	}
	return nil
}

// of returns what was sent about a task.
func (x *inbox) of(id taskkit.ID) (list []tasknotify.Message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, m := range x.messages {
		if m.Task == id {
			list = append(list, m)
		}
	}
	return list
}

func schemaOf(db *testdb.DB) string {
	if db.Schema == "" {
		return taskkit.DefaultSchema
	}
	return db.Schema
}

func clientOf(db *testdb.DB) *taskkit.Client {
	return taskkit.NewClient(db.DB, taskkit.WithSchema(schemaOf(db)))
}

// started runs a worker with these targets until the test ends.
func started(t *testing.T, db *testdb.DB, targets map[string]tasknotify.Target, register func(r *taskkit.Registry)) {
	t.Helper()
	startedWith(t, db, tasknotify.Config{Targets: targets}, register)
}

func startedWith(t *testing.T, db *testdb.DB, c tasknotify.Config, register func(r *taskkit.Registry)) {
	t.Helper()
	var r taskkit.Registry
	c.DB, c.Schema = db.DB, schemaOf(db)
	if err := tasknotify.Register(&r, c); err != nil {
		t.Fatal(err)
	}
	if register != nil {
		register(&r)
	}
	w, err := taskkit.NewWorker(t.Context(), db.DB, &r, taskkit.Config{
		Schema: schemaOf(db), Slots: 4, SystemID: "test", Heartbeat: time.Second, DeadAfter: time.Minute, BatchTimeout: 40 * time.Second,
		Poll: 20 * time.Millisecond, PollListening: 100 * time.Millisecond, Backoff: 5 * time.Millisecond, BackoffMax: 20 * time.Millisecond, MaxAttempts: 5,
		Drain: 20 * time.Second, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the worker: %v", err)
		}
	})
}

// until polls until a condition holds.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx := testdb.Within(t)
	for !is() {
		select {
		case <-ctx.Done():
			t.Fatalf("it never came to this: %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func task(t *testing.T, db *testdb.DB, id taskkit.ID) *taskkit.Task {
	t.Helper()
	task, err := clientOf(db).Task(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func ended(t *testing.T, db *testdb.DB, id taskkit.ID) *taskkit.Task {
	t.Helper()
	until(t, "task "+id.String()+" has ended", func() bool { return task(t, db, id).Ended() })
	return task(t, db, id)
}

// deliveries returns the tasks that deliver notifications, once all of them have ended.
func deliveries(t *testing.T, db *testdb.DB, of taskkit.ID) (list []*taskkit.Task) {
	t.Helper()
	until(t, "all notifications were delivered", func() bool {
		list = nil
		page, _, err := clientOf(db).Tasks(t.Context(), taskkit.Filter{Kinds: []string{notice.Kind}, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page {
			if d.Follows != of {
				continue
			}
			if !d.Ended() {
				return false
			}
			list = append(list, d)
		}
		return true
	})
	return list
}

// work is the executor of the tests. It processes numbers, of which those that end in 0 fail.
type work struct {
	err  error         // of each batch
	hold chan struct{} // nil: no batch waits
}

type spec struct {
	Numbers []int `json:"numbers"`
}

type state struct {
	Done int `json:"done"`
}

type batch = taskkit.Batch[spec, state]

var errPlanned = errors.New("planned")

func (x *work) Execute(ctx context.Context, b *batch) (taskkit.Next, error) {
	numbers, next := taskkit.Take(b, b.Spec.Numbers)
	if x.hold != nil {
		select {
		case <-x.hold:
		case <-ctx.Done():
			return next, ctx.Err()
		}
	}
	for _, n := range numbers {
		if n%10 == 0 {
			b.Fail(n, taskkit.Permanent("round", errPlanned))
		}
	}
	b.State.Done += len(numbers)
	return next, x.err
}

func below(n int) spec {
	var s spec
	for i := range n {
		s.Numbers = append(s.Numbers, i)
	}
	return s
}

func newKind(name, notify string) *taskkit.Kind[spec, state, struct{}] {
	return taskkit.NewKind(taskkind.Definition[spec, state, struct{}]{
		Name: name, BatchSize: 10, MaxBatchSize: 10, Preview: true, Notify: notify,
		Targets: taskkind.TargetsIn("numbers", func(s *spec) *[]int { return &s.Numbers }),
	})
}

// submitted submits a task of the system.
func submitted(t *testing.T, db *testdb.DB, k *taskkit.Kind[spec, state, struct{}], s spec, opts ...taskkit.SubmitOption) taskkit.ID {
	t.Helper()
	id, err := taskkit.Submit(t.Context(), db.DB, k, s, append([]taskkit.SubmitOption{taskkit.System(), taskkit.WithSchema(schemaOf(db))}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// bucketed finds its numbers in four buckets.
type bucketed struct{ work }

const bucketNumbers = 40

func (*bucketed) Segments(context.Context, *batch) (*segment.Plan, error) {
	return segment.Numeric{To: big.NewInt(bucketNumbers), Count: 4}.Plan()
}

func (x *bucketed) Execute(_ context.Context, b *batch) (taskkit.Next, error) {
	b.Advance(10)
	return taskkit.Done, x.err
}

var bucketKind = taskkit.NewKind(taskkind.Definition[spec, state, struct{}]{Name: "in_buckets", Segments: true, Notify: "ops"})

// staged has two stages, whose kind notifies too.
type staged struct {
	of *taskkit.Kind[spec, state, struct{}]
}

func (x *staged) Stages(_ context.Context, b *batch) ([]taskkit.Stage, error) {
	return []taskkit.Stage{taskkit.NewStage("first", x.of, b.Spec), taskkit.NewStage("second", x.of, b.Spec)}, nil
}

func (*staged) Execute(context.Context, *batch) (taskkit.Next, error) { return taskkit.Done, nil }

var stageKind = taskkit.NewKind(taskkind.Definition[spec, state, struct{}]{Name: "in_stages", Stages: true, Notify: "ops"})

// family has a child, whose kind notifies too.
type family struct {
	of *taskkit.Kind[spec, state, struct{}]
}

func (x *family) Execute(ctx context.Context, b *batch) (taskkit.Next, error) {
	if b.State.Done > 0 {
		return taskkit.Done, nil
	}
	b.State.Done++
	_, err := taskkit.Submit(ctx, b.Tx, x.of, b.Spec, taskkit.WithParent(b.Task))
	return taskkit.AwaitChildren(0, taskkit.FailParent), err
}

var familyKind = taskkit.NewKind(taskkind.Definition[spec, state, struct{}]{Name: "with_child", Children: true, Notify: "ops"})
