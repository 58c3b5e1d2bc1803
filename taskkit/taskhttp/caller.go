package taskhttp

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

// Caller is who makes a request.
type Caller struct {
	// Owner is the person. The jobs that the caller starts belong to it, its requests
	// are recorded with it, and lists have its jobs. The zero UUID is no person.
	Owner uuid.UUID
	// RunAs is the person as whom jobs of the caller run. Defaults to Owner.
	RunAs uuid.UUID
	// Detail is whatever Authorize needs besides.
	Detail any
}

// Operation is what a request does.
type Operation string

// The operations of people with their jobs, about which an [Authorizer] decides.
const (
	OpStart   Operation = "start"
	OpList    Operation = "list"
	OpWatch   Operation = "watch"
	OpFetch   Operation = "fetch"
	OpItems   Operation = "items"
	OpStop    Operation = "stop"
	OpPause   Operation = "pause"
	OpResume  Operation = "resume"
	OpRetry   Operation = "retry"
	OpApprove Operation = "approve"
	OpChange  Operation = "change" // of settings, see [Settings]
	OpDelete  Operation = "delete"

	// OpRetryFailed and the next two start another job, made of one that has ended.
	OpRetryFailed Operation = "retry-failed" // over its failed items
	OpContinue    Operation = "continue"     // over what it has not processed
	OpApply       Operation = "apply"        // of a preview: over exactly its items
)

// Authorizer decides whether a caller may do something with a task. An error means no;
// its text is logged and not sent. The task is nil for OpStart and OpList, and otherwise
// without SpecJSON and StateJSON; for OpWatch it can be without Preview. A task that a caller
// may not watch does not exist for it. One request calls it for several operations, since
// answers name the allowed ones, and a request that waits calls it again every second. So an
// Authorizer should be quick. It must be safe for concurrent use.
type Authorizer func(ctx context.Context, c Caller, op Operation, t *taskkit.Task) error

// errNotOwner is the refusal of OwnJobs.
var errNotOwner = errors.New("taskhttp: the job belongs to somebody else")

// OwnJobs is an [Authorizer] that lets people do everything with their own jobs and
// nothing with those of others.
func OwnJobs(_ context.Context, c Caller, _ Operation, t *taskkit.Task) error {
	if t != nil && t.Owner != c.Owner {
		return errNotOwner
	}
	return nil
}
