// Package metrics serves the metrics of a program to Prometheus.
package metrics

import (
	"context"
	"database/sql"
	"log/slog"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	prometheusexporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"taskkit.dev/taskkit/taskotel"
)

// Path is where the metrics are.
const Path = "GET /metrics"

// New returns a telemetry for the tables in a schema, and the handler that serves its metrics to Prometheus, and no others.
func New(schema string, log *slog.Logger) (*taskotel.Telemetry, http.Handler, error) {
	registry := prometheus.NewRegistry()
	exporter, err := prometheusexporter.New(prometheusexporter.WithRegisterer(registry), prometheusexporter.WithoutScopeInfo(), prometheusexporter.WithoutTargetInfo())
	if err != nil {
		return nil, nil, err
	}
	telemetry, err := taskotel.New(taskotel.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter)), Schema: schema, Logger: log})
	if err != nil {
		return nil, nil, err
	}
	return telemetry, promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}), nil
}

// Serve adds the metrics of a program without a worker to a handler: the figures of the queues of a database, which it reads until ctx ends or end is called.
func Serve(ctx context.Context, db *sql.DB, schema string, log *slog.Logger, next http.Handler) (_ http.Handler, _ *taskotel.Telemetry, end func(), _ error) {
	telemetry, metrics, err := New(schema, log)
	if err != nil {
		return nil, nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(Path, metrics)
	mux.Handle("/", next)
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	reading.Go(func() { _ = telemetry.Read(ctx, db) }) // only a nil db is an error
	return mux, telemetry, func() { cancel(); reading.Wait() }, nil
}
