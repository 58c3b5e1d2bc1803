// Package telemetry_test runs workers with the metrics and traces of package taskotel, and compares what an exporter gets.
package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/takeover"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/taskops"
	"taskkit.dev/taskkit/taskotel"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

// workSpec says what a task does.
type workSpec struct {
	Numbers []int  `json:"numbers"`
	Do      string `json:"do"` // "", or how its first batch differs
}

type (
	workBatch = taskkit.Batch[workSpec, struct{}]
	workKind  = taskkit.Kind[workSpec, struct{}, struct{}]
)

// What the first batch of a task may do.
const (
	doFail  = "fail"  // the task fails
	doRetry = "retry" // its first attempt fails
	doLater = "later" // it continues later
	doHold  = "hold"  // it waits for release
)

var errPlanned = errors.New("planned")

// work executes tasks as their specs say. Of the numbers, those that end in 0 fail, and those that end in 7 are skipped.
type work struct {
	once    sync.Map // of tasks that have continued later
	held    atomic.Int32
	release chan struct{}
	batches func(ctx context.Context, b *workBatch) // called in each batch; or nil
}

func newWork() *work { return &work{release: make(chan struct{})} }

// Execute implements [taskkit.Executor].
func (w *work) Execute(ctx context.Context, b *workBatch) (taskkit.Next, error) {
	if w.batches != nil {
		w.batches(ctx, b)
	}
	_, again := w.once.LoadOrStore(b.Task, true)
	switch b.Spec.Do {
	case doFail:
		return taskkit.More, taskkit.Permanent("planned", errPlanned)
	case doRetry:
		if !again {
			return taskkit.More, errPlanned
		}
	case doLater:
		if !again {
			return taskkit.Later(time.Millisecond), nil
		}
	case doHold:
		w.held.Add(1)
		defer w.held.Add(-1)
		select {
		case <-w.release:
		case <-ctx.Done():
			return taskkit.More, ctx.Err()
		}
	}
	numbers, next := taskkit.Take(b, b.Spec.Numbers)
	for _, n := range numbers {
		switch n % 10 {
		case 0:
			b.Fail(n, errPlanned)
		case 7:
			b.Skip(n, "seven")
		}
	}
	return next, nil
}

// kindNamed returns a kind whose batches have two numbers.
func kindNamed(name string) *workKind {
	return taskkit.NewKind(taskkind.Definition[workSpec, struct{}, struct{}]{
		Name: name, BatchSize: 2, MaxBatchSize: 2, Targets: taskkind.TargetsIn("numbers", func(s *workSpec) *[]int { return &s.Numbers }),
	})
}

// env is a database with programs that work on it.
type env struct {
	*testing.T
	db     *testdb.DB
	schema string
	client *taskkit.Client
}

func newEnv(t *testing.T, db *testdb.DB) *env {
	t.Helper()
	schema := db.Schema
	if schema == "" {
		schema = taskkit.DefaultSchema
	}
	return &env{t, db, schema, taskkit.NewClient(db.DB, taskkit.WithSchema(schema))}
}

// start starts a worker, and returns what stops it.
func (e *env) start(r *taskkit.Registry, c taskkit.Config) (stop func()) {
	e.Helper()
	c.Schema = e.schema
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Poll, c.PollListening, c.Backoff = 10*time.Millisecond, 50*time.Millisecond, time.Millisecond
	w, err := taskkit.NewWorker(e.Context(), e.db.DB, r, c)
	if err != nil {
		e.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			e.Error(err)
		}
	})
	e.Cleanup(stop)
	return stop
}

// read runs the reader of a telemetry, and returns what stops it.
func (e *env) read(t *taskotel.Telemetry) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.Context()))
	done := make(chan error, 1)
	go func() { done <- t.Read(ctx, e.db.DB) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			e.Error(err)
		}
	})
	e.Cleanup(stop)
	return stop
}

// submit submits a task.
func (e *env) submit(k *workKind, spec workSpec, opts ...taskkit.SubmitOption) taskkit.ID {
	e.Helper()
	id, err := taskkit.Submit(e.Context(), e.db.DB, k, spec, append([]taskkit.SubmitOption{taskkit.System(), taskkit.WithSchema(e.schema)}, opts...)...)
	if err != nil {
		e.Fatal(err)
	}
	return id
}

// ended waits until a task has ended.
func (e *env) ended(id taskkit.ID) *taskkit.Task {
	e.Helper()
	t, err := e.client.Wait(testdb.Within(e), id, nil)
	if err != nil {
		e.Fatal(err)
	}
	return t
}

// live counts the live workers.
func (e *env) live() (n int) {
	e.Helper()
	workers, err := taskops.New(e.client).Workers(e.Context())
	if err != nil {
		e.Fatal(err)
	}
	for i := range workers {
		if workers[i].Alive {
			n++
		}
	}
	return n
}

// declareDead declares the worker of a system dead, once: it runs, and registers again.
func (e *env) declareDead(system string) {
	e.Helper()
	s, err := dbstore.Open(e.Context(), e.db.DB, e.db.Schema, dbstore.Options{})
	if err != nil {
		e.Fatal(err)
	}
	defer s.Release(context.WithoutCancel(e.Context()))
	e.until("a worker is declared dead", func() bool {
		if err := takeover.Silence(e.Context(), e.db, e.schema, system); err != nil {
			e.Fatal(err)
		}
		reaped, err := s.Reap(e.Context(), nil)
		if err != nil {
			e.Fatal(err)
		}
		return len(reaped.Dead) > 0
	})
}

// until waits until a condition holds.
func (e *env) until(what string, holds func() bool) {
	e.Helper()
	deadline := time.After(testdb.Patience(e))
	for !holds() {
		select {
		case <-deadline:
			e.Fatalf("waited for: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// collected is a telemetry whose metrics a test reads.
type collected struct {
	*taskotel.Telemetry

	e      *env
	reader *sdkmetric.ManualReader
}

// collect returns a telemetry.
func (e *env) collect() collected {
	e.Helper()
	reader := sdkmetric.NewManualReader()
	t, err := taskotel.New(taskotel.Options{
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), Schema: e.schema, Every: time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		e.Fatal(err)
	}
	return collected{t, e, reader}
}

// all returns the values of all series, by name and attributes: "taskkit.task.ended{taskkit.kind=a,taskkit.outcome=completed}". The value of
// a histogram is its number of observations.
func (c collected) all() map[string]float64 {
	c.e.Helper()
	var found metricdata.ResourceMetrics
	if err := c.reader.Collect(c.e.Context(), &found); err != nil {
		c.e.Fatal(err)
	}
	values := make(map[string]float64)
	for _, scope := range found.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					values[m.Name+"{"+p.Attributes.Encoded(encoder)+"}"] = float64(p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					values[m.Name+"{"+p.Attributes.Encoded(encoder)+"}"] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					values[m.Name+"{"+p.Attributes.Encoded(encoder)+"}"] = float64(p.Count)
				}
			default:
				c.e.Fatalf("%s is a %T", m.Name, d)
			}
		}
	}
	return values
}

// encoder encodes attributes.
var encoder = attribute.DefaultEncoder()

// is checks values of series.
func (c collected) is(want map[string]float64) {
	c.e.Helper()
	all := c.all()
	for name, n := range want {
		if got, ok := all[name]; got != n || !ok {
			c.e.Errorf("%s is %v, %t; want %v; of this name:\n%s", name, got, ok, n, strings.Join(ofName(all, name), "\n"))
		}
	}
}

// ofName lists the series with the name of one.
func ofName(all map[string]float64, series string) (lines []string) {
	name, _, _ := strings.Cut(series, "{")
	for s, n := range all {
		if strings.HasPrefix(s, name+"{") {
			lines = append(lines, fmt.Sprintf("%s %v", s, n))
		}
	}
	slices.Sort(lines)
	return lines
}
