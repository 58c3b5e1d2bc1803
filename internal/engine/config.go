package engine

import (
	"context"
	"log/slog"
	"time"

	"taskkit.dev/internal/engine/maintain"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/taskkit/taskevent"
)

// Config is a worker's configuration with every value set: package taskkit
// fills in the defaults and documents them.
type Config struct {
	session.Config
	maintain.Intervals

	System  string // first part of the process's identity
	Version string
	Queues  []string
	Slots   int
	// QueueSlots are how many slots tasks of a queue may have at most; a queue that it does not name may have all.
	QueueSlots map[string]int
	// SafeMode: nothing is claimed.
	SafeMode bool
	ClaimMax int // the most tasks of one claim; 0: as many as there is room for
	SpecMax  int // bytes of a spec that comes with a claim

	Drain         time.Duration // from the end of Run's context to its return
	DeadAfter     time.Duration
	Poll          time.Duration // without a listener
	PollListening time.Duration // with a listener

	Log *slog.Logger
	// Observe is called with each event, on the goroutine that it happens on. Nil:
	// events are only logged.
	Observe func(ctx context.Context, e taskevent.Event)
	// Trace follows the work on each task, see [taskevent.Tracer]. Nil: nothing does.
	Trace func(ctx context.Context, t taskevent.TracedTask) taskevent.Trace
}

// reapEvery is how often the reaper runs: often enough that a takeover takes
// little longer than DeadAfter, seldom enough to cost nothing.
func (c *Config) reapEvery() time.Duration {
	return min(max(c.DeadAfter/10, 50*time.Millisecond), 10*time.Second)
}

// heartbeatDeadline is how long after its last successful heartbeat a worker assumes that it has not been declared dead:
// others wait for DeadAfter, the worker less.
func (c *Config) heartbeatDeadline() time.Duration { return c.DeadAfter - c.DeadAfter/5 }
