package oracle_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// A life that keeps every promise is no violation.
func TestPlayedLifeIsClean(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		w := newEnv(t, db)
		w.whole()
		opts := played
		opts.Ended = true
		r := check(t, db, w.o, opts)
		for _, v := range r.Violations {
			t.Error(v)
		}
		if c := r.Counts; c.Tasks != 1 || c.Completed != 1 || c.Touches != size || c.Batches != 2 || c.Claims != 2 || c.Changes != 8 {
			t.Errorf("read %+v", c)
		}
	})
}

// At the end of a run every task must have ended, or be paused.
func TestTasksLeftAtTheEnd(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		w := newEnv(t, db)
		w.whole()
		w.submit().set("control = 'PAUSE'")
		waiting, held := w.submit(), w.submit().set(claim)
		if r := check(t, db, w.o, oracle.Options{}); !r.OK() {
			t.Errorf("during a run: %v", r.Violations)
		}
		left := make(map[string]bool)
		for _, v := range check(t, db, w.o, oracle.Options{Ended: true}).Violations {
			if v.Invariant != "I7" {
				t.Errorf("found %v", v)
			}
			left[v.Task] = true
		}
		if len(left) != 2 || !left[waiting.id] || !left[held.id] {
			t.Errorf("found %v, want %s and %s", left, waiting.id, held.id)
		}
	})
}

// workSpec asks for so many entities from one on. What it is to suffer is in
// Trouble: "transient" at first, "permanent", or "hold" until the test says so.
type workSpec struct {
	From    int64  `json:"from"`
	Items   int64  `json:"items"`
	Trouble string `json:"trouble"`
}

type workState struct {
	Next int64 `json:"next"`
}

func workKind() *taskkit.Kind[workSpec, workState, struct{}] {
	return taskkit.NewKind(taskkind.Definition[workSpec, workState, struct{}]{
		Name: "work", BatchSize: 20,
	})
}

// toucher is the executor under test: it touches its entities in rising order.
type toucher struct {
	o      *oracle.Oracle
	worker string
	held   chan taskkit.ID // told of a task that holds
	goOn   chan struct{}
	// stubborn: it takes up to so long before its first statement, and goes on
	// whatever its context says. A worker that is stopped meanwhile comes back
	// into the middle of a batch that may be another's by then.
	stubborn time.Duration
}

func (x *toucher) Execute(ctx context.Context, b *taskkit.Batch[workSpec, workState]) (taskkit.Next, error) {
	n := min(int64(b.Limit), b.Spec.Items-b.State.Next)
	from := b.Spec.From + b.State.Next
	if b.Spec.Trouble == "hold" && b.State.Next == 0 {
		select {
		case x.held <- b.Task:
		case <-ctx.Done():
			return taskkit.More, ctx.Err()
		}
		select {
		case <-x.goOn:
		case <-ctx.Done():
			return taskkit.More, ctx.Err()
		}
	}
	if x.stubborn > 0 {
		wait(rand.N(x.stubborn))
		ctx = context.WithoutCancel(ctx)
	}
	if err := x.o.Touch(ctx, b.Tx, b.Task.String(), x.worker, oracle.Range{First: from, Past: from + n}); err != nil {
		return taskkit.More, err
	}
	if b.State.Next > 0 {
		switch {
		case b.Spec.Trouble == "transient" && b.Attempt == 1 && b.State.Next <= 60:
			return taskkit.More, taskkit.Transient(errors.New("planned"))
		case b.Spec.Trouble == "permanent":
			return taskkit.More, taskkit.Permanent("planned", errors.New("planned"))
		}
	}
	b.Total(int(b.Spec.Items))
	b.Advance(int(n))
	if b.State.Next += n; b.State.Next == b.Spec.Items {
		return taskkit.Done, nil
	}
	return taskkit.More, nil
}

// batchTimeout is generous: a busy machine must not end a batch.
const batchTimeout = 40 * time.Second

// run is a small run of real workers and clients under the oracle.
type run struct {
	*testing.T
	db     *testdb.DB
	o      *oracle.Oracle
	schema string
	kind   *taskkit.Kind[workSpec, workState, struct{}]
	x      *toucher
	log    *oracle.Log
	client *taskkit.Client
	next   int64
	keys   int
}

// submit submits as a client does that may die at any moment.
func (r *run) submit(items int64, trouble string, opts ...taskkit.SubmitOption) taskkit.ID {
	r.Helper()
	r.keys++
	key := fmt.Sprintf("key-%d", r.keys)
	spec := workSpec{From: r.next, Items: items, Trouble: trouble}
	r.next += items
	call, err := r.log.Submit(oracle.Submission{Kind: "work", Key: key, Set: []oracle.Range{{First: spec.From, Past: r.next}}})
	if err != nil {
		r.Fatal(err)
	}
	opts = append([]taskkit.SubmitOption{taskkit.System(), taskkit.WithSchema(r.schema), taskkit.WithIdempotencyKey(key)}, opts...)
	id, err := taskkit.Submit(r.Context(), r.db, r.kind, spec, opts...)
	if err != nil {
		r.Fatal(err)
	}
	if err := call.OK(id.String()); err != nil {
		r.Fatal(err)
	}
	return id
}

// request makes a request that must succeed.
func (r *run) request(action string, id taskkit.ID, f func(context.Context, taskkit.ID, ...taskkit.RequestOption) (*taskkit.Task, error)) {
	r.Helper()
	call, err := r.log.Control(action, id.String())
	if err != nil {
		r.Fatal(err)
	}
	if _, err := f(r.Context(), id); err != nil {
		r.Fatalf("%s: %v", action, err)
	}
	if err := call.OK(id.String()); err != nil {
		r.Fatal(err)
	}
}

// work runs a worker until the test or leave ends it.
func (r *run) work(name string) (drain func()) {
	r.Helper()
	var reg taskkit.Registry
	x := *r.x
	x.worker = name
	taskkit.Register(&reg, r.kind, &x)
	w, err := taskkit.NewWorker(context.Background(), r.db.DB, &reg, taskkit.Config{
		Schema: r.schema, SystemID: name, Slots: 4,
		Heartbeat: time.Second, DeadAfter: time.Minute, BatchTimeout: batchTimeout,
		Poll: 20 * time.Millisecond, PollListening: 200 * time.Millisecond,
		Backoff: 5 * time.Millisecond, BackoffMax: 20 * time.Millisecond, MaxAttempts: 3, Drain: 20 * time.Second,
		Logger: slog.New(slog.NewTextHandler(r.Output(), nil)),
	})
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	left := false
	drain = func() {
		if left {
			return
		}
		left = true
		call, err := r.log.Drain()
		if err != nil {
			r.Error(err)
			return
		}
		cancel()
		if err := <-done; err != nil {
			r.Errorf("worker %s: %v", name, err)
		}
		if err := call.OK(""); err != nil {
			r.Error(err)
		}
	}
	r.Cleanup(drain)
	return drain
}

// ended waits for a task's end.
func (r *run) ended(id taskkit.ID) {
	r.Helper()
	if _, err := r.client.Wait(testdb.Within(r.T), id, nil); err != nil {
		r.Fatalf("wait for task %s: %v", id, err)
	}
}

// A real run, with everything that may happen to a task but faults, breaks no
// promise, and the oracle has seen it all.
func TestRealRunIsClean(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		o, schema := watched(t, db)
		dir := t.TempDir()
		log, err := oracle.OpenLog(dir, "client")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() }) // after the workers have left
		r := &run{
			T: t, db: db, o: o, schema: schema, kind: workKind(), log: log,
			x:      &toucher{o: o, held: make(chan taskkit.ID), goOn: make(chan struct{})},
			client: taskkit.NewClient(db, taskkit.WithSchema(schema)),
		}
		r.request("stop", r.submit(30, ""), r.client.Stop)
		r.request("delete", r.submit(30, ""), r.client.Delete)
		paused := r.submit(30, "")
		r.request("pause", paused, r.client.Pause)
		drain := r.work("one")
		r.work("two")

		var ids []taskkit.ID
		for i := range 12 {
			ids = append(ids, r.submit(int64(50+10*i), []string{"", "transient", ""}[i%3]))
		}
		failed := r.submit(100, "permanent")
		for _, action := range []struct {
			name string
			do   func(context.Context, taskkit.ID, ...taskkit.RequestOption) (*taskkit.Task, error)
		}{{"stop", r.client.Stop}, {"delete", r.client.Delete}, {"", nil}} {
			id := r.submit(100, "hold", taskkit.WithUniqueKey("one of a kind"))
			<-r.x.held
			r.duplicate()
			if action.do != nil {
				r.request(action.name, id, action.do)
			}
			r.x.goOn <- struct{}{}
			r.gone(id)
		}
		drain()
		r.request("resume", paused, r.client.Resume)
		r.ended(failed)
		r.request("retry", failed, r.client.Retry)
		for _, id := range append(ids, paused, failed) {
			r.ended(id)
		}

		report := check(t, db, o, oracle.Options{
			Logs: dir, Ended: true, MaxAttempts: 3, BatchTimeout: batchTimeout, Grace: time.Minute, Slack: time.Minute,
		})
		if err := report.Print(t.Output()); err != nil {
			t.Error(err)
		}
		for _, v := range report.Violations {
			t.Error(v)
		}
		c := report.Counts
		if c.Tasks != 19 || c.Sets != 19 || c.Deleted != 2 || c.Stopped != 2 || c.Failed != 1 || c.Completed != 16 || c.Retries != 1 ||
			c.Submits != 22 || c.Acknowledged != 19 || c.Duplicates != 3 || c.Asked != 7 || c.Stops < 2 || c.Batches < 40 {
			t.Errorf("read %+v", c)
		}
	})
}

// duplicate submits what is refused because its unique key is taken.
func (r *run) duplicate() {
	r.Helper()
	call, err := r.log.Submit(oracle.Submission{Kind: "work", UniqueKey: "one of a kind"})
	if err != nil {
		r.Fatal(err)
	}
	_, err = taskkit.Submit(r.Context(), r.db, r.kind, workSpec{}, taskkit.WithSchema(r.schema), taskkit.WithUniqueKey("one of a kind"), taskkit.System())
	if _, is := errors.AsType[*taskkit.DuplicateError](err); !is {
		r.Fatalf("submit with a key that is taken: %v", err)
	}
	if err := call.Duplicate(); err != nil {
		r.Fatal(err)
	}
}

// gone waits until a task has ended or is not there any more.
func (r *run) gone(id taskkit.ID) {
	r.Helper()
	if _, err := r.client.Wait(testdb.Within(r.T), id, nil); err != nil && !errors.Is(err, taskkit.ErrNotFound) {
		r.Fatalf("wait for task %s: %v", id, err)
	}
}
