package taskevent

import (
	"context"
	"log/slog"
)

// Tracer is an [Observer] that also follows the work on each task, for traces. A worker calls it if its Config.Observer is one.
// What holds of Observe holds of its methods: they are quick and do not block.
type Tracer interface {
	Observer

	// Trace is called when a worker has read what a task is to do. It returns what follows the work on the task under this lease; nil:
	// nothing does.
	Trace(ctx context.Context, t TracedTask) Trace
}

// TracedTask is a task that a [Tracer] follows.
type TracedTask struct {
	TaskRef
	Queue string
	// Traceparent is the text that was stored with the task, see taskkit.WithTraceparent; "": none.
	Traceparent string
	// Store replaces that text, so that a later lease of the task has it. It executes a statement, and is called within Trace.Batch only.
	Store func(ctx context.Context, traceparent string) error
}

// Trace follows the work on a task under one lease. Its methods are called one after another, perhaps on different goroutines.
type Trace interface {
	// Batch is called before a call of the executor, whose context it returns.
	Batch(ctx context.Context) context.Context
	// Logger is called after Batch, with the logger of the executor, and returns the one that it gets.
	Logger(l *slog.Logger) *slog.Logger
	// BatchDone is called after a batch. A batch that gives up an item, or ends the task otherwise than by Execute, has no BatchDone.
	BatchDone(e BatchDone)
	// Ended is called once, when the worker no longer has the task: with a [TaskEnded], [TaskRetried], [TaskReleased] or [TaskLost], or with
	// nil if there is no such event.
	Ended(e Event)
}
