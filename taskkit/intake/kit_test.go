package intake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
	"taskkit.dev/taskkit/taskkind"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

// statusSpec is a change of a person's status.
type statusSpec struct {
	Person  int    `json:"person" validate:"gte=1"`
	Status  string `json:"status" validate:"required"`
	Version int64  `json:"version"`
}

var statusKind = taskkit.NewKind(taskkind.Definition[statusSpec, struct{}, struct{}]{Name: "status"})

// toTask is a handler that submits the body as the spec.
func toTask(_ context.Context, m intake.Message) (intake.Decision, error) {
	var spec statusSpec
	if err := json.Unmarshal(m.Body, &spec); err != nil {
		return intake.Decision{}, err
	}
	return intake.Submit(statusKind, spec, taskkit.System()), nil
}

// message returns a message with this id for a person.
func message(id string, person int) intake.Message {
	return intake.Message{ID: id, Body: fmt.Appendf(nil, `{"person":%d,"status":"left"}`, person)}
}

// queue is a source in memory, which delivers unsettled messages again.
type queue struct {
	mu       sync.Mutex
	waiting  []intake.Message
	unacked  map[int]intake.Message
	next     int
	rejected []intake.Message
	acks     int
	arrived  chan struct{} // full when something waits or all is settled
	fail     error         // of the next acknowledgement
	closed   bool
}

func newQueue(ms ...intake.Message) *queue {
	q := &queue{unacked: map[int]intake.Message{}, arrived: make(chan struct{}, 1)}
	q.publish(ms...)
	return q
}

func (q *queue) publish(ms ...intake.Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, ms...)
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

func (q *queue) Receive(ctx context.Context, limit int) ([]intake.Delivery, error) {
	for {
		q.mu.Lock()
		n := min(limit, len(q.waiting))
		var ds []intake.Delivery
		for _, m := range q.waiting[:n] {
			q.next++
			q.unacked[q.next] = m
			ds = append(ds, intake.Delivery{Message: m, Receipt: q.next})
		}
		q.waiting = q.waiting[n:]
		q.mu.Unlock()
		if n > 0 {
			return ds, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-q.arrived:
		}
	}
}

func (q *queue) answer(ds []intake.Delivery, rejected bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.fail; err != nil {
		q.fail = nil
		for n, m := range q.unacked { // the connection is lost
			q.waiting = append(q.waiting, m)
			delete(q.unacked, n)
		}
		q.signal()
		return err
	}
	for _, d := range ds {
		n, _ := d.Receipt.(int)
		if m, ok := q.unacked[n]; ok && rejected {
			q.rejected = append(q.rejected, m)
		}
		delete(q.unacked, n)
		q.acks++
	}
	return nil
}

func (q *queue) Ack(_ context.Context, ds []intake.Delivery) error    { return q.answer(ds, false) }
func (q *queue) Reject(_ context.Context, ds []intake.Delivery) error { return q.answer(ds, true) }

func (q *queue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	return nil
}

// errConnection is an error of a broker.
var errConnection = errors.New("connection reset")

// running is a consumer that runs, and the events that it sends.
type running struct {
	*intake.Consumer

	t      *testing.T
	events chan intake.Event
	stop   func()
}

// config returns the configuration of a test's consumer.
func config(tb testing.TB, db *testdb.DB, s intake.Source) intake.Config {
	tb.Helper()
	return intake.Config{
		DB: db.DB, Schema: db.Schema, Name: "registrar", Source: s, Handler: toTask, Retry: time.Millisecond,
		Log: slog.New(slog.NewTextHandler(tb.Output(), nil)),
	}
}

// migrated makes the tables.
func migrated(tb testing.TB, db *testdb.DB) {
	tb.Helper()
	if err := taskkit.Migrate(tb.Context(), db.DB, schemaOf(db)); err != nil {
		tb.Fatal(err)
	}
}

func schemaOf(db *testdb.DB) string {
	if db.Schema == "" {
		return taskkit.DefaultSchema
	}
	return db.Schema
}

// run runs a consumer until the test ends or stop is called.
func run(t *testing.T, c intake.Config) *running {
	t.Helper()
	r := &running{t: t, events: make(chan intake.Event, 10_000)}
	observe := c.Observe
	c.Observe = func(ctx context.Context, e intake.Event) {
		if observe != nil {
			observe(ctx, e)
		}
		r.events <- e
	}
	var err error
	if r.Consumer, err = intake.New(c); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// until waits until the counts of the consumer meet a condition.
func (r *running) until(what string, reached func(intake.Stats) bool) {
	r.t.Helper()
	late := time.After(testdb.Patience(r.t))
	for !reached(r.Stats()) {
		select {
		case <-r.events:
		case <-late:
			r.t.Fatalf("%s is not reached: %+v", what, r.Stats())
		}
	}
}

// received is the condition that n messages were settled.
func received(n int64) func(intake.Stats) bool {
	return func(s intake.Stats) bool { return s.Received >= n }
}

// tasks returns the specs of all tasks.
func tasks(t *testing.T, db *testdb.DB) map[int]int {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT execution_spec FROM taskkit_queued_task")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[int]int{}
	for rows.Next() {
		var (
			text []byte
			spec statusSpec
		)
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &spec); err != nil {
			t.Fatal(err)
		}
		found[spec.Person]++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}
