package shapes_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"taskkit.dev/taskkit/taskotel"
)

// measured is a telemetry whose metrics and spans a test reads.
type measured struct {
	*taskotel.Telemetry

	reader *sdkmetric.ManualReader
	spans  *tracetest.InMemoryExporter
}

func newMeasured(t *testing.T) measured {
	t.Helper()
	m := measured{reader: sdkmetric.NewManualReader(), spans: tracetest.NewInMemoryExporter()}
	var err error
	m.Telemetry, err = taskotel.New(taskotel.Options{
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(m.reader)),
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(m.spans)), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// items returns the counters of items by outcome.
func (s *shapeTest) items() map[string]int64 {
	s.Helper()
	var found metricdata.ResourceMetrics
	if err := s.measured.reader.Collect(s.Context(), &found); err != nil {
		s.Fatal(err)
	}
	items := make(map[string]int64)
	for _, m := range found.ScopeMetrics[0].Metrics {
		sum, ok := m.Data.(metricdata.Sum[int64])
		if m.Name != "taskkit.item.processed" || !ok {
			continue
		}
		for _, p := range sum.DataPoints {
			outcome, _ := p.Attributes.Value("taskkit.outcome")
			items[outcome.AsString()] += p.Value
		}
	}
	return items
}

// measures says how many items a task adds to the counters, and checks its spans: batches are below slices, which are roots.
func (s *shapeTest) measures() string {
	s.Helper()
	before := s.items()
	s.measured.spans.Reset()
	s.ended(s.submitted())
	s.touched()
	added := func(outcome string) int64 { return s.items()[outcome] - before[outcome] }
	s.until("all items are counted", func() bool { return added("done")+added("failed")+added("skipped") >= shapeNumbers })
	slices, roots := make(map[trace.SpanID]bool), 0
	s.until("each batch is below a slice that has ended", func() bool {
		below := true
		for _, span := range s.measured.spans.GetSpans() {
			if strings.HasPrefix(span.Name, "run ") {
				slices[span.SpanContext.SpanID()] = true
			}
		}
		for _, span := range s.measured.spans.GetSpans() {
			below = below && (!strings.HasPrefix(span.Name, "batch ") || slices[span.Parent.SpanID()])
		}
		return below && len(slices) > 0
	})
	for _, span := range s.measured.spans.GetSpans() {
		if slices[span.SpanContext.SpanID()] {
			roots++
			if span.Parent.IsValid() || span.SpanKind != trace.SpanKindConsumer {
				s.Errorf("%s is a %v below %v", span.Name, span.SpanKind, span.Parent)
			}
		}
	}
	s.Logf("%d slices", roots)
	return fmt.Sprintf("done %d, failed %d, skipped %d", added("done"), added("failed"), added("skipped"))
}
