package taskotel_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/taskotel"
)

// exporting is a logger that exports its lines, which fails.
type exporting struct {
	slog.Handler
	telemetry *taskotel.Telemetry
	lines     int
}

func (x *exporting) Handle(context.Context, slog.Record) error {
	x.lines++
	x.telemetry.Handle(errors.New("log exporter: " + strings.Repeat("long ", 1<<18)))
	return nil
}

// An error of the exporter of the log itself is not logged again for ever, and a finding has the beginning of a long text.
func TestHandle(t *testing.T) {
	t.Parallel()
	x := &exporting{Handler: slog.NewTextHandler(t.Output(), nil)} // which says what is enabled
	telemetry, err := taskotel.New(taskotel.Options{Logger: slog.New(x)})
	if err != nil {
		t.Fatal(err)
	}
	x.telemetry = telemetry
	telemetry.Handle(nil)
	for range 3 {
		telemetry.Handle(errors.New("span exporter"))
	}
	if x.lines != 3 {
		t.Errorf("%d lines were logged, want 3", x.lines)
	}
	found, err := telemetry.Check().Read(t.Context(), &taskdoctor.Reader{Options: taskdoctor.Options{Now: time.Now}})
	if err != nil || len(found) != 1 || !strings.Contains(found[0].Text, "6 in") || len(found[0].Text) > 2000 {
		t.Errorf("found %.300v, %v", found, err)
	}
}
