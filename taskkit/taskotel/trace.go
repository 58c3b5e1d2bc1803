package taskotel

import (
	"context"
	"encoding/hex"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
)

const (
	// sliceBatches and sliceTime bound a slice: a span of a whole run would have no end while it runs, and more children than backends take.
	sliceBatches = 100
	sliceTime    = 5 * time.Minute
)

// The attributes of spans, besides the attributes of the metrics.
const (
	keyTask      = attribute.Key("taskkit.task")
	keyFence     = attribute.Key("taskkit.fence")
	keyAttempt   = attribute.Key("taskkit.attempt")
	keyTasks     = attribute.Key("taskkit.tasks")
	keyBatch     = attribute.Key("taskkit.batch")
	keyBatches   = attribute.Key("taskkit.batches")
	keyDone      = attribute.Key("taskkit.done")
	keyFailed    = attribute.Key("taskkit.failed")
	keySkipped   = attribute.Key("taskkit.skipped")
	keyRelease   = attribute.Key("taskkit.release")
	keyErrorType = attribute.Key("error.type")
)

// A task keeps the context of its submission, then the contexts of messages that it was made of, and last the context of its last slice, which
// replaces the one before: "SUBMIT,MESSAGE;SLICE", each as W3C traceparent has it.
const (
	nextLink  = ","
	lastSlice = ";"
)

// traceparent returns a span context as W3C traceparent has it.
func traceparent(c trace.SpanContext) string {
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}

// spanContext reads a traceparent. What is none is not valid.
func spanContext(text string) trace.SpanContext {
	parts := strings.Split(text, "-")
	if len(parts) != 4 || parts[0] != "00" || len(parts[3]) != 2 {
		return trace.SpanContext{}
	}
	id, err := trace.TraceIDFromHex(parts[1])
	if err != nil {
		return trace.SpanContext{}
	}
	span, err := trace.SpanIDFromHex(parts[2])
	if err != nil {
		return trace.SpanContext{}
	}
	flags, err := hex.DecodeString(parts[3])
	if err != nil {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: trace.TraceFlags(flags[0]), Remote: true})
}

// links are the spans that a task is linked to.
func links(stored string) (found []trace.Link) {
	for _, text := range strings.FieldsFunc(stored, func(r rune) bool { return strings.ContainsRune(nextLink+lastSlice, r) }) {
		if c := spanContext(text); c.IsValid() {
			found = append(found, trace.Link{SpanContext: c})
		}
	}
	return found
}

// ContextOfMessage returns a context with the span that the headers of a message name (traceparent): a submission with it is a child of that
// span, and the work on the task is linked to it. Without such a header it returns ctx.
func ContextOfMessage(ctx context.Context, headers map[string]string) context.Context {
	for name, text := range headers {
		if c := spanContext(text); strings.EqualFold(name, "traceparent") && c.IsValid() {
			return trace.ContextWithRemoteSpanContext(ctx, c)
		}
	}
	return ctx
}

// semconvMessaging is the value of Options.Semconv for the conventions for messages, whose attributes follow.
const (
	semconvMessaging = "messaging"

	keySystem        = attribute.Key("messaging.system")
	keyDestination   = attribute.Key("messaging.destination.name")
	keyOperation     = attribute.Key("messaging.operation.name")
	keyOperationType = attribute.Key("messaging.operation.type")
)

// messaging sets the attributes of the conventions for messages, if they are wanted.
func (t *Telemetry) messaging(span trace.Span, queue, operation, operationType string) {
	if t.options.Semconv == semconvMessaging {
		span.SetAttributes(keySystem.String("taskkit"), keyDestination.String(queue), keyOperation.String(operation), keyOperationType.String(operationType))
	}
}

// The options of spans, made once. Attributes follow for spans that are sampled.
var (
	submitOptions = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindProducer)}
	sliceOptions  = []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer)}
)

// startSubmit begins the span of a submission, and stores its context with the tasks if it is sampled.
func (t *Telemetry) startSubmit(ctx context.Context, s *taskkit.Submitting) (context.Context, trace.Span) {
	from := trace.SpanContextFromContext(ctx)
	ctx, span := t.tracer.Start(ctx, t.kinds.row(s.Kind).submitSpan, submitOptions...)
	if span.IsRecording() {
		span.SetAttributes(keyKind.String(s.Kind), keyQueue.String(s.Queue), keyTasks.Int(s.Tasks))
		t.messaging(span, s.Queue, "submit", "send")
	}
	if c := span.SpanContext(); c.IsSampled() && s.Traceparent == "" {
		s.Traceparent = traceparent(c)
		if from.IsRemote() && from.IsSampled() {
			s.Traceparent += nextLink + traceparent(from)
		}
	}
	return ctx, span
}

// endSubmit ends the span of a submission.
func endSubmit(span trace.Span, ids []taskkit.ID, err error) {
	if !span.IsRecording() {
		span.End()
		return
	}
	if len(ids) == 1 {
		span.SetAttributes(keyTask.String(ids[0].String()))
	}
	if result := resultOf(err); result != 0 {
		span.SetAttributes(keyErrorType.String(results[result]))
		span.SetStatus(codes.Error, results[result])
	}
	span.End()
}

// Trace implements [taskevent.Tracer].
func (t *Telemetry) Trace(_ context.Context, task taskevent.TracedTask) taskevent.Trace {
	if t.tracer == nil {
		return nil
	}
	kept, _, _ := strings.Cut(task.Traceparent, lastSlice)
	return &run{t: t, task: task, kept: kept, links: links(task.Traceparent), submitted: len(links(kept))}
}

// run is the work on a task under one lease, in slices.
type run struct {
	t         *Telemetry
	task      taskevent.TracedTask
	kept      string // of the text that is stored with the task, without a slice
	submitted int    // links of kept
	links     []trace.Link

	slice   trace.Span // nil: none has begun
	began   time.Time
	batches int             // of the slice
	log     *slog.Logger    // of the slice; nil: none was made
	number  int             // of the batch under this lease
	ctx     context.Context //nolint:containedctx // of the present batch, with its span, for its exemplar
	batch   trace.Span
	// first is the first batch of the lease, which has no span before there is another: most tasks have one batch.
	first *firstBatch
}

// firstBatch is a batch that has no span yet.
type firstBatch struct {
	began, ended time.Time
	done         *taskevent.BatchDone // nil: it was not reported
}

// Batch implements [taskevent.Trace].
func (r *run) Batch(ctx context.Context) context.Context {
	r.endBatch()
	if r.slice != nil && (r.batches == sliceBatches || time.Since(r.began) >= sliceTime) {
		r.endSlice()
	}
	if r.slice == nil {
		r.startSlice(ctx)
	}
	r.batches++
	r.number++
	ctx = trace.ContextWithSpan(ctx, r.slice)
	switch {
	case !r.slice.IsRecording():
	case r.number == 1:
		r.first = &firstBatch{began: time.Now()}
	default:
		r.startFirst(ctx)
		ctx, r.batch = r.startBatch(ctx, r.number)
	}
	r.ctx = ctx
	return ctx
}

func (r *run) startBatch(ctx context.Context, number int, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	return r.t.tracer.Start(ctx, r.t.kinds.row(r.task.Kind).batchSpan, append(opts, trace.WithAttributes(keyBatch.Int(number)))...)
}

// startFirst makes the span of the first batch, now that it is not the only one.
func (r *run) startFirst(ctx context.Context) {
	f := r.first
	if r.first = nil; f == nil {
		return
	}
	_, span := r.startBatch(ctx, 1, trace.WithTimestamp(f.began))
	if f.done != nil {
		describe(span, f.done)
	}
	span.End(trace.WithTimestamp(f.ended))
}

// Logger implements [taskevent.Trace]: records of a sampled slice have its trace, beside the task and its kind.
func (r *run) Logger(l *slog.Logger) *slog.Logger {
	c := r.slice.SpanContext()
	if !c.IsSampled() {
		return l
	}
	if r.log == nil {
		r.log = l.With("trace", c.TraceID().String())
	}
	return r.log
}

// BatchDone implements [taskevent.Trace].
func (r *run) BatchDone(e taskevent.BatchDone) {
	r.t.batch.Record(r.ctx, e.Duration.Seconds(), r.t.kinds.row(e.Kind).batch...)
	switch {
	case r.first != nil:
		r.first.done, r.first.ended = &e, time.Now()
	case r.batch != nil:
		describe(r.batch, &e)
		r.endBatch()
	}
}

// describe says what a batch has done.
func describe(span trace.Span, e *taskevent.BatchDone) {
	span.SetAttributes(keyDone.Int64(e.Done), keyFailed.Int64(e.Failed), keySkipped.Int64(e.Skipped))
	if e.Code != "" {
		span.SetAttributes(keyErrorType.String(e.Code))
		span.SetStatus(codes.Error, e.Code)
	}
}

// endBatch ends the present batch.
func (r *run) endBatch() {
	if r.first != nil && r.first.ended.IsZero() {
		r.first.ended = time.Now()
	}
	if r.batch != nil {
		r.batch.End()
		r.batch = nil
	}
}

// startSlice begins a slice: a trace of its own, linked to the submission, to the messages and to the slice before.
func (r *run) startSlice(ctx context.Context) {
	r.batches, r.began, r.log = 0, time.Now(), nil
	opts := sliceOptions
	if len(r.links) > 0 {
		opts = append(slices.Clone(opts), trace.WithLinks(r.links...))
	}
	ctx, r.slice = r.t.tracer.Start(ctx, r.t.kinds.row(r.task.Kind).runSpan, opts...)
	if r.slice.IsRecording() {
		r.slice.SetAttributes(keyKind.String(r.task.Kind), keyQueue.String(r.task.Queue), keyTask.String(r.task.Task.String()), keyFence.Int64(r.task.Fence), keyAttempt.Int(r.task.Attempt))
		r.t.messaging(r.slice, r.task.Queue, "run", "process")
	}
	c := r.slice.SpanContext()
	if !c.IsSampled() {
		return
	}
	r.t.options.Logger.InfoContext(ctx, "slice started", "task", r.task.Task, "kind", r.task.Kind, "trace", c.TraceID())
	r.links = append(r.links[:r.submitted:r.submitted], trace.Link{SpanContext: c})
	if r.kept == "" {
		return // nothing would read what is stored
	}
	if err := r.task.Store(ctx, r.kept+lastSlice+traceparent(c)); err != nil {
		r.slice.AddEvent("the slice was not stored: the next lease of the task is not linked to it")
	}
}

// endSlice ends the present slice.
func (r *run) endSlice() {
	if r.slice.IsRecording() {
		r.slice.SetAttributes(keyBatches.Int(r.batches))
	}
	r.slice.End()
	r.slice = nil
}

// Ended implements [taskevent.Trace].
func (r *run) Ended(e taskevent.Event) {
	if r.slice == nil {
		return
	}
	r.endBatch()
	if !r.slice.IsRecording() {
		r.endSlice()
		return
	}
	outcome, code := attempts[attemptLost], ""
	switch e := e.(type) {
	case taskevent.TaskEnded:
		outcome, code = ends[endOf(&e)], e.Code
	case taskevent.TaskRetried:
		outcome, code = attempts[attemptRetry], e.Code
	case taskevent.TaskReleased:
		outcome = attempts[attemptLater]
		r.slice.SetAttributes(keyRelease.String(e.Cause))
	}
	r.slice.SetAttributes(keyOutcome.String(outcome))
	if code != "" {
		r.slice.SetAttributes(keyErrorType.String(code))
		r.slice.SetStatus(codes.Error, code)
	}
	r.endSlice()
}
