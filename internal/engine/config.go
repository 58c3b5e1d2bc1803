package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// Config is a worker's configuration with every value set: package taskkit
// fills in the defaults and documents them.
type Config struct {
	System  string // first part of the process's identity
	Version string
	Queues  []string
	Slots   int
	// SafeMode: nothing is claimed.
	SafeMode bool
	ClaimMax int // the most tasks of one claim; 0: as many as there is room for

	BatchTimeout  time.Duration // longest batch
	BatchTarget   time.Duration // towards which the size of batches is adapted
	Drain         time.Duration // from the end of Run's context to its return
	Quantum       time.Duration // after which a task yields to others
	Heartbeat     time.Duration
	DeadAfter     time.Duration
	Poll          time.Duration // without a listener
	PollListening time.Duration // with a listener
	Call          time.Duration // timeout of one call of the runtime
	// MeasureEvery is how often the rate of a task is stored, at most. 0: never, as in
	// package tasktest.
	MeasureEvery time.Duration
	LockTimeout  time.Duration // inside a batch's transaction

	MaxAttempts int
	Backoff     classify.Backoff
	SpecMax     int // bytes of a spec that comes with a claim
	// FixedLimit: the size of batches is not adapted, neither to the time nor to
	// attempts. Only package tasktest sets it, which chooses the size of each test. A
	// poison item is then skipped only where that size is 1.
	FixedLimit bool

	// Retention says how long what tasks of a kind leave is kept; an alias is given as it
	// is stored. Nil: for ever. Youngest is the shortest period for tasks of any kind (0: they are
	// kept for ever), Events that of events. CleanEvery is how often old things are removed (0: not at all).
	Retention  func(kind string) store.Retention
	Youngest   time.Duration
	Events     time.Duration
	CleanEvery time.Duration
	// ScheduleEvery is how often new schedules are looked for. 0: schedules are not fired.
	ScheduleEvery time.Duration
	// UnknownKindAfter is after how long a task ends whose kind no worker knows; 0 or less: never.
	UnknownKindAfter time.Duration

	// Throttle says when batches wait. Its zero value: never, as in package tasktest.
	Throttle ThrottleConfig

	// Identity installs the security context before each transaction.
	Identity func(ctx context.Context, owner, runAs uuid.UUID) (context.Context, error)
	Log      *slog.Logger
	// Observe is called with each event, on the goroutine that it happens on. Nil:
	// events are only logged.
	Observe func(ctx context.Context, e taskevent.Event)
}

// limits are the server's limits of a batch's transaction: the server ends it a
// little after this worker would have.
func (c Config) limits() store.TxTimeouts {
	return store.TxTimeouts{
		Idle:      c.BatchTimeout + time.Second,
		Statement: c.BatchTimeout,
		Lock:      c.LockTimeout,
	}
}

// reapEvery is how often the reaper runs: often enough that a takeover takes
// little longer than DeadAfter, seldom enough to cost nothing.
func (c Config) reapEvery() time.Duration {
	return min(max(c.DeadAfter/10, 50*time.Millisecond), 10*time.Second)
}

// retention returns how long what tasks of a kind leave is kept.
func (c Config) retention(kind string) store.Retention {
	if c.Retention == nil {
		return store.Retention{}
	}
	return c.Retention(kind)
}

// heartbeatDeadline is how long after its last successful heartbeat a worker
// assumes that nobody has declared it dead: others wait for DeadAfter, the worker
// less.
func (c Config) heartbeatDeadline() time.Duration { return c.DeadAfter - c.DeadAfter/5 }
