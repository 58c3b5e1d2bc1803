package intake

import (
	"sync/atomic"
	"time"

	"taskkit.dev/taskkit"
)

// Event is an event of a consumer: one of the types of this file.
type Event interface{ event() }

// Received: a batch of messages was settled.
type Received struct {
	Source     string
	Messages   int // delivered
	Submitted  int // became a task, or were merged into one that waits
	Paused     int // counted in Submitted: merged into a paused task
	Dropped    int // by the handler
	Superseded int // recorded without a task: a newer version of the reference came before, see [taskkit.WithVersion]
	Refused    int
	Duplicates int // taken in before
	Redriven   int // counted in Messages: not delivered but read from their rows, see [Redrive]
	Duration   time.Duration
}

// MessageRefused: a message was refused and recorded.
type MessageRefused struct{ Err *RefusedError }

// DeadLetterFailed: the broker does not take a refused message as a dead letter. Its row has the reason.
type DeadLetterFailed struct {
	Source, ID string // of the message
	Err        error
}

// DuplicateDiffers: a message has the id of an earlier one, of which it is a duplicate, and another body.
// Perhaps its sender uses an id twice.
type DuplicateDiffers struct{ Source, ID string }

// MergedIntoPaused: a message was merged into a paused task by [taskkit.WithCoalescing], and is
// not processed until somebody resumes the task.
type MergedIntoPaused struct {
	Source, ID string // of the message
	Err        *taskkit.PausedError
}

// Waiting: the broker, the database or the handler has failed with a transient error. The consumer
// receives nothing until a repetition succeeds.
type Waiting struct {
	Source  string
	Try     int
	RetryIn time.Duration
	Err     error
}

func (Received) event()         {}
func (MessageRefused) event()   {}
func (DeadLetterFailed) event() {}
func (DuplicateDiffers) event() {}
func (MergedIntoPaused) event() {}
func (Waiting) event()          {}

// Stats are the counts of a consumer since it was made.
type Stats struct {
	Received, Submitted, Dropped, Refused, Duplicates int64
	Superseded                                        int64 // see [Received]
	Paused                                            int64 // counted in Submitted, see [MergedIntoPaused]
	Waits                                             int64 // see [Waiting]
}

// counters are the counters behind Stats.
type counters struct {
	received, submitted, dropped, superseded, refused, duplicates, paused, waits atomic.Int64
}

// Stats returns the counts of the consumer. It is safe for concurrent use.
func (c *Consumer) Stats() Stats {
	return Stats{
		Received: c.counts.received.Load(), Submitted: c.counts.submitted.Load(), Dropped: c.counts.dropped.Load(), Superseded: c.counts.superseded.Load(),
		Refused: c.counts.refused.Load(), Duplicates: c.counts.duplicates.Load(), Paused: c.counts.paused.Load(), Waits: c.counts.waits.Load(),
	}
}
