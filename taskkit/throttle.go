package taskkit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Throttle says when batches wait because the database is not well: a bulk change goes slower rather
// than harm others. A task whose batch must wait gives its slot back at its next batch boundary, keeps what it has
// done, spends no attempt, shows why it waits, and continues within Interval after the cause
// has gone. The zero value is ready to use.
//
// The indicators of the database concern the kinds that say which tables they write
// ([Definition].Touches, in the directive touches=people,enrolments), on PostgreSQL. They are
// "vacuum", "replicas", "wal" and "locks"; "health" stands for a database that does not answer.
// An indicator that the server does not have, or that the role of the worker may not read, makes no task wait, and is
// reported once, as [taskevent.IndicatorUnreadable]. Kinds without tables and indicators cost nothing.
type Throttle struct {
	// Off reads no indicator, and lets no batch wait, also not for Indicators. Defaults to false.
	Off bool

	// Interval is for how long a reading of the indicators holds: a worker reads them at most so
	// often, however many tasks it has. Defaults to 5 s; at least 10 ms.
	Interval time.Duration

	// IgnoreVacuum lets batches run while autovacuum, VACUUM or CLUSTER works on a table that they
	// write. Defaults to false.
	IgnoreVacuum bool

	// ReplicaLag is how long ago a connected physical standby may have been where the primary is.
	// Defaults to 60 s; Never: no time is too long.
	ReplicaLag time.Duration

	// ReplicaBytes is how much WAL such a standby may have to replay: it finds a standby whose replay is
	// paused. Defaults to 1 GiB; a negative value: there is no limit.
	ReplicaBytes int64

	// IgnoreReplicas are the standbys, by application_name, that may be behind, such as one with a
	// recovery_min_apply_delay. Defaults to none.
	IgnoreReplicas []string

	// WALRate is how many bytes of WAL the server may write per second. Defaults to 0, which is no
	// limit.
	WALRate int64

	// LockWait is how long a session may wait for a lock on a table that batches write, or for one
	// that a batch of any kind holds. Defaults to 10 s; Never: no time is too long.
	LockWait time.Duration

	// Indicators are those of the application, on PostgreSQL and SQLite. Defaults to none.
	Indicators []Indicator
}

// Indicator tells whether batches may run, by what only the application knows: the load of
// another service, the length of a queue, the hour of an exam.
type Indicator struct {
	// Name stands in the reasons of tasks and in events. It consists of at most 63 lower case letters,
	// digits and underscores.
	Name string

	// Kinds are the kinds whose batches wait, by their names. Defaults to all kinds.
	Kinds []string

	// Check returns in a few words why batches must wait, or "" if they may run. It is called when
	// a task is about to run a batch and the last answer is older than Throttle.Interval: once for all tasks
	// of a worker, and never twice at a time. ctx ends after Throttle.Interval or Config.CallTimeout, whichever
	// is shorter, but not before a second has passed.
	//
	// Batches wait also while Check returns an error, panics or does not return: without an answer
	// it is not known whether they do harm. A Check for which that is wrong returns "" itself.
	Check func(ctx context.Context) (why string, err error)
}

// Defaults of a [Throttle].
const (
	defaultThrottleInterval = 5 * time.Second
	defaultReplicaLag       = time.Minute
	defaultReplicaBytes     = 1 << 30
	defaultLockWait         = 10 * time.Second
)

// minThrottleInterval is the shortest Throttle.Interval.
const minThrottleInterval = 10 * time.Millisecond

// engine returns the configuration of the engine, with the defaults filled in.
func (t Throttle) engine() session.ThrottleConfig {
	if t.Off {
		return session.ThrottleConfig{}
	}
	c := session.ThrottleConfig{
		Interval: or(t.Interval, defaultThrottleInterval), Vacuum: !t.IgnoreVacuum,
		ReplicaLag: kept(or(t.ReplicaLag, defaultReplicaLag)), ReplicaBytes: max(or(t.ReplicaBytes, defaultReplicaBytes), 0),
		IgnoreReplicas: t.IgnoreReplicas, WALRate: t.WALRate, LockWait: kept(or(t.LockWait, defaultLockWait)),
	}
	for _, i := range t.Indicators {
		c.Indicators = append(c.Indicators, session.Indicator{Name: i.Name, Kinds: i.Kinds, Check: i.Check})
	}
	return c
}

// problems returns what is wrong with the configuration, by field.
func (t Throttle) problems() (fields, problems []string) {
	fail := func(field, format string, args ...any) {
		fields, problems = append(fields, field), append(problems, fmt.Sprintf(format, args...))
	}
	if t.Interval != 0 && t.Interval < minThrottleInterval {
		fail("Interval", "%v is less than %v: reading the indicators would load the database for nothing", t.Interval, minThrottleInterval)
	}
	if t.WALRate < 0 {
		fail("WALRate", "%d bytes per second is negative: give a rate, or 0 for no limit", t.WALRate)
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"ReplicaLag", t.ReplicaLag}, {"LockWait", t.LockWait}} {
		if d.value < 0 {
			fail(d.field, "%v is negative: give a time, or taskkit.Never for no limit", d.value)
		}
	}
	if slices.Contains(t.IgnoreReplicas, "") {
		fail("IgnoreReplicas", "it has an empty name: give the application_name of a standby")
	}
	names := []string{string(store.HealthVacuum), string(store.HealthReplicas), string(store.HealthWAL), string(store.HealthLocks), session.IndicatorHealth}
	for n, i := range t.Indicators {
		field := fmt.Sprintf("Indicators[%d].", n)
		switch {
		case !lifecycle.ValidKind(i.Name):
			fail(field+"Name", "%q is not a valid name: use %s", i.Name, lifecycle.KindRule)
		case slices.Contains(names, i.Name):
			fail(field+"Name", "another indicator has the name %s: give each its own", i.Name)
		}
		names = append(names, i.Name)
		if i.Check == nil {
			fail(field+"Check", "nil: it tells whether batches may run")
		}
		if i.Kinds != nil && len(i.Kinds) == 0 {
			fail(field+"Kinds", "it is empty, so that the indicator concerns no kind: name kinds, or leave it nil for all")
		}
	}
	return fields, problems
}

// unknownKinds returns an *[OptionError] for each kind of an indicator that the registry does not have: the
// indicator would protect nothing.
func (t Throttle) unknownKinds(registered []string) (errs []error) {
	for n, i := range t.Indicators {
		for _, kind := range i.Kinds {
			if !slices.Contains(registered, kind) {
				errs = append(errs, &OptionError{fmt.Sprintf("Config.Throttle.Indicators[%d].Kinds", n), fmt.Sprintf(
					"the registry has no kind %s: name a registered kind, by its name and not by an alias", kind)})
			}
		}
	}
	return errs
}
