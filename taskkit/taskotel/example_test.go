package taskotel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/taskotel"
)

// A telemetry is the observer of a worker. Here it gets the end of a task, which a worker reports otherwise.
func ExampleNew() {
	reader := sdkmetric.NewManualReader() // or an exporter
	telemetry, err := taskotel.New(taskotel.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
	if err != nil {
		panic(err)
	}
	config := taskkit.Config{Observer: telemetry}
	config.Observer.Observe(context.Background(), taskevent.TaskEnded{
		TaskRef: taskevent.TaskRef{Kind: "greet"}, Queue: "default", Status: string(taskkit.StatusCompleted), Duration: time.Second,
	})
	var collected metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &collected); err != nil {
		panic(err)
	}
	for _, m := range collected.ScopeMetrics[0].Metrics {
		if m.Name == "taskkit.task.ended" {
			for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints { //nolint:forcetypeassert,errcheck // it is a counter
				if p.Value > 0 {
					fmt.Println(p.Value, p.Attributes.Encoded(attribute.DefaultEncoder()))
				}
			}
		}
	}
	// Output: 1 taskkit.kind=greet,taskkit.outcome=completed
}

// The doctor finds what an exporter could not send. Programs pass the telemetry to otel.SetErrorHandler, which calls Handle.
func ExampleTelemetry_Check() {
	telemetry, err := taskotel.New(taskotel.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	telemetry.Handle(errors.New("connection refused"))
	options := taskdoctor.Options{Checks: []taskdoctor.Check{telemetry.Check()}} // of taskdoctor.Run, or of taskhttp.Config
	found, err := options.Checks[0].Read(context.Background(), &taskdoctor.Reader{Options: taskdoctor.Options{Now: time.Now}})
	if err != nil {
		panic(err)
	}
	fmt.Println(found[0].ID, found[0].Severity)
	// Output: exporter_failing warning
}

// Options that cannot be used are named.
func ExampleNew_invalid() {
	_, err := taskotel.New(taskotel.Options{Every: time.Millisecond})
	fmt.Println(err)
	_, err = taskotel.New(taskotel.Options{Semconv: "http"})
	fmt.Println(err)
	// Output:
	// taskkit: Every: 1ms, shorter than 1s: the figures are read from all queues
	// taskkit: Semconv: "http": use "messaging", or leave it out
}
