package intake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
)

// order is a consumer of versions of one reference, and what its tasks have done.
type order struct {
	*testing.T
	db       *testdb.DB
	queue    *queue
	consumer *running
	versions bool // submissions have versions
	refuses  bool // the handler refuses version 1
	waits    int  // tasks that wait for their time at the end

	mu      sync.Mutex
	done    []string      // versions that took effect
	blocked chan struct{} // version 1 waits for it, and then fails for now; nil: it does not
	begun   chan struct{} // closed when version 1 begins to wait
}

// Execute implements [taskkit.Executor].
func (o *order) Execute(ctx context.Context, b *taskkit.Batch[statusSpec, struct{}]) (taskkit.Next, error) {
	o.mu.Lock()
	blocked := o.blocked
	if b.Spec.Version == 1 {
		o.blocked = nil
	}
	o.mu.Unlock()
	if b.Spec.Version == 1 && blocked != nil {
		close(o.begun)
		select {
		case <-blocked:
		case <-ctx.Done():
		}
		return taskkit.More, taskkit.Transient(errors.New("not now"))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.done = append(o.done, fmt.Sprint(b.Spec.Version))
	return taskkit.Done, nil
}

func (o *order) effects() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.done, " ")
}

// send sends a version, and waits until it is taken in.
func (o *order) send(version int64, headers map[string]string) {
	o.Helper()
	n := o.consumer.Stats().Received
	o.queue.publish(intake.Message{
		ID: fmt.Sprint("v", version), Body: fmt.Appendf(nil, `{"person":7,"status":"left","version":%d}`, version), Headers: headers,
	})
	o.consumer.until("the message", received(n+1))
}

// work runs a worker while f is called, and until all tasks have ended but those that wait for their time.
func (o *order) work(f func()) {
	o.Helper()
	var r taskkit.Registry
	taskkit.Register(&r, statusKind, o)
	w, err := taskkit.NewWorker(o.Context(), o.db.DB, &r, taskkit.Config{
		Schema: o.db.Schema, Slots: 2, Poll: 10 * time.Millisecond, Backoff: time.Millisecond, Logger: slog.New(slog.NewTextHandler(o.Output(), nil)),
	})
	if err != nil {
		o.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(o.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			o.Error(err)
		}
	}()
	f()
	o.wait("the tasks have ended", func() bool { return o.live() == o.waits })
}

// live returns how many tasks have yet to end.
func (o *order) live() (n int) {
	o.Helper()
	all, _, err := taskkit.NewClient(o.db.DB, taskkit.WithSchema(schemaOf(o.db))).Tasks(o.Context(), taskkit.Filter{})
	if err != nil {
		o.Fatal(err)
	}
	for _, t := range all {
		if t.Status == taskkit.StatusQueued || t.Status == taskkit.StatusScheduling || t.Status == taskkit.StatusExecuting {
			n++
		}
	}
	return n
}

func (o *order) wait(what string, reached func() bool) {
	o.Helper()
	for late := time.After(testdb.Patience(o)); !reached(); {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-late:
			o.Fatalf("it is not so that %s; %q took effect", what, o.effects())
		}
	}
}

// Each line of the table of docs/intake.md about order, with WithCoalescing alone and with WithVersion.
func TestOrder(t *testing.T) {
	t.Parallel()
	none := func() {}
	for name, c := range map[string]struct {
		do            func(o *order)
		without, with string // what takes effect, in its order
		superseded    int64
		waits         int // without versions: tasks that wait for their time
	}{
		"an older one waits": {func(o *order) {
			o.send(1, nil)
			o.send(2, nil)
			o.work(none)
		}, "2", "2", 0, 0},
		"an older one comes later": {func(o *order) {
			o.send(2, nil)
			o.send(1, nil)
			o.work(none)
		}, "1", "2", 1, 0},
		"an older one comes after the task": {func(o *order) {
			o.send(2, nil)
			o.work(none)
			o.send(1, nil)
			o.work(none)
		}, "2 1", "2", 1, 0},
		"an older one is given back": {func(o *order) {
			o.refuses = true
			o.send(1, nil)
			o.send(2, nil)
			o.work(none)
			o.refuses = false
			redrive(o.T, o.db, intake.RefusedFilter{}, intake.Redriven{Messages: 1})
			pollRedriven(o.T, o.consumer)
			o.consumer.until("the message from its row", received(3))
			o.work(none)
		}, "2 1", "2", 1, 0},
		"an older one runs and fails": {func(o *order) {
			o.blocked, o.begun = make(chan struct{}), make(chan struct{})
			blocked := o.blocked
			o.send(1, nil)
			o.work(func() {
				<-o.begun
				o.send(2, nil)
				if !o.versions { // with them version 2 waits for the worker to leave version 1
					o.wait("version 2 took effect", func() bool { return o.effects() == "2" })
				}
				close(blocked)
			})
		}, "2 1", "2", 0, 0},
		"an older one is for a later time": {func(o *order) {
			o.send(1, map[string]string{"nbf": time.Now().Add(time.Hour).Format(time.RFC3339)})
			o.send(2, nil)
			o.work(none)
		}, "2", "2", 0, 1},
	} {
		for _, versions := range []bool{false, true} {
			t.Run(fmt.Sprint(name, "/", versions), func(t *testing.T) {
				t.Parallel()
				testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
					o := &order{T: t, db: db, queue: newQueue(), versions: versions}
					want, superseded := c.with, c.superseded
					if !versions {
						want, superseded, o.waits = c.without, 0, c.waits
					}
					config := config(t, db, o.queue)
					config.Handler = func(_ context.Context, m intake.Message) (intake.Decision, error) {
						var spec statusSpec
						if err := json.Unmarshal(m.Body, &spec); err != nil || o.refuses && spec.Version == 1 {
							return intake.Decision{}, taskkit.Permanent("not_yet", errors.Join(err, errors.New("not yet")))
						}
						options := []taskkit.SubmitOption{taskkit.System(), taskkit.WithCoalescing("person 7")}
						if versions {
							options = append(options, taskkit.WithVersion(spec.Version))
						}
						return intake.Submit(statusKind, spec, options...), nil
					}
					o.consumer = run(t, config)
					c.do(o)
					o.consumer.stop()
					if got := o.effects(); got != want {
						t.Errorf("versions %q took effect, want %q", got, want)
					}
					var recorded, left int
					if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM taskkit_task_message WHERE outcome = 'superseded' AND task_id IS NULL").Scan(&recorded); err != nil {
						t.Fatal(err)
					}
					if s := o.consumer.Stats(); s.Superseded != superseded || int64(recorded) != superseded || len(o.queue.unacked) != 0 {
						t.Errorf("%d messages are recorded as superseded, want %d; %d are not acknowledged; %+v", recorded, superseded, len(o.queue.unacked), s)
					}
					if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM taskkit_queued_task WHERE workflow_status = 'QUEUED'").Scan(&left); err != nil || left != o.waits {
						t.Errorf("%d tasks wait, %v, want %d", left, err, o.waits)
					}
				})
			})
		}
	}
}
