package taskotel

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
)

// Name is the name of the instrumentation scope.
const Name = "taskkit.dev/taskkit/taskotel"

// Options configure a [Telemetry]. The zero value is ready to use.
type Options struct {
	// MeterProvider makes the instruments. Defaults to the global one of OpenTelemetry.
	MeterProvider metric.MeterProvider

	// TracerProvider makes the spans of submissions and of the work on tasks. Defaults to none: nothing is traced.
	TracerProvider trace.TracerProvider

	// Semconv names conventions whose attributes the spans have too: "messaging", the conventions of OpenTelemetry for messages, which are not stable
	// yet. Defaults to none.
	Semconv string

	// Schema is the PostgreSQL schema of the tables that [Telemetry.Read] reads. Defaults to "taskkit".
	Schema string

	// Every is how often Read reads. Defaults to 15 s; at least 1 s.
	Every time.Duration

	// Logger receives the errors of Read, each once until it has read again, and a line for each part of the work on a task whose span is
	// sampled, when it begins: a span is exported when it ends. Defaults to slog.Default().
	Logger *slog.Logger
}

// shortestEvery bounds how often the figures are read.
const shortestEvery = time.Second

// Telemetry counts what workers and submissions do. It is the Config.Observer of any number of workers of a program, and safe for
// concurrent use.
type Telemetry struct {
	options Options
	meters  *meters
	tracer  trace.Tracer // nil: nothing is traced

	kinds  table[kindRow]
	queues table[queueRow]

	takenOver, declaredDead series
	uncertain               []series // in the order of commits

	claim, flush, wait, run, batch metric.Float64Histogram

	figures atomic.Pointer[figures] // nil: Read has read nothing yet, or another worker is the reader
	build   atomic.Pointer[[]metric.ObserveOption]
	failed  handled
	logging atomic.Bool // Handle logs an error

	mu         sync.Mutex
	workers    map[string]worker
	throttling map[throttled]bool
}

// worker is a worker that runs here.
type worker struct {
	slots int
	busy  func() int
}

// throttled is an indicator that batches of a worker wait for.
type throttled struct{ worker, indicator string }

// New returns a telemetry. It returns an *[taskkit.OptionError] for an invalid option, and the error of a meter that cannot make an
// instrument.
func New(o Options) (*Telemetry, error) {
	switch {
	case o.Every == 0:
		o.Every = 15 * time.Second
	case o.Every < shortestEvery:
		return nil, &taskkit.OptionError{Option: "Every", Problem: fmt.Sprintf("%v, shorter than %v: the figures are read from all queues", o.Every, shortestEvery)}
	}
	if o.Semconv != "" && o.Semconv != semconvMessaging {
		return nil, &taskkit.OptionError{Option: "Semconv", Problem: fmt.Sprintf("%q: use %q, or leave it out", o.Semconv, semconvMessaging)}
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	if o.Schema == "" {
		o.Schema = taskkit.DefaultSchema
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	meter := o.MeterProvider.Meter(Name, metric.WithInstrumentationVersion(taskkit.Version))
	m, err := newMeters(meter)
	if err != nil {
		return nil, err
	}
	t := &Telemetry{
		options: o, meters: m, uncertain: family(keyReason, commits), workers: make(map[string]worker), throttling: make(map[throttled]bool),
		claim: m.histograms["taskkit.claim.duration"], flush: m.histograms["taskkit.flush.duration"], wait: m.histograms["taskkit.task.wait.duration"],
		run: m.histograms["taskkit.task.run.duration"], batch: m.histograms["taskkit.batch.duration"],
	}
	if o.TracerProvider != nil {
		t.tracer = o.TracerProvider.Tracer(Name, trace.WithInstrumentationVersion(taskkit.Version))
	}
	t.kinds.make, t.queues.make = newKindRow, newQueueRow
	if _, err := meter.RegisterCallback(t.collect, m.all...); err != nil {
		return nil, fmt.Errorf("register the callback of the metrics: %w", err)
	}
	return t, nil
}

// The positions of outcomes in their families.
const (
	endCompleted = iota
	endPartial
	endFailure
	endError
	endRemoved
)

const (
	attemptOK = iota
	attemptLater
	attemptRetry
	attemptError
	attemptLost
	attemptInterrupted
)

// Observe implements [taskevent.Observer]. It adds to counters, and records durations.
func (t *Telemetry) Observe(ctx context.Context, e taskevent.Event) {
	switch e := e.(type) {
	case taskevent.ClaimDone:
		t.claim.Record(ctx, e.Duration.Seconds())
	case taskevent.GroupCommitted:
		t.flush.Record(ctx, e.Duration.Seconds())
	case taskevent.TaskClaimed:
		if e.Waited > 0 {
			t.wait.Record(ctx, e.Waited.Seconds(), t.queues.row(e.Queue).wait...)
		}
	case taskevent.BatchDone:
		if !e.Traced { // else its trace records it, with its span as an exemplar
			t.batch.Record(ctx, e.Duration.Seconds(), t.kinds.row(e.Kind).batch...)
		}
	case taskevent.CheckpointWritten:
		k := t.kinds.row(e.Kind)
		for i, n := range [...]int64{e.Done, e.Failed, e.Skipped} {
			if n > 0 {
				k.processed[i].add(n)
			}
		}
	case taskevent.TaskEnded:
		t.ended(ctx, &e)
	case taskevent.TaskRetried:
		t.kinds.row(e.Kind).attempts[attemptRetry].add(1)
	case taskevent.TaskReleased:
		outcome := attemptLater
		if e.Cause == taskevent.ReleaseShutdown {
			outcome = attemptInterrupted
		}
		t.kinds.row(e.Kind).attempts[outcome].add(1)
	case taskevent.TaskLost:
		t.kinds.row(e.Kind).attempts[attemptLost].add(1)
	case taskevent.CommitReadBack:
		t.uncertain[0].add(1)
	case taskevent.GroupCommitFailed:
		t.uncertain[1].add(int64(e.Writes))
	case taskevent.TasksTakenOver:
		t.takenOver.add(int64(len(e.Tasks) + len(e.Ended)))
		t.declaredDead.add(int64(len(e.Dead)))
	default:
		t.observeWorker(e)
	}
}

// ended counts the end of a task.
func (t *Telemetry) ended(ctx context.Context, e *taskevent.TaskEnded) {
	k := t.kinds.row(e.Kind)
	end, attempt := endOf(e), attemptOK
	if end == endFailure || end == endError {
		attempt = attemptError
	}
	k.ended[end].add(1)
	k.attempts[attempt].add(1)
	t.queues.row(e.Queue).ended.add(1)
	t.run.Record(ctx, e.Duration.Seconds(), k.run...)
}

// endOf returns the position in ends of the end of a task.
func endOf(e *taskevent.TaskEnded) int {
	switch {
	case e.Removed:
		return endRemoved
	case e.Partial:
		return endPartial
	case e.Status == string(taskkit.StatusFailure):
		return endFailure
	case e.Status == string(taskkit.StatusError):
		return endError
	}
	return endCompleted
}

// observeWorker follows the events of workers that come seldom.
func (t *Telemetry) observeWorker(e taskevent.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := e.(type) {
	case taskevent.WorkerStarted:
		t.workers[e.Worker] = worker{e.Slots, e.Busy}
	case taskevent.WorkerEnded:
		delete(t.workers, e.Worker)
		for of := range t.throttling {
			if of.worker == e.Worker {
				delete(t.throttling, of)
			}
		}
	case taskevent.ThrottleBegan:
		t.throttling[throttled{e.Worker, e.Indicator}] = true
	case taskevent.ThrottleEnded:
		delete(t.throttling, throttled{e.Worker, e.Indicator})
	}
}

// Submitting implements [taskkit.SubmitObserver]: it counts the tasks of a submission, and makes its span. They are counted when they are stored, also if the
// transaction does not commit.
func (t *Telemetry) Submitting(ctx context.Context, s *taskkit.Submitting) (context.Context, func([]taskkit.ID, error)) {
	k, n := t.kinds.row(s.Kind), int64(s.Tasks)
	if t.tracer == nil {
		return ctx, func(_ []taskkit.ID, err error) { k.submitted[resultOf(err)].add(n) }
	}
	ctx, span := t.startSubmit(ctx, s)
	return ctx, func(ids []taskkit.ID, err error) {
		k.submitted[resultOf(err)].add(n)
		endSubmit(span, ids, err)
	}
}
