package taskkit

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/backoff"
	"taskkit.dev/internal/engine"
)

// Config configures a [Worker]. The zero Config is a good one.
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
	// and the server ends its transaction soon after. Defaults to 30 s; must be
	// well below DeadAfter.
	BatchTimeout time.Duration

	// CallTimeout bounds each call of the runtime itself to the database.
	// Defaults to 10 s.
	CallTimeout time.Duration

	// Context installs the security context of a task's people, before the
	// start, before every batch and before the end (SSP-50, SSP-51). Its
	// context is the one that the executor gets. A [Permanent] error ends the
	// task of a person who may no longer act; any other is retried. Defaults
	// to none.
	Context func(ctx context.Context, owner, runAs uuid.UUID) (context.Context, error)

	// DeadAfter is how long a worker may be silent before others declare it
	// dead and take its tasks. The worker itself gives up a fifth earlier.
	// Defaults to 60 s; at least 500 ms and three times Heartbeat.
	DeadAfter time.Duration

	// Drain is the longest time from the end of Run's context to Run's return.
	// Batches that take longer are cancelled and rolled back. Defaults to 25 s.
	Drain time.Duration

	// Heartbeat is how often a worker says that it lives. Defaults to 10 s; at
	// least 100 ms.
	Heartbeat time.Duration

	// ListenDSN is a direct connection for notifications, where the worker's
	// own pool goes through a pooler that does not deliver them. It is opened
	// with the pool's driver. Defaults to the pool itself; notifications that
	// do not arrive are noticed, and polling takes their place. PostgreSQL only.
	ListenDSN string

	// LockTimeout is the longest that a statement of a batch waits for a lock.
	// Defaults to 5 s. PostgreSQL only.
	LockTimeout time.Duration

	// Logger receives the runtime's log. Defaults to slog.Default().
	Logger *slog.Logger

	// MaxAttempts is how often a batch may be tried without progress. A
	// committed batch refills the budget. Defaults to 10.
	MaxAttempts int

	// Poll is how often to look for tasks where notifications do not arrive.
	// Defaults to 1 s.
	Poll time.Duration

	// PollListening is how often to look behind a listener, which loses a
	// notification now and then. Defaults to 15 s (SSP-35).
	PollListening time.Duration

	// Quantum is how long a task may keep its slot while others wait. It goes
	// back to the queue at a batch border. Defaults to 5 min.
	Quantum time.Duration

	// Queues are the queues to serve. Defaults to "default" alone.
	Queues []string

	// Schema is the PostgreSQL schema of the tables. Defaults to "taskkit".
	Schema string

	// Slots is how many tasks run at once. Defaults to 10.
	Slots int

	// SystemID is the first part of the worker's identity
	// <system>-<start>-<random> (SSP-24). Defaults to the host's name.
	SystemID string
}

// or returns d unless it is zero.
func or[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

// engine checks the configuration and fills in the defaults.
func (c Config) engine() (engine.Config, error) {
	e := engine.Config{
		System: c.SystemID, Version: Version, Queues: c.Queues, Slots: or(c.Slots, 10),
		BatchTimeout: or(c.BatchTimeout, 30*time.Second), BatchTarget: or(c.BatchTarget, time.Second),
		Drain: or(c.Drain, 25*time.Second), Quantum: or(c.Quantum, 5*time.Minute),
		Heartbeat: or(c.Heartbeat, 10*time.Second), DeadAfter: or(c.DeadAfter, time.Minute),
		Poll: or(c.Poll, time.Second), PollListening: or(c.PollListening, 15*time.Second),
		Call: or(c.CallTimeout, 10*time.Second), LockTimeout: or(c.LockTimeout, 5*time.Second),
		MaxAttempts: or(c.MaxAttempts, 10),
		Backoff:     backoff.Policy{Base: or(c.Backoff, 5*time.Second), Cap: or(c.BackoffMax, time.Hour)},
		SpecMax:     8 << 10, Identity: c.Context, Log: or(c.Logger, slog.Default()),
	}
	if len(e.Queues) == 0 {
		e.Queues = []string{DefaultQueue}
	}
	if err := checkSchemaName(or(c.Schema, DefaultSchema)); err != nil {
		return e, err
	}
	for _, d := range []struct {
		name      string
		have, min time.Duration
	}{
		{"Backoff", e.Backoff.Base, time.Millisecond},
		{"BackoffMax", e.Backoff.Cap, e.Backoff.Base},
		{"BatchTarget", e.BatchTarget, time.Millisecond},
		{"BatchTimeout", e.BatchTimeout, 10 * time.Millisecond},
		{"CallTimeout", e.Call, 100 * time.Millisecond},
		{"Drain", e.Drain, 100 * time.Millisecond},
		{"Heartbeat", e.Heartbeat, 100 * time.Millisecond},
		{"DeadAfter", e.DeadAfter, max(500*time.Millisecond, 3*e.Heartbeat)},
		{"LockTimeout", e.LockTimeout, time.Millisecond},
		{"Poll", e.Poll, time.Millisecond},
		{"PollListening", e.PollListening, time.Millisecond},
		{"Quantum", e.Quantum, time.Millisecond},
	} {
		if d.have < d.min {
			return e, &OptionError{"Config." + d.name, fmt.Sprintf("%v is less than %v", d.have, d.min)}
		}
	}
	switch {
	case e.Slots < 1 || e.Slots > 10_000:
		return e, &OptionError{"Config.Slots", fmt.Sprintf("%d is not between 1 and 10,000", e.Slots)}
	case e.MaxAttempts < 1:
		return e, &OptionError{"Config.MaxAttempts", fmt.Sprintf("%d is less than 1", e.MaxAttempts)}
	case e.BatchTimeout > e.DeadAfter*3/4:
		return e, &OptionError{"Config.BatchTimeout", fmt.Sprintf(
			"%v is more than three quarters of DeadAfter (%v): on SQLite a batch that long would keep the heartbeat from the database",
			e.BatchTimeout, e.DeadAfter)}
	}
	return e, nil
}
