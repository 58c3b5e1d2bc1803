// Package taskcause lists the causes for which a task is where it is: why it waits, what keeps it from
// going on, and why it has ended otherwise than planned. [taskkit.dev/taskkit.Client.Explain] finds the cause of a task.
// The list is the same for the command, HTTP and programs of your own.
package taskcause

import "slices"

// Cause is why a task is where it is. Its text is stable: programs may compare and store it.
type Cause string

// Causes of a task that has ended.
const (
	Done      Cause = "done"
	Stopped   Cause = "stopped"    // on request, before it was done
	Failed    Cause = "failed"     // FAILURE: its executor failed
	CrashLoop Cause = "crash_loop" // ERROR: it lost its worker too often at one place
	NotRun    Cause = "not_run"    // ERROR: the runtime could not run it for another reason
)

// Causes of a task that a worker has claimed.
const (
	Running      Cause = "running"
	Requested    Cause = "requested"     // a request takes effect at the next batch boundary
	TriedAgain   Cause = "tried_again"   // an earlier attempt at its present batch failed
	WorkersLost  Cause = "workers_lost"  // it runs, and has lost at least two workers at its present batch
	WorkerSilent Cause = "worker_silent" // its worker does not renew its heartbeat
	WorkerEnded  Cause = "worker_ended"  // its worker has ended, and another one has to take it over
)

// Causes of a task that is paused.
const (
	Paused      Cause = "paused"       // by a person or a program
	Approval    Cause = "approval"     // it waits for approval
	StopPolicy  Cause = "stop_policy"  // too many of its items have failed
	Rule        Cause = "rule"         // its strategy or a policy of it has paused it
	ChildFailed Cause = "child_failed" // too many of its children have failed
)

// Causes of a task that waits for its time, or for something else than a worker.
const (
	Start       Cause = "start"        // it was submitted for later
	Later       Cause = "later"        // its executor asked to continue later
	Retry       Cause = "retry"        // an attempt failed, and the next one is not due
	Window      Cause = "window"       // its window is closed
	Rate        Cause = "rate"         // its rate is limited
	Throttled   Cause = "throttled"    // an indicator of the database or of the application is not well
	Limit       Cause = "limit"        // other tasks have all permits of one of its limits
	Children    Cause = "children"     // it waits for its children
	QueuePaused Cause = "queue_paused" // no worker claims from its queue
)

// Causes of a task that is due.
const (
	NoWorker        Cause = "no_worker"        // no worker is alive
	Draining        Cause = "draining"         // every live worker is shutting down
	SafeMode        Cause = "safe_mode"        // every live worker is in safe mode and claims nothing
	UnknownKind     Cause = "unknown_kind"     // no live worker knows its kind
	UnknownRevision Cause = "unknown_revision" // no live worker reads its revision
	QueueNotServed  Cause = "queue_not_served" // no live worker that knows its kind serves its queue
	SlotsBusy       Cause = "slots_busy"       // every slot of the workers that can take it is busy
	Due             Cause = "due"              // a worker is about to claim it
)

var all = []Cause{
	Done, Stopped, Failed, CrashLoop, NotRun,
	Running, Requested, TriedAgain, WorkersLost, WorkerSilent, WorkerEnded,
	Paused, Approval, StopPolicy, Rule, ChildFailed,
	Start, Later, Retry, Window, Rate, Throttled, Limit, Children, QueuePaused,
	NoWorker, Draining, SafeMode, UnknownKind, UnknownRevision, QueueNotServed, SlotsBusy, Due,
}

// All returns all causes, in the order of this page.
func All() []Cause { return slices.Clone(all) }
