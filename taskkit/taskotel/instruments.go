package taskotel

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// valuesMost is of how many kinds, queues and indicators a Telemetry has series. Further ones are counted as "other": the SDK drops what
// exceeds 2,000 series of an instrument.
const valuesMost = 100

// Other is the kind, the queue and the indicator of what is beyond the first 100 that a [Telemetry] has seen.
const Other = "other"

// A label is an attribute of an instrument, and how many values it can have.
type label struct {
	key  attribute.Key
	most int
}

// What ends with a task, and with an attempt.
var (
	ends       = []string{"completed", "partial", "failure", "error", "removed"}
	attempts   = []string{"ok", "later", "retry", "error", "lost", "interrupted"}
	processed  = []string{"done", "failed", "skipped"}
	results    = []string{"stored", "duplicate", "refused", "error"}
	statuses   = []string{"due", "waiting", "running"}
	slotStates = []string{"busy", "free"}
	commits    = []string{"batch", "group"}
)

// The attributes.
const (
	keyKind    = attribute.Key("taskkit.kind")
	keyQueue   = attribute.Key("taskkit.queue")
	keyOutcome = attribute.Key("taskkit.outcome")
	keyReason  = attribute.Key("taskkit.reason")
	keyState   = attribute.Key("taskkit.state")
)

var (
	ofKind  = label{keyKind, valuesMost + 1}
	ofQueue = label{keyQueue, valuesMost + 1}
)

// outcomes is a label with these values.
func outcomes(values []string) label { return label{keyOutcome, len(values)} }

// form is what an instrument is.
type form int

const (
	gauge form = iota
	counter
	histogram
)

// An instrument is one metric.
type instrument struct {
	name, unit  string
	form        form
	description string
	labels      []label
	buckets     []float64
}

// The bounds of the histograms, in seconds.
var (
	waitBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 10800, 21600}
	runBuckets  = []float64{.005, .025, .1, .5, 1, 5, 15, 60, 300, 900, 3600, 10800, 21600}
	callBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
)

// The instruments by name, so that a test compares them with the documentation.
var instruments = []instrument{
	{"taskkit.queue.oldest", "s", gauge, "How long the task has been due that has been due for longest", []label{ofQueue}, nil},
	{"taskkit.queue.tasks", "{task}", gauge, "Tasks that are due, wait for their time, or run; at most 10,000 of a kind, revision and priority are counted", []label{ofQueue, {keyState, len(statuses)}}, nil},
	{"taskkit.task.waiting", "{task}", gauge, "Tasks that wait for something else than a worker; at most 10,000 are counted, and 10,000 each that are paused or wait for approval", []label{{keyReason, len(waitingCauses)}}, nil},
	{"taskkit.worker.live", "{worker}", gauge, "Live workers", nil, nil},
	{"taskkit.schedule.lag", "s", gauge, "How late the latest schedule is", nil, nil},
	{"taskkit.reader.age", "s", gauge, "How old the figures of queues, waiting tasks, live workers and schedules are", nil, nil},
	{"taskkit.build_info", "", gauge, "1, with the version of the library, the database and the schema", []label{{"version", 1}, {"dialect", 1}, {"schema", 1}}, nil},
	{"taskkit.worker.slots", "{slot}", gauge, "Slots of the workers of this program", []label{{keyState, len(slotStates)}}, nil},
	{"taskkit.throttle.active", "{worker}", gauge, "Workers of this program whose batches wait for an indicator", []label{{keyReason, valuesMost + 1}}, nil},

	{"taskkit.task.submitted", "{task}", counter, "Tasks that this program has submitted", []label{ofKind, outcomes(results)}, nil},
	{"taskkit.task.ended", "{task}", counter, "Tasks that have ended", []label{ofKind, outcomes(ends)}, nil},
	{"taskkit.queue.ended", "{task}", counter, "Tasks that have ended", []label{ofQueue}, nil},
	{"taskkit.task.attempts", "{attempt}", counter, "Leases of tasks that have ended", []label{ofKind, outcomes(attempts)}, nil},
	{"taskkit.item.processed", "{item}", counter, "Items in committed batches", []label{ofKind, outcomes(processed)}, nil},
	{"taskkit.worker.taken_over", "{task}", counter, "Tasks that lost workers had, and that this program has released", nil, nil},
	{"taskkit.worker.declared_dead", "{worker}", counter, "Workers that this program has declared dead", nil, nil},
	{"taskkit.commit.uncertain", "{commit}", counter, "Commits whose outcome was read back", []label{{keyReason, len(commits)}}, nil},

	{"taskkit.task.wait.duration", "s", histogram, "How long tasks had been due when they were claimed", []label{ofQueue}, waitBuckets},
	{"taskkit.task.run.duration", "s", histogram, "How long the last worker of tasks that have ended worked on them", []label{ofKind}, runBuckets},
	{"taskkit.batch.duration", "s", histogram, "How long the calls of executors took", []label{ofKind}, runBuckets},
	{"taskkit.claim.duration", "s", histogram, "How long claims took", nil, callBuckets},
	{"taskkit.flush.duration", "s", histogram, "How long group commits took", nil, callBuckets},
}

// meters are the instruments, made by a meter. Each is in the map of its form.
type meters struct {
	counters   map[string]metric.Int64ObservableCounter
	gauges     map[string]metric.Float64ObservableGauge
	histograms map[string]metric.Float64Histogram
	all        []metric.Observable
}

// newMeters makes the instruments.
func newMeters(m metric.Meter) (*meters, error) {
	made := &meters{
		counters: make(map[string]metric.Int64ObservableCounter), gauges: make(map[string]metric.Float64ObservableGauge),
		histograms: make(map[string]metric.Float64Histogram),
	}
	var errs []error
	for _, i := range instruments {
		unit, description := metric.WithUnit(i.unit), metric.WithDescription(i.description)
		var err error
		switch i.form {
		case counter:
			made.counters[i.name], err = m.Int64ObservableCounter(i.name, unit, description)
			made.all = append(made.all, made.counters[i.name])
		case gauge:
			made.gauges[i.name], err = m.Float64ObservableGauge(i.name, unit, description)
			made.all = append(made.all, made.gauges[i.name])
		case histogram:
			made.histograms[i.name], err = m.Float64Histogram(i.name, unit, description, metric.WithExplicitBucketBoundaries(i.buckets...))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("make the instrument %s: %w", i.name, err))
		}
	}
	return made, errors.Join(errs...)
}
