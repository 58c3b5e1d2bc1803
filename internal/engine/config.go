package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/backoff"
	"taskkit.dev/internal/store"
)

// Config is a worker's configuration with every value set: package taskkit
// fills in the defaults and documents them.
type Config struct {
	System  string // first part of the process's identity
	Version string
	Queues  []string
	Slots   int

	BatchTimeout  time.Duration // longest batch
	BatchTarget   time.Duration // towards which Limit is steered
	Drain         time.Duration // from the end of Run's context to its return
	Quantum       time.Duration // after which a task makes way for others
	Heartbeat     time.Duration
	DeadAfter     time.Duration
	Poll          time.Duration // without a listener
	PollListening time.Duration // behind a listener
	Call          time.Duration // deadline of one call of the runtime
	LockTimeout   time.Duration // inside a batch's transaction

	MaxAttempts int
	Backoff     backoff.Policy
	SpecMax     int  // bytes of a spec that travels with a claim
	FixedLimit  bool // Limit is not steered

	// Identity installs the security context before each transaction.
	Identity func(ctx context.Context, owner, runAs uuid.UUID) (context.Context, error)
	Log      *slog.Logger
}

// limits are the server-side bounds of a batch's transaction: the server ends
// it a little after this worker would have.
func (c Config) limits() store.Limits {
	return store.Limits{
		Idle:      c.BatchTimeout + time.Second,
		Statement: c.BatchTimeout,
		Lock:      c.LockTimeout,
	}
}

// reapEvery is how often the reaper looks: often enough that a takeover takes
// little longer than DeadAfter, seldom enough to cost nothing.
func (c Config) reapEvery() time.Duration {
	return min(max(c.DeadAfter/10, 50*time.Millisecond), 5*time.Second)
}

// lease is how long after its last good heartbeat a worker trusts that nobody
// has declared it dead: others wait for DeadAfter, the worker less.
func (c Config) lease() time.Duration { return c.DeadAfter - c.DeadAfter/5 }
