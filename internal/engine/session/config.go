package session

import (
	"context"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/store"
)

// Config is what sessions need of a worker's configuration. Package taskkit fills in the defaults and documents them.
type Config struct {
	BatchTimeout time.Duration // longest batch
	BatchTarget  time.Duration // towards which the size of batches is adapted
	Quantum      time.Duration // after which a task yields to others
	Heartbeat    time.Duration
	Call         time.Duration // timeout of one call of the runtime
	// MeasureEvery is how often the rate of a task is stored, at most. 0: never, as in
	// package tasktest.
	MeasureEvery time.Duration
	LockTimeout  time.Duration // inside a batch's transaction

	MaxAttempts int
	Backoff     classify.Backoff
	// FixedLimit: rounds over deferred items do not wait as a strategy says, and the size of batches is not adapted, neither to the time nor to
	// attempts. Only package tasktest sets it, which chooses the size of each test. A
	// poison item is then skipped only where that size is 1.
	FixedLimit bool

	// Retention returns how long the results and records of a kind are kept; an alias is given as it is stored. Nil: for ever.
	Retention func(kind string) store.Retention
	// Throttle is when batches wait. Its zero value: never, as in package tasktest.
	Throttle ThrottleConfig
	// Identity installs the security context before each transaction.
	Identity func(ctx context.Context, owner, runAs uuid.UUID) (context.Context, error)
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

// Keep returns how long the results and records of a kind are kept.
func (c Config) Keep(kind string) store.Retention {
	if c.Retention == nil {
		return store.Retention{}
	}
	return c.Retention(kind)
}
