package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/taskotel"
)

// ownTelemetry is why the command cannot find what a telemetry shows.
const ownTelemetry = "the command has no telemetry of another program"

// telemetry returns a telemetry whose check the doctor makes.
func (b *env) telemetry() *taskotel.Telemetry {
	b.Helper()
	t, err := taskotel.New(taskotel.Options{
		MeterProvider: sdkmetric.NewMeterProvider(), Schema: b.schema, Every: time.Second, Logger: slog.New(slog.NewTextHandler(b.Output(), nil)),
	})
	b.must(err)
	b.options.Checks = []taskdoctor.Check{t.Check()}
	return t
}

// telemetryPlants are findings about the metrics of a program.
var telemetryPlants = []plant{
	{id: "reader_stale", uncommanded: ownTelemetry, plant: func(b *env, _ *plant) {
		t := b.telemetry()
		b.exec("ALTER TABLE taskkit_task_process RENAME TO elsewhere")
		ctx, end := context.WithCancel(context.WithoutCancel(b.Context()))
		done := make(chan error, 1)
		go func() { done <- t.Read(ctx, b.DB.DB) }()
		b.Cleanup(func() { end(); b.must(<-done) })
		b.later(10 * time.Minute)
	}, mend: func(b *env, _ *taskdoctor.Finding) {
		b.exec("ALTER TABLE elsewhere RENAME TO taskkit_task_process")
		b.later(2 * time.Minute) // so what is read from now on is not too old
	}},
	{id: "series_overflow", about: "kind-100", uncommanded: ownTelemetry, plant: func(b *env, _ *plant) {
		t := b.telemetry()
		for i := range 101 {
			t.Observe(b.Context(), taskevent.TaskRetried{TaskRef: taskevent.TaskRef{Kind: fmt.Sprint("kind-", i)}})
		}
	}, mend: func(b *env, _ *taskdoctor.Finding) { b.telemetry() }}, // the program starts anew, with fewer
	{id: "exporter_failing", uncommanded: ownTelemetry, plant: func(b *env, _ *plant) {
		b.telemetry().Handle(errors.New("the collector refuses the connection"))
	}, mend: func(b *env, _ *taskdoctor.Finding) { b.later(6 * time.Minute) }},
}

// later lets the doctor look so much later.
func (b *env) later(d time.Duration) {
	at := time.Now().Add(d)
	b.options.Now = func() time.Time { return at }
}

// What OpenTelemetry reports is kept for five minutes, and counted.
func TestExporterErrorsAreCounted(t *testing.T) {
	t.Parallel()
	telemetry, err := taskotel.New(taskotel.Options{MeterProvider: sdkmetric.NewMeterProvider(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	found := func() []taskdoctor.Finding {
		t.Helper()
		all, err := telemetry.Check().Read(t.Context(), &taskdoctor.Reader{Options: taskdoctor.Options{Now: func() time.Time { return at }}})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	telemetry.Handle(nil)
	if all := found(); len(all) > 0 {
		t.Errorf("found %+v before an error", all)
	}
	telemetry.Handle(errors.New("one"))
	telemetry.Handle(errors.New("two\nlines"))
	if all := found(); len(all) != 1 || all[0].Text != "OpenTelemetry has reported errors, 2 in 1s, the last one: two lines." {
		t.Errorf("found %+v, want both errors", all)
	}
	if at = at.Add(6 * time.Minute); len(found()) > 0 {
		t.Errorf("found %+v after six minutes", found())
	}
}
