// Package throttle is the configuration of how bulk changes wait while a database is not well. A
// [Config] is the field Throttle of taskkit.Config.
package throttle

import (
	"context"
	"time"
)

// Config says when batches wait because the database is not well: a bulk change goes slower rather
// than harm others. A task whose batch must wait gives its slot back at its next batch boundary, keeps what it has
// done, spends no attempt, shows why it waits, and continues within Interval after the cause
// has gone. The zero value is ready to use.
//
// The indicators of the database concern the kinds that say which tables they write
// (taskkind.Definition.Touches, in the directive touches=people,enrolments), on PostgreSQL. They are
// "vacuum", "replicas", "wal" and "locks"; "health" stands for a database that does not answer.
// An indicator that the server does not have, or that the role of the worker may not read, makes no task wait, and is
// reported once, as taskevent.IndicatorUnreadable. Kinds without tables and indicators cost nothing.
type Config struct {
	// Off reads no indicator, and lets no batch wait, also not for Indicators. Defaults to false.
	Off bool

	// Interval is for how long a reading of the indicators holds: a worker reads them at most so
	// often, however many tasks it has. Defaults to 5 s; at least 10 ms.
	Interval time.Duration

	// IgnoreVacuum lets batches run while autovacuum, VACUUM or CLUSTER works on a table that they
	// write. Defaults to false.
	IgnoreVacuum bool

	// ReplicaLag is how long ago a connected physical standby may have been where the primary is.
	// Defaults to 60 s; a negative value: there is no limit.
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
	// that a batch of any kind holds. Defaults to 10 s; a negative value: there is no limit.
	LockWait time.Duration

	// Indicators are defined by the application, on PostgreSQL and SQLite. Defaults to none.
	Indicators []Indicator
}

// Indicator says whether batches may run, by what only the application can measure: the load of
// another service, the length of a queue, the hour of an exam.
type Indicator struct {
	// Name stands in the reasons of tasks and in events. It consists of at most 63 lower case letters,
	// digits and underscores.
	Name string

	// Kinds are the kinds whose batches wait, by their names and not by aliases. Workers that
	// share a configuration need not all have them. Defaults to all kinds.
	Kinds []string

	// Check returns in a few words why batches must wait, or "" if they may run. It is called when
	// a task is about to run a batch and the last answer is older than Config.Interval: once for all tasks
	// of a worker, and never twice at a time. ctx ends after Config.Interval or the CallTimeout of the worker, whichever
	// is shorter, but not before a second has passed.
	//
	// Batches wait also while Check returns an error, panics or does not return: without an answer
	// it is not known whether they do harm. A Check for which that is wrong returns "" itself.
	Check func(ctx context.Context) (why string, err error)
}
