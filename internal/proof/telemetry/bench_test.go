package telemetry_test

import (
	"context"
	"log/slog"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskotel"
)

// BenchmarkDrain measures a task of a drain: with no observer, with metrics, and with metrics and traces of which 1 % are sampled.
func BenchmarkDrain(b *testing.B) {
	for _, with := range []string{"none", "metrics", "traces"} {
		b.Run(with, func(b *testing.B) {
			db := testdb.Postgres(b)
			if err := taskkit.Migrate(b.Context(), db.DB, db.Schema); err != nil {
				b.Fatal(err)
			}
			db.SetMaxOpenConns(20)
			k, w := kindNamed("work"), newWork()
			config := taskkit.Config{Schema: db.Schema, Logger: slog.New(slog.DiscardHandler)}
			opts := []taskkit.SubmitOption{taskkit.System(), taskkit.WithSchema(db.Schema)}
			if with != "none" {
				o := taskotel.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())), Schema: db.Schema, Logger: config.Logger}
				if with == "traces" {
					provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(tracetest.NewNoopExporter()), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01))))
					b.Cleanup(func() { _ = provider.Shutdown(context.WithoutCancel(b.Context())) })
					o.TracerProvider = provider
				}
				t, err := taskotel.New(o)
				if err != nil {
					b.Fatal(err)
				}
				config.Observer, opts = t, append(opts, taskkit.WithObserver(t))
			}
			var last taskkit.ID
			for range b.N {
				id, err := taskkit.Submit(b.Context(), db.DB, k, workSpec{Numbers: []int{1}}, append(opts, taskkit.WithoutNotify())...)
				if err != nil {
					b.Fatal(err)
				}
				last = id
			}
			var r taskkit.Registry
			taskkit.Register(&r, k, w)
			worker, err := taskkit.NewWorker(b.Context(), db.DB, &r, config)
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan error, 1)
			b.ReportAllocs()
			b.ResetTimer()
			go func() { done <- worker.Run(ctx) }()
			if _, err := taskkit.NewClient(db.DB, taskkit.WithSchema(db.Schema)).Wait(b.Context(), last, nil); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			cancel()
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		})
	}
}
