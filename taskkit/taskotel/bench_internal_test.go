package taskotel

import (
	"context"
	"log/slog"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"taskkit.dev/taskkit/taskevent"
)

// BenchmarkTask measures what a telemetry does for a task of one batch: its counters, and with spans 1 % of which are sampled.
func BenchmarkTask(b *testing.B) {
	for _, traced := range []bool{false, true} {
		name, o := "metrics", Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())), Logger: slog.New(slog.DiscardHandler)}
		if traced {
			name, o.TracerProvider = "traces", sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.TraceIDRatioBased(0.01)))
		}
		b.Run(name, func(b *testing.B) {
			t, err := New(o)
			if err != nil {
				b.Fatal(err)
			}
			ref, ctx := taskevent.TaskRef{Worker: "w", Kind: "work", Fence: 1, Attempt: 1}, context.WithoutCancel(b.Context())
			store := func(context.Context, string) error { return nil }
			b.ReportAllocs()
			for b.Loop() {
				t.Observe(ctx, taskevent.TaskClaimed{TaskRef: ref, Queue: "default", Waited: time.Millisecond})
				run := t.Trace(ctx, taskevent.TracedTask{TaskRef: ref, Queue: "default", Store: store})
				done := taskevent.BatchDone{TaskRef: ref, Done: 1, Duration: time.Millisecond, Traced: run != nil}
				if run != nil {
					run.Batch(ctx)
				}
				t.Observe(ctx, done)
				if run != nil {
					run.BatchDone(done)
				}
				t.Observe(ctx, taskevent.CheckpointWritten{TaskRef: ref, Done: 1})
				ended := taskevent.TaskEnded{TaskRef: ref, Queue: "default", Status: "COMPLETED", Duration: time.Millisecond}
				t.Observe(ctx, ended)
				if run != nil {
					run.Ended(ended)
				}
			}
		})
	}
}
