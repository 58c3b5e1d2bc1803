package proptest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"taskkit.dev/internal/testkit/takeover"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

const maxAttempts = 3

type spec struct {
	Plan []step `json:"plan"`
}

type state struct {
	Step int `json:"step"`
}

// database is a database for many checks: each has a kind and a queue of its own.
type database struct {
	on       *testdb.DB
	db       *sql.DB
	schema   string
	patience time.Duration
	// open opens another handle, that a check may cut off.
	open func() (*sql.DB, error)
	seen counts
}

// counts are what the checks have seen, so that one that checks nothing shows.
type counts struct {
	checks, disturbed                atomic.Int64 // all; those whose worker was disturbed
	requests, refused, merged        atomic.Int64
	exact, lenient, waiting, removed atomic.Int64 // tasks, by how they were checked
}

// checked counts a task that is as it must be: one that was cut off or disturbed
// may be in several states, one that waits or is gone has little to be held to.
func (c *counts) checked(k *known, t *taskkit.Task) {
	switch {
	case t == nil:
		c.removed.Add(1)
	case k.cut:
		c.lenient.Add(1)
	case !t.Ended():
		c.waiting.Add(1)
	default:
		c.exact.Add(1)
	}
}

// machine is one check.
type machine struct {
	*database
	kind   *taskkit.Kind[spec, state, struct{}]
	owner  uuid.UUID
	client *taskkit.Client
	tasks  []*known

	mu    sync.Mutex
	tried map[string]int // executions of a task's step

	worker *running
	cuts   int // how often its worker may yet be cut off
	cut    bool
	// disturbed: something but the plan has failed a batch, as on a machine that
	// was too busy for a moment.
	disturbed atomic.Bool
}

// disturbances watches a worker's log for what no plan holds.
type disturbances struct {
	slog.Handler
	seen *atomic.Bool
}

// Enabled implements [slog.Handler].
func (disturbances) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// WithAttrs implements [slog.Handler].
func (d disturbances) WithAttrs([]slog.Attr) slog.Handler { return d }

// Handle implements [slog.Handler].
func (d disturbances) Handle(_ context.Context, r slog.Record) error {
	planned := r.Message == "task ended"
	r.Attrs(func(a slog.Attr) bool {
		planned = planned || a.Key == "code" && a.Value.String() == "error"
		return true
	})
	if !planned {
		d.seen.Store(true)
	}
	return nil
}

// running is a worker at work.
type running struct {
	db     *sql.DB
	cancel context.CancelFunc
	done   chan error
}

func newMachine(p *database) *machine {
	id := uuid.New()
	name := fmt.Sprintf("p%x", id[:8])
	return &machine{
		database: p, owner: id, client: taskkit.NewClient(p.db, taskkit.WithSchema(p.schema)), tried: make(map[string]int),
		kind: taskkit.NewKind(taskkind.Definition[spec, state, struct{}]{
			Name: name, Queue: name,
		}),
	}
}

// Execute does what the plan says.
func (m *machine) Execute(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	at := b.State.Step
	s := b.Spec.Plan[at]
	key := fmt.Sprint(b.Task, at)
	if _, err := b.Tx.ExecContext(ctx, "INSERT INTO step (task, step) VALUES ($1, $2)", b.Task.String(), at); err != nil {
		return taskkit.More, err
	}
	m.mu.Lock()
	m.tried[key]++
	n := m.tried[key]
	m.mu.Unlock()
	b.State.Step++
	if n <= s.Fails {
		switch s.How {
		case "transient":
			return taskkit.More, errors.New("planned")
		case "permanent":
			return taskkit.More, taskkit.Permanent("planned", nil)
		default:
			panic("planned")
		}
	}
	b.Advance(1) // without a counted item, Later would keep the attempts
	switch {
	case b.State.Step == len(b.Spec.Plan):
		return taskkit.Done, nil
	case s.Later:
		return taskkit.Later(3 * time.Millisecond), nil
	default:
		return taskkit.More, nil
	}
}

var aStep = rapid.Custom(func(t *rapid.T) step {
	return step{
		Fails: rapid.SampledFrom([]int{0, 0, 0, 1, 2, maxAttempts}).Draw(t, "fails"),
		How:   rapid.SampledFrom([]string{"transient", "permanent", "panic"}).Draw(t, "how"),
		Later: rapid.Bool().Draw(t, "later"),
	}
})

// normal makes a plan that the model can follow: an error that ends the task is
// shown once, so that a retry passes it.
func normal(plan []step) []step {
	for i := range plan {
		if plan[i].How != "transient" {
			plan[i].Fails = min(plan[i].Fails, 1)
		}
	}
	return plan
}

func (m *machine) add(id taskkit.ID, k *known) {
	k.id, k.begun = id, m.worker != nil && !k.far
	m.tasks = append(m.tasks, k)
}

func (m *machine) find(id taskkit.ID) *known {
	for _, k := range m.tasks {
		if k.id == id {
			return k
		}
	}
	return nil
}

// Request asks something of a task.
func (m *machine) Request(t *rapid.T) {
	if len(m.tasks) == 0 {
		t.Skip("no task")
	}
	k := rapid.SampledFrom(m.tasks).Draw(t, "task")
	action := rapid.SampledFrom([]string{"stop", "pause", "resume", "delete", "retry", "retry"}).Draw(t, "action")
	do := map[string]func(context.Context, taskkit.ID, ...taskkit.RequestOption) (*taskkit.Task, error){
		"stop": m.client.Stop, "pause": m.client.Pause, "resume": m.client.Resume, "delete": m.client.Delete, "retry": m.client.Retry,
	}[action]
	_, err := do(t.Context(), k.id, taskkit.WithActor(m.owner), taskkit.WithReason("drawn"))
	_, refused := errors.AsType[*taskkit.StateError](err)
	_, taken := errors.AsType[*taskkit.DuplicateError](err)
	m.seen.requests.Add(1)
	if err != nil {
		m.seen.refused.Add(1)
	}
	switch {
	case err == nil:
		err = k.asked(action)
		k.begun = k.begun || m.worker != nil && k.mayRun()
	case refused:
		err = k.refused(action)
	case taken && action == "retry" && k.unique != "":
		err = nil
	case errors.Is(err, taskkit.ErrNotFound) && k.deleted:
		k.ended, err = true, nil
	}
	if err != nil {
		t.Fatalf("%s of task %s: %v", action, k.id, err)
	}
}

// Read reads a task.
func (m *machine) Read(t *rapid.T) {
	if len(m.tasks) == 0 {
		t.Skip("no task")
	}
	k := rapid.SampledFrom(m.tasks).Draw(t, "task")
	got, err := taskkit.Get(t.Context(), m.client, m.kind, k.id)
	switch {
	case errors.Is(err, taskkit.ErrNotFound) && k.deleted:
		k.ended = true
	case err != nil:
		t.Fatalf("get task %s: %v", k.id, err)
	case k.gone():
		t.Fatalf("task %s was removed and is there", k.id)
	case got.Task.Ended() && k.live(), !got.Task.Ended() && k.over():
		t.Fatalf("task %s is %s; model %+v", k.id, got.Task.Status, *k)
	case fmt.Sprint(got.Spec.Plan) != fmt.Sprint(k.plan) || got.Task.Owner != m.owner || got.State.Step != int(got.Task.Checkpoints):
		t.Fatalf("task %s is %+v", k.id, got)
	case got.Task.Ended() && k.deleted:
		t.Fatalf("task %s was deleted and has ended as %s", k.id, got.Task.Status)
	case got.Task.Ended():
		k.ended = true
	}
}

// List reads pages of tasks.
func (m *machine) List(t *rapid.T) {
	seen := make(map[taskkit.ID]bool)
	f := taskkit.Filter{Owner: m.owner, Limit: rapid.IntRange(1, 10).Draw(t, "limit")}
	for {
		page, _, err := m.client.Tasks(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > f.Limit {
			t.Fatalf("%d tasks on a page of %d", len(page), f.Limit)
		}
		for _, task := range page {
			if seen[task.ID] || f.Before != uuid.Nil && task.ID.String() >= f.Before.String() || m.find(task.ID) == nil {
				t.Fatalf("task %s is listed out of order, twice, or is another's", task.ID)
			}
			seen[task.ID] = true
			f.Before = task.ID
		}
		if len(page) == 0 {
			break
		}
	}
	for _, k := range m.tasks {
		if k.gone() && seen[k.id] || !k.deleted && !seen[k.id] {
			t.Fatalf("task %s is listed: %t; model %+v", k.id, seen[k.id], *k)
		}
	}
}

// Start starts a worker.
func (m *machine) Start(t *rapid.T) {
	if m.worker != nil {
		t.Skip("one runs")
	}
	db, err := m.open()
	if err != nil {
		t.Fatal(err)
	}
	var r taskkit.Registry
	taskkit.Register(&r, m.kind, m)
	w, err := taskkit.NewWorker(context.Background(), db, &r, taskkit.Config{
		Schema: m.schema, SystemID: m.kind.Name(), Queues: []string{m.kind.Name()}, Slots: 3,
		Heartbeat: time.Second, DeadAfter: time.Minute, BatchTimeout: 40 * time.Second,
		Poll: 10 * time.Millisecond, PollListening: 50 * time.Millisecond,
		Backoff: time.Millisecond, BackoffMax: 4 * time.Millisecond, MaxAttempts: maxAttempts, Drain: time.Second,
		Logger: slog.New(disturbances{slog.DiscardHandler, &m.disturbed}),
	})
	if err != nil {
		_ = db.Close()
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.worker = &running{db, cancel, make(chan error, 1)}
	go func(r *running) { r.done <- w.Run(ctx) }(m.worker)
	for _, k := range m.tasks {
		k.begun = k.begun || k.mayRun()
	}
}

// Drain ends the worker as a deploy does.
func (m *machine) Drain(t *rapid.T) {
	if m.worker == nil {
		t.Skip("none runs")
	}
	if err := m.end(false); err != nil {
		t.Fatal(err)
	}
}

// Cut takes the worker's database away: what it held is for the next to find.
func (m *machine) Cut(t *rapid.T) {
	if m.worker == nil || m.cuts == 0 {
		t.Skip("none runs, or none may be cut off any more")
	}
	m.cuts, m.cut = m.cuts-1, true
	_ = m.worker.db.Close()
	for _, k := range m.tasks {
		k.cut = k.cut || k.begun
	}
	if err := m.end(true); err != nil {
		t.Fatal(err)
	}
}

// end ends the worker. One that was lost, or was too busy to leave as it should, is
// declared dead, since what it held would wait for a minute.
func (m *machine) end(lost bool) error {
	if m.worker == nil {
		return nil
	}
	m.worker.cancel()
	if err := <-m.worker.done; err != nil {
		m.disturbed.Store(true) // as when its database was closed under it
	}
	_ = m.worker.db.Close()
	m.worker = nil
	if !lost && !m.disturbed.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), m.patience)
	defer cancel()
	return takeover.Declare(ctx, m.on, m.schema, m.kind.Name())
}

// waitUntilIdle lets all that may run come to its end, and holds it against the model.
func (m *machine) waitUntilIdle(t *rapid.T) {
	if m.worker == nil {
		m.Start(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), m.patience)
	defer cancel()
	for _, k := range m.tasks {
		task, err := m.rest(ctx, k)
		if err == nil {
			k.cut = k.cut || k.begun && m.disturbed.Load()
			err = k.check(task, m.touched(t, k.id))
		}
		if err != nil {
			t.Fatalf("task %s: %v", k.id, err)
		}
		m.seen.checked(k, task)
	}
	m.seen.checks.Add(1)
	if m.disturbed.Load() && !m.cut {
		m.seen.disturbed.Add(1)
	}
}

// rest waits until a task moves no more; nil is one that is gone.
func (m *machine) rest(ctx context.Context, k *known) (*taskkit.Task, error) {
	var last *taskkit.Task
	ctx, still := context.WithCancel(ctx)
	defer still()
	_, err := m.client.Wait(ctx, k.id, func(t *taskkit.Task, err error) {
		if err != nil {
			return // it is read again
		}
		last = t
		waits := t.Status == taskkit.StatusQueued && !k.deleted && (k.paused && t.Control == taskkit.ControlPause || k.far && !k.stopped)
		if waits || t.Ended() {
			still()
		}
	})
	switch {
	case errors.Is(err, taskkit.ErrNotFound):
		return nil, nil //nolint:nilnil // gone is an answer
	case last != nil && (last.Ended() || errors.Is(err, context.Canceled)):
		return last, nil
	default:
		return nil, fmt.Errorf("it does not come to rest: %w; last seen %+v; model %+v", err, last, *k)
	}
}

// touched counts the touches of a task's steps.
func (m *machine) touched(t *rapid.T, id taskkit.ID) map[int]int {
	rows, err := m.db.QueryContext(t.Context(), "SELECT step, count(*) FROM step WHERE task = $1 GROUP BY step", id.String())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := make(map[int]int)
	for rows.Next() {
		var at, times int
		if err := rows.Scan(&at, &times); err != nil {
			t.Fatal(err)
		}
		n[at] = times
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}
