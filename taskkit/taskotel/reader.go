package taskotel

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
	"taskkit.dev/taskkit/taskops"
)

const (
	// statementTimeout bounds each statement of the reader, and readTimeout a whole reading.
	statementTimeout = time.Second
	readTimeout      = 5 * time.Second
	// terms is for how many readings a worker is elected: another one goes on when it has ended, and not when it is late once.
	terms = 3
	// schedulesRead is how many schedules are read.
	schedulesRead = 1000
)

// figures are what was read from the database. They are not modified.
type figures struct {
	read   time.Time
	values []value
	beyond []string // queues without series of their own, some of them
	err    error    // why they were not read again since
}

// value is the value of a gauge.
type value struct {
	name  string
	value float64
	attrs []metric.ObserveOption
}

// Read reads the figures of queues, waiting tasks, workers and schedules until ctx ends, and returns nil then. It runs beside a worker, with
// the same database. Of all programs with a worker one reads, and the others have no such figures: a query takes the maximum over programs. A
// program without a worker always reads.
//
// A reading that fails is logged, and another one follows at its time. Until it succeeds the former figures stay, and taskkit.reader.age
// grows. Read returns an *[taskkit.OptionError] at once if db is nil.
func (t *Telemetry) Read(ctx context.Context, db *sql.DB) error {
	if db == nil {
		return &taskkit.OptionError{Option: "db", Problem: "nil: give Read the database of the worker"}
	}
	defer t.figures.Store(nil)
	tick := time.NewTicker(t.options.Every)
	defer tick.Stop()
	var r reader
	for failing := false; ; {
		err := t.read(ctx, db, &r)
		if ctx.Err() != nil {
			return nil // asked to end: that is no failure
		}
		if err != nil && !failing {
			t.options.Logger.WarnContext(ctx, "cannot read the figures of queues; trying again", "every", t.options.Every, "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// reader is what Read keeps between its readings.
type reader struct {
	dialect dialect.Name // "": not known yet
	since   time.Time    // when it began to read; zero: another program reads
}

// read makes one reading, if this program is to read.
func (t *Telemetry) read(ctx context.Context, db *sql.DB, r *reader) (err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	elected, err := t.elected(ctx, db)
	switch {
	case err == nil && !elected:
		r.since = time.Time{}
		t.figures.Store(nil)
		return nil
	case r.since.IsZero():
		r.since = time.Now()
	}
	last := t.figures.Load()
	if last == nil {
		last = &figures{read: r.since} // its age grows until something is read
		t.figures.Store(last)
	}
	if err == nil {
		err = t.readFigures(ctx, db, r)
	}
	if err != nil {
		t.figures.Store(&figures{last.read, last.values, last.beyond, err})
	}
	return err
}

// readFigures reads the figures.
func (t *Telemetry) readFigures(ctx context.Context, db *sql.DB, r *reader) (err error) {
	if r.dialect == "" {
		if r.dialect, err = dialect.Detect(ctx, db); err != nil {
			return err
		}
		t.build.Store(new(observed(
			attribute.String("version", taskkit.Version), attribute.String("dialect", string(r.dialect)), attribute.String("schema", t.options.Schema),
		)))
	}
	began := time.Now()
	values, beyond, err := t.values(ctx, db, r.dialect)
	if err == nil {
		t.figures.Store(&figures{read: began, values: values, beyond: beyond})
	}
	return err
}

// elected reports whether this program reads: it has no worker, or a worker of it was elected.
func (t *Telemetry) elected(ctx context.Context, db *sql.DB) (bool, error) {
	t.mu.Lock()
	workers := make([]string, 0, len(t.workers))
	for id := range t.workers {
		workers = append(workers, id)
	}
	t.mu.Unlock()
	if len(workers) == 0 {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	return taskops.New(taskkit.NewClient(db, taskkit.WithSchema(t.options.Schema))).ElectReader(ctx, slices.Min(workers), terms*t.options.Every)
}

// values reads the values of all gauges, and some names of queues that have none. On PostgreSQL it does so in one transaction, with the time limit of its statements.
func (t *Telemetry) values(ctx context.Context, db *sql.DB, d dialect.Name) ([]value, []string, error) {
	if d == dialect.SQLite {
		return t.valuesOf(ctx, db)
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, nil, fmt.Errorf("begin to read the figures: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d", statementTimeout.Milliseconds())); err != nil {
		return nil, nil, fmt.Errorf("limit the time of the reader: %w", err)
	}
	return t.valuesOf(ctx, tx)
}

// valuesOf reads the values through a handle.
func (t *Telemetry) valuesOf(ctx context.Context, db taskkit.ExecQuerier) (values []value, beyond []string, err error) {
	op := taskops.New(taskkit.NewClient(db, taskkit.WithSchema(t.options.Schema)))
	queues, err := op.Queues(ctx)
	if err != nil {
		return nil, nil, err
	}
	waiting, err := op.Waiting(ctx)
	if err != nil {
		return nil, nil, err
	}
	workers, err := op.Workers(ctx)
	if err != nil {
		return nil, nil, err
	}
	schedules, err := op.SchedulesAfter(ctx, "", schedulesRead)
	if err != nil {
		return nil, nil, err
	}
	live, late := 0, time.Duration(0)
	for i := range workers {
		if workers[i].Alive {
			live++
		}
	}
	for _, s := range schedules {
		if !s.Paused {
			late = max(late, s.Late)
		}
	}
	values = []value{
		{"taskkit.worker.live", float64(live), nil},
		{"taskkit.schedule.lag", late.Seconds(), nil},
	}
	for _, q := range queues {
		if q.Paused && q.Due > 0 {
			waiting[taskcause.QueuePaused] += q.Due
		}
	}
	for _, c := range waitingCauses {
		values = append(values, value{"taskkit.task.waiting", float64(waiting[c]), observed(keyReason.String(string(c)))})
	}
	for _, q := range queues[min(valuesMost, len(queues)):min(valuesMost+namesMost, len(queues))] {
		beyond = append(beyond, q.Name)
	}
	return append(values, queueValues(queues)...), beyond, nil
}

// waitingCauses are the causes of waiting tasks that have a series.
var waitingCauses = []taskcause.Cause{
	taskcause.Start, taskcause.Later, taskcause.Retry, taskcause.Window, taskcause.Rate, taskcause.Throttled, taskcause.Limit,
	taskcause.Children, taskcause.QueuePaused, taskcause.Paused, taskcause.Approval,
}

// queueValues returns the values of queues. Those beyond the first are added up.
func queueValues(queues []taskops.QueueInfo) (values []value) {
	var rest *taskops.QueueInfo
	if len(queues) > valuesMost {
		rest = &taskops.QueueInfo{Name: Other}
		for _, q := range queues[valuesMost:] {
			rest.Due, rest.Waiting, rest.Running = rest.Due+q.Due, rest.Waiting+q.Waiting, rest.Running+q.Running
			if !q.Paused {
				rest.OldestWait = max(rest.OldestWait, q.OldestWait)
			}
		}
		queues = append(slices.Clone(queues[:valuesMost]), *rest)
	}
	for _, q := range queues {
		of := keyQueue.String(q.Name)
		oldest := q.OldestWait
		if q.Paused {
			oldest = 0 // no worker may claim it
		}
		values = append(values, value{"taskkit.queue.oldest", oldest.Seconds(), observed(of)})
		for i, n := range []int64{q.Due, q.Waiting - q.Due, q.Running} {
			values = append(values, value{"taskkit.queue.tasks", float64(n), observed(of, keyState.String(statuses[i]))})
		}
	}
	return values
}
