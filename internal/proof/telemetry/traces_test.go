package telemetry_test

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskotel"
)

// traced is a telemetry whose spans a test reads.
type traced struct {
	*taskotel.Telemetry

	e        *env
	exporter *tracetest.InMemoryExporter
	provider *sdktrace.TracerProvider
	log      *lines
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// trace returns a telemetry with a sampler.
func (e *env) trace(s sdktrace.Sampler) traced {
	e.Helper()
	exporter, log := tracetest.NewInMemoryExporter(), new(lines)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(s))
	t, err := taskotel.New(taskotel.Options{
		MeterProvider: sdkmetric.NewMeterProvider(), TracerProvider: provider, Semconv: "messaging", Schema: e.schema, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		e.Fatal(err)
	}
	return traced{t, e, exporter, provider, log}
}

// spans returns the spans that have ended with a name.
func (t traced) spans(name string) (found tracetest.SpanStubs) {
	for _, s := range t.exporter.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// await waits until so many spans with a name have ended.
func (t traced) await(name string, n int) tracetest.SpanStubs {
	t.e.Helper()
	t.e.until(name, func() bool { return len(t.spans(name)) >= n })
	found := t.spans(name)
	if len(found) != n {
		t.e.Fatalf("%d spans %q, want %d", len(found), name, n)
	}
	return found
}

// attribute returns an attribute of a span as text.
func attributeOf(s tracetest.SpanStub, key string) string {
	for _, a := range s.Attributes {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

// hasLinks reports whether a span has exactly these links.
func hasLinks(s tracetest.SpanStub, to ...trace.SpanContext) bool {
	if len(s.Links) != len(to) {
		return false
	}
	for i, l := range s.Links {
		if l.SpanContext.TraceID() != to[i].TraceID() || l.SpanContext.SpanID() != to[i].SpanID() {
			return false
		}
	}
	return true
}

// checkRoot checks that a span is the root of a trace of its own, of a consumer.
func checkRoot(t *testing.T, s tracetest.SpanStub) {
	t.Helper()
	if s.Parent.IsValid() || s.SpanKind != trace.SpanKindConsumer {
		t.Errorf("%s is a %v below %v, want a root of a consumer", s.Name, s.SpanKind, s.Parent.SpanID())
	}
}

// A task over two workers, the first of which is lost, has a trace for each: roots that are linked to the submission, and the second to
// the first. Batches are below them, and what an executor traces is below its batch.
func TestTraceOfTakeover(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e, w, k := newEnv(t, db), newWork(), kindNamed("work")
		tr := e.trace(sdktrace.AlwaysSample())
		held := make(chan struct{})
		var calls atomic.Int32
		w.batches = func(ctx context.Context, _ *workBatch) {
			_, span := tr.provider.Tracer("test").Start(ctx, "statement")
			span.End()
			if calls.Add(1) == 2 {
				close(held)
				<-ctx.Done() // its worker is declared dead
			}
		}
		var r taskkit.Registry
		taskkit.Register(&r, k, w)
		e.start(&r, taskkit.Config{Observer: tr, SystemID: "a", Slots: 1, Heartbeat: 200 * time.Millisecond})
		id := e.submit(k, workSpec{Numbers: []int{1, 2, 3, 4, 5, 6}}, taskkit.WithObserver(tr))
		<-held
		e.declareDead("a")
		e.start(&r, taskkit.Config{Observer: tr, SystemID: "b", Slots: 1})
		e.ended(id)
		e.until("both workers are registered", func() bool { return e.live() == 2 })
		submit := tr.await("submit work", 1)[0]
		if submit.SpanKind != trace.SpanKindProducer || attributeOf(submit, "taskkit.task") != id.String() {
			t.Errorf("the submission is a %v with %v", submit.SpanKind, submit.Attributes)
		}
		runs := tr.await("run work", 2)
		first, second := runs[0], runs[1]
		if attributeOf(first, "taskkit.fence") == "2" {
			first, second = second, first
		}
		checkRoot(t, first)
		checkRoot(t, second)
		if !hasLinks(first, submit.SpanContext) || !hasLinks(second, submit.SpanContext, first.SpanContext) {
			t.Errorf("the links are %v and %v, want the submission, and for the second the first too", first.Links, second.Links)
		}
		if got := attributeOf(first, "taskkit.outcome") + " " + attributeOf(second, "taskkit.outcome"); got != "lost completed" {
			t.Errorf("the outcomes are %s", got)
		}
		below := map[trace.SpanID]string{first.SpanContext.SpanID(): "first", second.SpanContext.SpanID(): "second"}
		count := map[string]int{}
		batches := tr.spans("batch work")
		for _, s := range batches {
			count[below[s.Parent.SpanID()]]++
			below[s.SpanContext.SpanID()] = "batch"
			if s.SpanKind != trace.SpanKindInternal {
				t.Errorf("a batch is a %v", s.SpanKind)
			}
		}
		for _, s := range tr.spans("statement") {
			if below[s.Parent.SpanID()] == "" {
				t.Errorf("a statement is below %v", s.Parent.SpanID())
			}
		}
		if count["first"] != 2 || count["second"] < 2 || len(batches) != count["first"]+count["second"] {
			t.Errorf("batches: %v of %d", count, len(batches))
		}
		if text := tr.log.String(); strings.Count(text, "slice started") != 2 || !strings.Contains(text, "trace="+second.SpanContext.TraceID().String()) || !strings.Contains(text, "task="+id.String()) {
			t.Errorf("the log says:\n%s", text)
		}
	})
}

// Each of 300 batches of one lease has a span, in slices of 100 that are linked one to the next.
func TestTraceOfManyBatches(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e, w, k := newEnv(t, db), newWork(), kindNamed("work")
		tr := e.trace(sdktrace.AlwaysSample())
		var r taskkit.Registry
		taskkit.Register(&r, k, w)
		log := new(lines)
		w.batches = func(_ context.Context, b *workBatch) { b.Log.Info("a batch") }
		e.start(&r, taskkit.Config{Observer: tr, Logger: slog.New(slog.NewTextHandler(log, nil))})
		numbers := make([]int, 600)
		for i := range numbers {
			numbers[i] = 1
		}
		e.ended(e.submit(k, workSpec{Numbers: numbers}, taskkit.WithObserver(tr)))
		submit := tr.await("submit work", 1)[0]
		runs := tr.await("run work", 3)
		slices := map[trace.SpanID]int{}
		for i, s := range runs {
			checkRoot(t, s)
			want := []trace.SpanContext{submit.SpanContext}
			if i > 0 {
				want = append(want, runs[i-1].SpanContext)
			}
			if !hasLinks(s, want...) || attributeOf(s, "taskkit.batches") != "100" || s.DroppedLinks+s.DroppedAttributes+s.DroppedEvents != 0 {
				t.Errorf("slice %d has the links %v and %s batches", i, s.Links, attributeOf(s, "taskkit.batches"))
			}
			slices[s.SpanContext.SpanID()] = 0
			if n := strings.Count(log.String(), "kind=work trace="+s.SpanContext.TraceID().String()); n != 100 {
				t.Errorf("slice %d has %d records", i, n)
			}
		}
		numbered := map[string]bool{}
		for _, s := range tr.await("batch work", 300) {
			slices[s.Parent.SpanID()]++
			numbered[attributeOf(s, "taskkit.batch")] = true
		}
		if len(slices) != 3 || len(numbered) != 300 {
			t.Errorf("%d batches are below %d slices", len(numbered), len(slices))
		}
		for id, n := range slices {
			if n != 100 {
				t.Errorf("slice %v has %d batches", id, n)
			}
		}
	})
}

// A task of one batch has one span for its work. What fails has the code as error.type, and what continues later has no status.
func TestTraceOfOutcomes(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e, w := newEnv(t, db), newWork()
		tr := e.trace(sdktrace.AlwaysSample())
		var r taskkit.Registry
		kinds := map[string]*workKind{}
		for _, do := range []string{"plain", doFail, doRetry, doLater} {
			kinds[do] = kindNamed(do)
			taskkit.Register(&r, kinds[do], w)
		}
		e.start(&r, taskkit.Config{Observer: tr})
		for do, k := range kinds {
			e.ended(e.submit(k, workSpec{Do: do, Numbers: []int{1}}, taskkit.WithObserver(tr)))
		}
		check := func(s tracetest.SpanStub, outcome, code, release string, status codes.Code) {
			t.Helper()
			if attributeOf(s, "taskkit.outcome") != outcome || attributeOf(s, "error.type") != code || attributeOf(s, "taskkit.release") != release || s.Status.Code != status {
				t.Errorf("%s: %v, %+v; want %s, %s, %s, %v", s.Name, s.Attributes, s.Status, outcome, code, release, status)
			}
		}
		if s, r := tr.await("submit plain", 1)[0], tr.await("run plain", 1)[0]; attributeOf(s, "messaging.operation.type") != "send" ||
			attributeOf(r, "messaging.operation.type") != "process" || attributeOf(r, "messaging.destination.name") != "default" {
			t.Errorf("the conventions for messages: %v, %v", s.Attributes, r.Attributes)
		}
		check(tr.await("run plain", 1)[0], "completed", "", "", codes.Unset)
		check(tr.await("run fail", 1)[0], "failure", "planned", "", codes.Error)
		check(tr.await("run retry", 2)[0], "retry", "error", "", codes.Error)
		check(tr.await("run later", 2)[0], "later", "", "later", codes.Unset)
		for do := range kinds {
			if spans := tr.spans("batch " + do); len(spans) > 0 {
				t.Errorf("%s: a task of one batch has %d spans of batches", do, len(spans))
			}
		}
	})
}

// A submission that is not sampled leaves nothing in the row, and its work may be sampled nevertheless.
func TestTraceOfUnsampled(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e, w, k := newEnv(t, db), newWork(), kindNamed("work")
		never, always := e.trace(sdktrace.NeverSample()), e.trace(sdktrace.AlwaysSample())
		var r taskkit.Registry
		taskkit.Register(&r, k, w)
		e.start(&r, taskkit.Config{Observer: always})
		task := e.ended(e.submit(k, workSpec{Numbers: []int{1}}, taskkit.WithObserver(never)))
		if run := always.await("run work", 1)[0]; task.Traceparent != "" || len(run.Links) > 0 {
			t.Errorf("the row has %q, and the work the links %v", task.Traceparent, run.Links)
		}
		if n := len(never.exporter.GetSpans()); n > 0 {
			t.Errorf("%d spans are exported", n)
		}
	})
}

// A start over HTTP is below the span of its request, and a task of a message is linked to the message too.
func TestTraceFromOutside(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e, w, k := newEnv(t, db), newWork(), kindNamed("work")
		tr := e.trace(sdktrace.AlwaysSample())
		jobs, err := taskhttp.New(db.DB, taskhttp.Config{
			Caller:    func(*http.Request) (taskhttp.Caller, error) { return taskhttp.Caller{Owner: taskkit.ID{1}}, nil },
			Authorize: taskhttp.OwnJobs, Schema: e.schema, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		taskhttp.Start(jobs, "POST /work", k, taskhttp.Before(func(context.Context, *sql.Tx, taskhttp.Caller, *workSpec) ([]taskkit.SubmitOption, error) {
			return []taskkit.SubmitOption{taskkit.WithObserver(tr)}, nil
		}))
		// As an instrumented server does.
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			jobs.ServeHTTP(rw, r.WithContext(propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))))
		}))
		defer server.Close()
		const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		r, err := http.NewRequestWithContext(testdb.Within(t), http.MethodPost, server.URL+"/work", strings.NewReader(`{"numbers":[1]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Traceparent", parent)
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode >= http.StatusMultipleChoices {
			t.Fatalf("%s %s", answer.Status, body)
		}
		submit := tr.await("submit work", 1)[0]
		if submit.Parent.SpanID().String() != "b7ad6b7169203331" || submit.SpanContext.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("the submission is below %v", submit.Parent)
		}
		const message = "00-1bf7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"
		ctx := taskotel.ContextOfMessage(t.Context(), map[string]string{"Traceparent": message, "other": "x"})
		id, err := taskkit.Submit(ctx, db.DB, k, workSpec{Numbers: []int{1}}, taskkit.System(), taskkit.WithSchema(e.schema), taskkit.WithObserver(tr))
		if err != nil {
			t.Fatal(err)
		}
		var registry taskkit.Registry
		taskkit.Register(&registry, k, w)
		e.start(&registry, taskkit.Config{Observer: tr})
		e.ended(id)
		for _, s := range tr.await("run work", 2) {
			if attributeOf(s, "taskkit.task") != id.String() {
				continue
			}
			if len(s.Links) != 2 || s.Links[1].SpanContext.SpanID().String() != "c7ad6b7169203331" {
				t.Errorf("the links are %v, want the submission and the message", s.Links)
			}
		}
	})
}

// A scrape in the format of OpenMetrics has the trace of a batch as an exemplar.
func TestExemplar(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e, w, k := newEnv(t, db), newWork(), kindNamed("work")
		provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()))
		telemetry, address := exported(e, provider)
		var r taskkit.Registry
		taskkit.Register(&r, k, w)
		e.start(&r, taskkit.Config{Observer: telemetry})
		e.ended(e.submit(k, workSpec{Numbers: []int{1}}))
		request, err := http.NewRequestWithContext(testdb.Within(t), http.MethodGet, "http://"+address, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if exemplar := regexp.MustCompile(`taskkit_batch_duration_seconds_bucket\{.*taskkit_kind="work".*# \{.*trace_id="[0-9a-f]{32}"`); err != nil || !exemplar.Match(body) {
			t.Errorf("the scrape has no exemplar: %v\n%s", err, body)
		}
	})
}

// A tracer that panics harms no task.
func TestTracerThatPanics(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e, w, k := newEnv(t, db), newWork(), kindNamed("work")
		tr := e.trace(panics{sdktrace.AlwaysSample()})
		var r taskkit.Registry
		taskkit.Register(&r, k, w)
		e.start(&r, taskkit.Config{Observer: tr})
		if task := e.ended(e.submit(k, workSpec{Numbers: []int{1, 2, 3}})); task.Status != taskkit.StatusCompleted {
			t.Errorf("the task ended in %s", task.Status)
		}
	})
}

// panics is a sampler that panics.
type panics struct{ sdktrace.Sampler }

func (panics) ShouldSample(sdktrace.SamplingParameters) sdktrace.SamplingResult {
	panic("a sampler that panics, at " + time.Now().String())
}

// linked samples the spans that are linked to a sampled span, and others as another sampler does.
type linked struct{ sdktrace.Sampler }

func (s linked) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	for _, l := range p.Links {
		if l.SpanContext.IsSampled() {
			return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
		}
	}
	return s.Sampler.ShouldSample(p)
}

// A sampler that reads the links samples the work of the tasks whose submission is sampled.
func TestTraceOfLinkedSampler(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e, w, k := newEnv(t, db), newWork(), kindNamed("work")
		always, tr := e.trace(sdktrace.AlwaysSample()), e.trace(linked{sdktrace.NeverSample()})
		var r taskkit.Registry
		taskkit.Register(&r, k, w)
		e.start(&r, taskkit.Config{Observer: tr})
		e.ended(e.submit(k, workSpec{Numbers: []int{1}}))
		e.ended(e.submit(k, workSpec{Numbers: []int{1}}, taskkit.WithObserver(always)))
		tr.await("run work", 1)
	})
}
