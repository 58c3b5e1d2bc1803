package intake

import (
	"sync/atomic"
	"time"

	"taskkit.dev/taskkit"
)

// Event is something that a consumer has done: one of the types of this file.
type Event interface{ event() }

// Received: a batch of messages was settled.
type Received struct {
	Source     string
	Messages   int // that were delivered
	Submitted  int // became a task, or were merged into one that waits
	Paused     int // of those submitted: were merged into a task that is paused
	Dropped    int // by the handler
	Refused    int
	Duplicates int // had been taken in before
	Duration   time.Duration
}

// MessageRefused: a message was refused and recorded.
type MessageRefused struct{ Err *RefusedError }

// MergedIntoPaused: a message was merged into a task that is paused, as [taskkit.WithCoalescing] asked for, so
// nothing is done about it until somebody resumes the task.
type MergedIntoPaused struct {
	Source, ID string // of the message
	Err        *taskkit.PausedError
}

// Waiting: the broker or the database cannot be used for now, or the handler has failed for now. Nothing is
// received until that is over.
type Waiting struct {
	Source  string
	Try     int
	RetryIn time.Duration
	Err     error
}

func (Received) event()         {}
func (MessageRefused) event()   {}
func (MergedIntoPaused) event() {}
func (Waiting) event()          {}

// Stats are what a consumer has counted since it was made.
type Stats struct {
	Received, Submitted, Dropped, Refused, Duplicates int64
	Paused                                            int64 // of those submitted, see [MergedIntoPaused]
	Waits                                             int64 // see [Waiting]
}

// counters are those of Stats.
type counters struct {
	received, submitted, dropped, refused, duplicates, paused, waits atomic.Int64
}

// Stats returns what the consumer has counted. It is safe for concurrent use.
func (c *Consumer) Stats() Stats {
	return Stats{
		Received: c.counts.received.Load(), Submitted: c.counts.submitted.Load(), Dropped: c.counts.dropped.Load(),
		Refused: c.counts.refused.Load(), Duplicates: c.counts.duplicates.Load(), Paused: c.counts.paused.Load(), Waits: c.counts.waits.Load(),
	}
}
