package taskkit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store/dbstore"
)

// checkOn returns all mistakes in the configuration for a database, joined. It skips
// the checks that need the database if that cannot be reached.
func (c Config) checkOn(ctx context.Context, db *sql.DB, e engine.Config) error {
	name, err := dialect.Detect(ctx, db)
	if err != nil {
		return c.check(e)
	}
	return c.checkFor(name, e)
}

// checkFor returns all mistakes in the configuration for a kind of database, joined.
func (c Config) checkFor(name dialect.Name, e engine.Config) error {
	if name == dialect.SQLite {
		return errors.Join(c.check(e), c.checkSQLite(e))
	}
	err := c.check(e)
	if problem := dbstore.CheckListenDSN(c.ListenDSN); problem != nil {
		err = errors.Join(err, &OptionError{"Config.ListenDSN", problem.Error()})
	}
	return err
}

// check returns the mistakes in the configuration that do not depend on the
// database, joined. e has the values with the defaults filled in.
func (c Config) check(e engine.Config) error {
	var errs []error
	fail := func(field, format string, args ...any) {
		errs = append(errs, &OptionError{"Config." + field, fmt.Sprintf(format, args...)})
	}
	for _, d := range []struct {
		field     string
		have, min time.Duration
		reason    string
	}{
		{"Backoff", e.Backoff.Base, time.Millisecond, "a batch that failed would be retried without a pause"},
		{"BatchTarget", e.BatchTarget, time.Millisecond, "no batch is that fast"},
		{"BatchTimeout", e.BatchTimeout, 10 * time.Millisecond, "batches would be cancelled before they can commit"},
		{"CallTimeout", e.Call, 100 * time.Millisecond, "calls would be cancelled before the database can answer"},
		{"Drain", e.Drain, 100 * time.Millisecond, "a worker that ends could not release its tasks"},
		{"Heartbeat", e.Heartbeat, 100 * time.Millisecond, "heartbeats would load the database for nothing"},
		{"DeadAfter", e.DeadAfter, 500 * time.Millisecond, "a short pause of the worker or the database would pass for its death"},
		{"LockTimeout", e.LockTimeout, time.Millisecond, "no lock is waited for that briefly"},
		{"Poll", e.Poll, time.Millisecond, "polling would load the database for nothing"},
		{"PollListening", e.PollListening, time.Millisecond, "polling would load the database for nothing"},
		{"Quantum", e.Quantum, time.Millisecond, "tasks would be released after every batch"},
	} {
		if d.have < d.min {
			fail(d.field, "%v is less than %v: %s", d.have, d.min, d.reason)
		}
	}
	if e.Backoff.Cap < e.Backoff.Base {
		fail("BackoffMax", "%s is less than Backoff (%s): delays begin with Backoff and grow up to BackoffMax",
			given(c.BackoffMax, e.Backoff.Cap), given(c.Backoff, e.Backoff.Base))
	}
	if e.DeadAfter < 3*e.Heartbeat {
		fail("DeadAfter", "%s is less than three times Heartbeat (%s): other workers would take over the tasks of a live worker whose heartbeat is late",
			given(c.DeadAfter, e.DeadAfter), given(c.Heartbeat, e.Heartbeat))
	}
	if e.Slots < 1 || e.Slots > 10_000 {
		fail("Slots", "%d is not between 1 and 10,000", e.Slots)
	}
	if e.ClaimMax < 0 || e.ClaimMax > 10_000 {
		fail("ClaimMax", "%d is not between 1 and 10,000: leave it 0 for no bound of its own", e.ClaimMax)
	}
	if e.MaxAttempts < 1 {
		fail("MaxAttempts", "%d is less than 1: no batch would be tried", e.MaxAttempts)
	}
	for _, q := range e.Queues {
		if !lifecycle.ValidQueue(q) {
			fail("Queues", "%s", queueProblem(q))
		}
	}
	for _, q := range slices.Sorted(maps.Keys(e.QueueSlots)) {
		switch n := e.QueueSlots[q]; {
		case !slices.Contains(e.Queues, q):
			fail("QueueSlots", "%q is not a queue of this worker: name it in Queues, or leave it out of QueueSlots", shorten(q))
		case n < 1:
			fail("QueueSlots", "%d slots for queue %s: leave the queue out of Queues, and this worker executes none of its tasks", n, q)
		}
	}
	fields, problems := c.Retention.problems(false)
	for i := range fields {
		fail("Retention."+fields[i], "%s", problems[i])
	}
	for _, kind := range slices.Sorted(maps.Keys(c.KindRetention)) {
		fields, problems := c.KindRetention[kind].problems(true)
		for i := range fields {
			fail(fmt.Sprintf("KindRetention[%q].%s", kind, fields[i]), "%s", problems[i])
		}
	}
	fields, problems = throttleProblems(c.Throttle)
	for i := range fields {
		fail("Throttle."+fields[i], "%s", problems[i])
	}
	if err := dialect.CheckSchema(or(c.Schema, DefaultSchema)); err != nil {
		fail("Schema", "%v", err)
	}
	return errors.Join(errs...)
}

// checkSQLite returns the mistakes in the configuration that only SQLite has.
func (c Config) checkSQLite(e engine.Config) error {
	if e.BatchTimeout <= e.DeadAfter*3/4 {
		return nil
	}
	return &OptionError{"Config.BatchTimeout", fmt.Sprintf(
		"%s is more than three quarters of DeadAfter (%s): a batch on SQLite keeps the file's write lock, so one that long would delay the heartbeat until other workers take the tasks over",
		given(c.BatchTimeout, e.BatchTimeout), given(c.DeadAfter, e.DeadAfter))}
}

// given writes a duration, and whether it is a default.
func given(set, used time.Duration) string {
	if set == 0 {
		return fmt.Sprintf("the default %v", used)
	}
	return used.String()
}
