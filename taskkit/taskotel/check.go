package taskotel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"taskkit.dev/taskkit/taskdoctor"
)

const (
	// staleAfter is how old the figures may be, and at least staleReadings readings: as the alert TaskkitReaderStale has it.
	staleAfter    = 2 * time.Minute
	staleReadings = 3
	// failingFor is for how long an error of OpenTelemetry is a finding. The exporters of its SDK try again once a minute or more often.
	failingFor = 5 * time.Minute
	// saidMost is how many characters of an error a finding has: an exporter may quote what it was answered.
	saidMost = 1000
)

// Check returns a check of the doctor, with the name "telemetry", for the program that the telemetry is of. It reads nothing from the
// database. It finds:
//
//   - reader_stale: [Telemetry.Read] runs, and has read nothing for 2 minutes;
//   - series_overflow: there are more than 100 kinds or queues, and the further ones are counted as [Other];
//   - exporter_failing: an error was handled within 5 minutes, see [Telemetry.Handle].
func (t *Telemetry) Check() taskdoctor.Check {
	return taskdoctor.Check{Name: "telemetry", Read: func(_ context.Context, r *taskdoctor.Reader) ([]taskdoctor.Finding, error) {
		now := r.Options.Now()
		return slices.Concat(t.stale(now), t.overflow(), t.failed.finding(now)), nil
	}}
}

// kindOf is a kind of finding of the doctor.
func kindOf(id string) taskdoctor.Kind {
	all := taskdoctor.Findings()
	return all[slices.IndexFunc(all, func(k taskdoctor.Kind) bool { return k.ID == id })]
}

// stale finds figures that are not read any more.
func (t *Telemetry) stale(now time.Time) []taskdoctor.Finding {
	f := t.figures.Load()
	if f == nil {
		return nil
	}
	age := now.Sub(f.read)
	if age <= max(staleAfter, staleReadings*t.options.Every) {
		return nil
	}
	why := "the database has not answered yet"
	if f.err != nil {
		why = said(f.err)
	}
	found := kindOf("reader_stale").Found(fmt.Sprintf("This program has not read the figures of queues for %v: %s.", age.Round(time.Second), why))
	found.Since = new(f.read.UTC())
	return []taskdoctor.Finding{found}
}

// said is the text of an error on one line, cut after saidMost characters.
func said(err error) string {
	text := []rune(strings.Join(strings.Fields(err.Error()), " "))
	if len(text) > saidMost {
		return string(text[:saidMost]) + "..."
	}
	return string(text)
}

// overflow finds labels whose values have no series of their own.
func (t *Telemetry) overflow() (all []taskdoctor.Finding) {
	queues := t.queues.beyond()
	if f := t.figures.Load(); f != nil && len(queues) == 0 {
		queues = f.beyond
	}
	for _, l := range []struct {
		what   string
		beyond []string
	}{{"kinds", t.kinds.beyond()}, {"queues", queues}} {
		if len(l.beyond) > 0 {
			found := kindOf("series_overflow").Found(fmt.Sprintf("There are more than %d %s, and the metrics count the further ones together, as %q.", valuesMost, l.what, Other))
			found.Affected = l.beyond
			all = append(all, found)
		}
	}
	return all
}

// handled are the errors of OpenTelemetry. It is safe for concurrent use.
type handled struct {
	mu    sync.Mutex
	last  error
	at    time.Time
	count int
	since time.Time // of the first error after a pause of failingFor
}

func (h *handled) add(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if now.Sub(h.at) > failingFor {
		h.count, h.since = 0, now
	}
	h.last, h.at = err, now
	h.count++
}

func (h *handled) finding(now time.Time) []taskdoctor.Finding {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil || now.Sub(h.at) > failingFor {
		return nil
	}
	found := kindOf("exporter_failing").Found(fmt.Sprintf("OpenTelemetry has reported errors, %d in %v, the last one: %s.",
		h.count, max(now.Sub(h.since), time.Second).Round(time.Second), said(h.last)))
	found.Since = new(h.since.UTC())
	return []taskdoctor.Finding{found}
}

// Handle implements the ErrorHandler of OpenTelemetry, for otel.SetErrorHandler: it logs an error of an exporter, and keeps it for [Telemetry.Check].
// The SDK reports to that handler what it cannot export, of all meters and tracers of the program. An error that comes while another is logged is not
// logged: a Logger that exports its lines may be what fails.
func (t *Telemetry) Handle(err error) {
	if err == nil {
		return
	}
	t.failed.add(err)
	if t.logging.CompareAndSwap(false, true) {
		defer t.logging.Store(false)
		t.options.Logger.Warn("OpenTelemetry reports an error", "error", err)
	}
}
