// Package taskevent declares the events of a worker: what a taskkit.Config.Observer
// receives, for metrics, traces or alerts. A worker also logs each of them, but for
// [ClaimDone] and [GroupCommitted], which are measurements.
//
// Errors and details may contain anything that an executor or a database reports:
// they are for operators. Codes are short and have few values.
package taskevent

import "context"

// Observer receives the events of a worker. A type switch selects the events that
// are of interest.
//
// Observe is called synchronously, from several goroutines of the worker at once:
// the work on tasks waits for it. It must be quick, must not block, and must not end
// its goroutine (runtime.Goexit). An observer that writes to a network queues its
// events. A panic of Observe is recovered, and the first one is logged.
//
// The events of a task under one fence (see [TaskRef]) come in the order in which
// they happened. When a worker claims a task again, the claim may be reported before
// the end of the task's previous lease. A write is reported after its commit. A write
// whose outcome is unknown is reported once the runtime has read the task back, or
// not at all if the worker ends before that; so an event may be missing, and none is
// false.
//
// A submission is not among the events: it may still be rolled back with the
// transaction of its caller, which is often another program. [TaskClaimed] has its
// time.
//
// ctx carries the values of the context of taskkit.Worker.Run, and does not end.
type Observer interface {
	Observe(ctx context.Context, e Event)
}

// Event is one of the event types of this package, such as [TaskEnded]. Releases may
// add types and fields, so a type switch needs no default case.
type Event interface{ event() }
