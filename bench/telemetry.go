package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/riverqueue/river/rivertype"
	"github.com/riverqueue/rivercontrib/otelriver"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskotel"
)

// sampled is the share of spans that are sampled.
const sampled = 0.01

// observed is what the sides with telemetry export to: metrics in memory, and sampled spans to an exporter that drops them.
type observed struct {
	meters *sdkmetric.MeterProvider
	traces *sdktrace.TracerProvider
}

func newObserved() *observed {
	return &observed{
		sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
		sdktrace.NewTracerProvider(sdktrace.WithBatcher(tracetest.NewNoopExporter()), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(sampled)))),
	}
}

func (o *observed) close() error {
	ctx := context.Background()
	return errors.Join(o.meters.Shutdown(ctx), o.traces.Shutdown(ctx))
}

// observe gives a kit the telemetry of its worker and its submissions, which ends when the kit is closed.
func (k *kit) observe() (err error) {
	o, drop := newObserved(), k.drop
	k.drop = func() error { return errors.Join(o.close(), drop()) }
	k.telemetry, err = taskotel.New(taskotel.Options{MeterProvider: o.meters, TracerProvider: o.traces, Logger: quiet()})
	return err
}

// river returns the middleware of a client.
func (o *observed) river() []rivertype.Middleware {
	return []rivertype.Middleware{otelriver.NewMiddleware(&otelriver.MiddlewareConfig{MeterProvider: o.meters, TracerProvider: o.traces})}
}

// withTelemetry compares a drain with metrics and traces and one without: of taskkit, and of River with otelriver.
func withTelemetry(h *host, o options) ([]contest, error) {
	n := o.scaled(50_000, 1000)
	return []contest{{
		title:   fmt.Sprintf("drain of %s tiny tasks with metrics and 1 %% of the spans, PostgreSQL", figure(float64(n))),
		metrics: []metric{{name: tasksPerSecond}, {name: cpuPerTask, less: true}, {name: serverPerTask, less: true}},
		sides: []side{
			{us, drainOf(h, openTaskkit, setup{}, n)},
			{us + ", telemetry", drainOf(h, openTaskkit, setup{telemetry: true}, n)},
			{"River tuned", drainOf(h, openRiver(riverTuned), setup{}, n)},
			{"River tuned, otelriver", drainOf(h, openRiver(riverTuned), setup{telemetry: true}, n)},
		},
	}}, nil
}

// submitOptions are the options of a submission.
func (k *kit) submitOptions() []taskkit.SubmitOption {
	if k.telemetry == nil {
		return []taskkit.SubmitOption{taskkit.System()}
	}
	return []taskkit.SubmitOption{taskkit.System(), taskkit.WithObserver(k.telemetry)}
}
