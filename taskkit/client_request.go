package taskkit

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// A RequestOption says who requests something of a task and why, which is kept in
// the task's events, or how. Only this package implements it; see [WithActor],
// [WithReason], [WithSkip] and [WithStopAfter].
type RequestOption interface{ applyRequest(r *requestOptions) }

// requestOptions collects the options of one request.
type requestOptions struct {
	store.Request
	errs []error
}

// Stop requests that a task end as soon as possible and keep what it has done.
// Abort runs, then Report, and the task becomes COMPLETED and partial. A task
// that no worker has claimed ends at once, and so does one whose worker is dead
// and whose kind no live worker knows. Stopping a task that has ended or is being
// stopped does nothing and is no error. A bucket or a stage is not stopped alone, which is a
// *[ChildError]: stop its parent, or leave the rest of it out, see [WithSkip].
func (c *Client) Stop(ctx context.Context, id ID, opts ...RequestOption) (*Task, error) {
	return c.request(ctx, id, lifecycle.ActStop, opts)
}

// Pause keeps a task from running until [Client.Resume]. A running task releases
// its slot after the current batch. It returns a *[StateError] when the task has
// ended.
func (c *Client) Pause(ctx context.Context, id ID, opts ...RequestOption) (*Task, error) {
	return c.request(ctx, id, lifecycle.ActPause, opts)
}

// Resume lets a paused task continue. It returns a *[StateError] when the task is
// not paused, when it waits for [Client.Approve], and when it has reached its stop policy:
// then pass a higher limit with it, see [WithStopAfter].
func (c *Client) Resume(ctx context.Context, id ID, opts ...RequestOption) (*Task, error) {
	return c.request(ctx, id, lifecycle.ActResume, opts)
}

// skipInParts is the problem of [WithSkip] for a task whose items are in its parts.
const skipInParts = "the task has buckets or ranges, which process its items, and one of these is retried with WithSkip while the task is open: submit the task with WithChildFailure(PauseParent), " +
	"retry the part that has failed with WithSkip when the task is paused, and resume the task"

// WithSkip lets [Client.Retry] skip one item, such as one that kills its workers:
// the element that [Take] returns next is recorded as a failed item with the code
// skipped, by its position, and the task continues after it. It is an
// *[OptionError] for another request, for a task whose last element has been taken,
// and for one whose executor has made checkpoints without Take. An executor that
// does not use Take keeps its position itself and still processes the item. In a task with buckets or ranges, these have
// the items: with [WithChildFailure] and [PauseParent] a part that fails pauses the task, is retried with WithSkip, and the task resumed.
//
// It lets [Client.Stop] leave out the rest of a bucket or of a stage, for a reason that [WithReason] gives. The
// parent goes on without it, and is partial in the end. A part that has failed is retried first.
func WithSkip() RequestOption {
	return requestOption(func(r *requestOptions) { r.Skip = true })
}

type requestOption func(*requestOptions)

func (f requestOption) applyRequest(r *requestOptions) { f(r) }

// Retry gives a task in ERROR or FAILURE a fresh budget of attempts and continues
// it from its last checkpoint, or after the next item, see [WithSkip]. It returns a
// *[StateError] in any other status, and a *[DuplicateError] when another live task
// has its unique key by now, or when it was continued, see [Client.Continue].
func (c *Client) Retry(ctx context.Context, id ID, opts ...RequestOption) (*Task, error) {
	return c.request(ctx, id, lifecycle.ActRetry, opts)
}

// Delete removes a task with its result and its item failures, irrevocably. Its
// events stay. A running task is aborted and removed at its next batch boundary;
// the control of the returned task says so. It returns [ErrNotFound] when there
// is no such task, and a *[ChildError] for a child whose parent is not complete.
func (c *Client) Delete(ctx context.Context, id ID, opts ...RequestOption) (*Task, error) {
	return c.request(ctx, id, lifecycle.ActDelete, opts)
}

func (c *Client) request(ctx context.Context, id ID, action lifecycle.Action, opts []RequestOption) (*Task, error) {
	r := requestOptions{Request: store.Request{Action: action}}
	for _, o := range opts {
		o.applyRequest(&r)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	switch {
	case r.Skip && action != lifecycle.ActRetry && action != lifecycle.ActStop:
		return nil, &OptionError{"WithSkip", "only Retry can skip an item, and only Stop the rest of a bucket or a stage"}
	case r.Skip && action == lifecycle.ActStop && r.Reason == "":
		return nil, &OptionError{"WithSkip", "Stop leaves out the rest of a bucket or a stage: say why with WithReason"}
	}
	return c.send(ctx, id, r.Request)
}

// send makes a request of a task, and passes it on to its children.
func (c *Client) send(ctx context.Context, id ID, r store.Request) (*Task, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	t, err := op.Request(ctx, id, r)
	if errors.Is(err, store.ErrNoSkip) {
		if buckets, ranges, splitErr := isSplit(ctx, op, id); splitErr == nil && (buckets || ranges) {
			return nil, &OptionError{"WithSkip", skipInParts}
		}
	}
	if err != nil {
		return nil, c.public(ctx, err)
	}
	if t.HasOpenChildren {
		passOn(ctx, op, []ID{id})
	}
	if t.Parent != uuid.Nil && (t.Status.Terminal() || t.Control == lifecycle.Delete) || r.MaxParallel > 0 {
		parent := t.Parent
		if r.MaxParallel > 0 {
			parent = id
		}
		_, _ = op.WakeParents(ctx, []ID{parent}) // the workers do it otherwise
	}
	return c.read(ctx, op, t)
}
