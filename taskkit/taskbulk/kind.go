package taskbulk

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/access"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// batchSize and maxBatchSize are how many tasks a batch locks.
const (
	batchSize    = 50
	maxBatchSize = 200
)

// ownQueue is the queue of bulk operations that are submitted without one.
const ownQueue = "default"

// Kind is the kind of bulk operations. Submit them with [Submit], which finds the tasks. The executor does not check who may do what: check the rights
// of the actor before the submission.
var Kind = taskkit.NewKind(taskkind.Definition[Spec, struct{}, struct{}]{
	Name: "taskkit_bulk", Queue: ownQueue, BatchSize: batchSize, MaxBatchSize: maxBatchSize,
	Targets: taskkind.TargetsIn("tasks", func(s *Spec) *[]taskkit.ID { return &s.Tasks }),
})

// Spec is what a bulk operation does.
type Spec struct {
	Verb Verb `json:"verb"`
	// Selection says in words by which filter the tasks were found.
	Selection string `json:"selection,omitempty"`
	// Actor and Reason are recorded in the events of each task. The zero Actor is unknown.
	Actor  uuid.UUID `json:"actor,omitzero"`
	Reason string    `json:"reason,omitempty"`
	// Tasks is empty: the tasks are a frozen set.
	Tasks []taskkit.ID `json:"tasks"`
}

// Validate checks the verb and the reason.
func (s *Spec) Validate() error {
	if err := s.Verb.check(); err != nil {
		return err
	}
	_, err := s.request()
	return err
}

// request is the request of each task without its action.
func (s *Spec) request() (store.Request, error) {
	opts := []taskkit.RequestOption{taskkit.WithActor(s.Actor)}
	if s.Reason != "" {
		opts = append(opts, taskkit.WithReason(s.Reason))
	}
	return access.RequestOf(opts, "tasks of a bulk operation are retried")
}

// Register registers the kind of bulk operations with its executor.
func Register(r *taskkit.Registry) { taskkit.Register(r, Kind, executor{}) }

// executor makes the requests.
type executor struct{}

type batch = taskkit.Batch[Spec, struct{}]

// Codes of items, besides the codes of a status.
const (
	codeGone      = "gone"       // skipped: the task was removed
	codeItself    = "itself"     // skipped: it is the bulk operation
	codeRequested = "requested"  // skipped: the same request stands on it, or one to delete it
	codeNotPaused = "not_paused" // skipped
	codeKeyTaken  = "key_taken"  // failed: another task has its unique key
	codeContinued = "continued"  // failed: another task has continued it
	codeChild     = "child"      // failed: a child that has no request of its own
)

// Execute implements [taskkit.Executor]. A task whose status does not allow the request, or that it would not change, is skipped. A request that is
// refused for another reason fails its item.
func (executor) Execute(ctx context.Context, b *batch) (taskkit.Next, error) {
	ids, next := taskkit.Take(b, b.Spec.Tasks)
	verb, ok := of(b.Spec.Verb)
	if !ok {
		return next, taskkit.Permanent("verb", b.Spec.Verb.check())
	}
	request, err := b.Spec.request()
	if err != nil {
		return next, taskkit.Permanent("reason", err)
	}
	request.Action, request.Effective = verb.action, true
	client := access.ClientOf(taskkit.NewClient(b.Tx))
	return next, taskkit.Each(ctx, b, ids, func(ctx context.Context, ids []taskkit.ID) error {
		for _, id := range ids {
			if id == b.Task {
				b.Skip(id, codeItself)
				continue
			}
			code, err := verb.skips(client.Request(ctx, id, request))
			if err != nil {
				return err
			}
			if code != "" {
				b.Skip(id, code)
			}
		}
		return nil
	})
}

// skips returns the code with which a task is skipped after a request, or "", and the error that fails its item or the batch.
func (v *rules) skips(err error) (code string, _ error) {
	var (
		state *taskkit.StateError
		taken *taskkit.DuplicateError
		child *taskkit.ChildError
	)
	switch {
	case err == nil:
		return "", nil
	case errors.Is(err, taskkit.ErrNotFound):
		return codeGone, nil
	case errors.As(err, &state):
		return v.refusal(state), nil
	case errors.As(err, &taken) && taken.By == "idempotency key":
		return "", taskkit.Permanent(codeContinued, err)
	case errors.As(err, &taken):
		return "", taskkit.Permanent(codeKeyTaken, err)
	case errors.As(err, &child):
		return "", taskkit.Permanent(codeChild, err)
	default:
		return "", err
	}
}

// refusal is the code of a task whose state does not allow the request.
func (v *rules) refusal(e *taskkit.StateError) string {
	control := lifecycle.Control(e.Control)
	switch {
	case e.Condition != "":
		return strings.ReplaceAll(string(e.Condition), " ", "_")
	case control.Ends() || control != lifecycle.None && control == v.control:
		return codeRequested
	case v.action == lifecycle.ActResume && !e.Status.Ended():
		return codeNotPaused
	default:
		return "is_" + strings.ToLower(string(e.Status))
	}
}
