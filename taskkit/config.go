package taskkit

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/maintain"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/throttle"
)

// Config configures a [Worker]. The zero Config is ready to use.
type Config struct {
	// Backoff is the delay before the first retry of a batch; it doubles with
	// each further one. Defaults to 5 s.
	Backoff time.Duration

	// BackoffMax is the longest delay before a retry. Jitter of up to a quarter
	// is added. Defaults to 1 h.
	BackoffMax time.Duration

	// BatchTarget is the duration towards which b.Limit is steered. Defaults to
	// 1 s.
	BatchTarget time.Duration

	// BatchTimeout is the longest that a batch may take. Its context ends then,
	// and the server ends its transaction soon after. Defaults to 30 s; on SQLite
	// at most three quarters of DeadAfter.
	BatchTimeout time.Duration

	// CallTimeout bounds each call of the runtime itself to the database.
	// Defaults to 10 s.
	CallTimeout time.Duration

	// ClaimMax is the most tasks that one claim takes. The worker claims again at once
	// while it has free slots and more tasks wait, so a small number costs more statements and
	// leaves more for other workers. Defaults to the free slots plus a prefetch for short tasks; at
	// most 10,000.
	ClaimMax int

	// Context installs the security context of a task's people: before the start, before every batch,
	// and before Abort, or Report after a stop. Report of a task that is done runs in its last batch. Its
	// context is the one that the executor gets. A [Permanent] error ends the
	// task of a person who may no longer act; any other is retried. Defaults
	// to none.
	Context func(ctx context.Context, owner, runAs uuid.UUID) (context.Context, error)

	// DeadAfter is how long a worker may be silent before others declare it
	// dead and take its tasks. The worker itself gives up a fifth earlier. A worker that
	// was killed is noticed within seconds where it has a presence lock, see docs/operations.md.
	// Defaults to 60 s; at least 500 ms and three times Heartbeat.
	DeadAfter time.Duration

	// Drain is the longest time from the end of Run's context to Run's return.
	// Batches that take longer are cancelled and rolled back. Defaults to 25 s.
	Drain time.Duration

	// Heartbeat is the interval of a worker's heartbeats. Defaults to 10 s; at
	// least 100 ms.
	Heartbeat time.Duration

	// ListenDSN is a direct connection for notifications, where the worker's
	// own pool goes through a pooler that does not deliver them. It is opened
	// with pgx. Defaults to the pool itself; when notifications do
	// not arrive there, the worker polls instead and has no presence lock. PostgreSQL only.
	ListenDSN string

	// LockTimeout is the longest that a statement of a batch waits for a lock.
	// Defaults to 5 s. PostgreSQL only.
	LockTimeout time.Duration

	// Logger receives the runtime's log, a line for each event of package taskevent.
	// Claims, batches, checkpoints and COMPLETED tasks have the level DEBUG. Defaults to
	// slog.Default().
	Logger *slog.Logger

	// MaxAttempts is how often a batch may be tried without progress. A committed
	// batch refills the budget, unless it returned [Later] and counted no items.
	// Defaults to 10.
	MaxAttempts int

	// Observer receives the events of the worker, besides the log. If it is a taskevent.Tracer, it follows the work on each task too. Defaults to none.
	Observer taskevent.Observer

	// Poll is the interval of polls for tasks where notifications do not arrive.
	// Defaults to 1 s.
	Poll time.Duration

	// PollListening is the interval of polls while a listener runs, since
	// notifications can be lost. Defaults to 15 s.
	PollListening time.Duration

	// Quantum is how long a task may keep its slot while others wait. After that it
	// returns to the queue at the next batch boundary. Defaults to 5 min.
	Quantum time.Duration

	// Queues are the queues to serve, see [WithQueue] for their names. Defaults to
	// "default" alone.
	Queues []string

	// QueueSlots bounds how many tasks of a queue this worker has at once, by the name of the queue, one of Queues: {"reports": 2}. Parts of
	// a task are in its queue, so it bounds how many buckets of a task a worker executes, too. Another worker may have another number, and
	// one that is not to execute such tasks does not serve the queue; for a bound over all workers see [WithLimit]. Each queue with
	// slots of its own costs a claim of its own, and its tasks are not claimed in one order with the tasks of other queues. To change it, restart
	// the worker. Defaults to none: a queue may have all slots.
	QueueSlots map[string]int

	// Retention is how long results, tasks and events are kept. Its zero fields have
	// defaults of their own.
	Retention Retention

	// KindRetention is the Retention of kinds, by name; a zero field is that of
	// Retention.
	KindRetention map[string]Retention

	// SafeMode starts the worker without claiming: it has a heartbeat, takes back the
	// tasks of dead workers and removes what is old, but runs no task, not even one that is to be
	// stopped. "taskkit workers" shows it, and the log says so at the start. Defaults to false.
	SafeMode bool

	// Schema is the PostgreSQL schema of the tables. Defaults to "taskkit".
	Schema string

	// Slots is how many tasks run at once. Most of them wait for the database at any time, so there are more
	// than processors. A task keeps its slot until its last batch is committed. Defaults to 12.
	Slots int

	// SystemID is the first part of the worker's identity
	// <system>-<start>-<random>. Defaults to the host's name.
	SystemID string

	// Throttle says when batches wait because the database, or what the application says itself,
	// is not well. Its zero value has defaults for kinds that name the tables that they write.
	Throttle throttle.Config

	// UnknownKindAfter is after how long a waiting task ends in ERROR with the code unknown_kind
	// when no live worker that serves its queue knows its kind or revision. The task must have been
	// due and the kind seen to be unknown for that long, while workers served the queue; the time
	// begins anew after a day in which no worker looked. Defaults to 14 days; negative: never.
	UnknownKindAfter time.Duration

	measureEvery  time.Duration // of engine.Config; only tests set it
	cleanEvery    time.Duration // of engine.Config; only tests set it
	scheduleEvery time.Duration // of engine.Config; only tests set it
}

// or returns d unless it is zero.
func or[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

// engine returns the configuration of the engine, with the defaults filled in.
func (c Config) engine() engine.Config {
	e := engine.Config{
		Config: session.Config{
			BatchTimeout: or(c.BatchTimeout, 30*time.Second), BatchTarget: or(c.BatchTarget, time.Second),
			Quantum: or(c.Quantum, 5*time.Minute), Heartbeat: or(c.Heartbeat, 10*time.Second),
			MeasureEvery: or(c.measureEvery, 5*time.Second), Call: or(c.CallTimeout, 10*time.Second),
			LockTimeout: or(c.LockTimeout, 5*time.Second), MaxAttempts: or(c.MaxAttempts, 10),
			Backoff:  classify.Backoff{Base: or(c.Backoff, 5*time.Second), Cap: or(c.BackoffMax, time.Hour)},
			Identity: c.Context, Throttle: throttleConfig(c.Throttle),
		},
		Intervals: maintain.Intervals{
			CleanEvery: or(c.cleanEvery, time.Minute), Events: kept(c.Retention.or(defaultRetention).Events),
			UnknownKindAfter: or(c.UnknownKindAfter, 14*24*time.Hour),
			ScheduleEvery:    or(c.scheduleEvery, 15*time.Second),
		},
		System: c.SystemID, Version: Version, Queues: c.Queues, QueueSlots: maps.Clone(c.QueueSlots), Slots: or(c.Slots, 12), SafeMode: c.SafeMode,
		ClaimMax: c.ClaimMax, Drain: or(c.Drain, 25*time.Second), DeadAfter: or(c.DeadAfter, time.Minute),
		Poll: or(c.Poll, time.Second), PollListening: or(c.PollListening, 15*time.Second),
		SpecMax: 8 << 10, Log: or(c.Logger, slog.Default()),
	}
	if c.Observer != nil {
		e.Observe = c.Observer.Observe
		if t, ok := c.Observer.(taskevent.Tracer); ok {
			e.Trace = t.Trace
		}
	}
	if len(e.Queues) == 0 {
		e.Queues = []string{defaultQueue}
	}
	return e
}
