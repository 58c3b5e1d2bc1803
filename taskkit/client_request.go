package taskkit

import (
	"context"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// RequestOption says who asks something of a task, and why. Both are kept in
// the task's events.
type RequestOption func(*store.Request)

// By names the person who asks.
func By(actor uuid.UUID) RequestOption { return func(r *store.Request) { r.Actor = actor } }

// Because gives a reason.
func Because(reason string) RequestOption { return func(r *store.Request) { r.Reason = reason } }

// Stop asks a task to end as soon as possible and keep what it has done: it
// becomes COMPLETED and partial, Abort runs, then Report. A task that nobody
// has claimed ends at once, and so does one whose worker is dead and whose
// kind no live worker knows. Stopping a task that has ended or is being
// stopped does nothing and is no error (PTV-32).
func (c *Client) Stop(ctx context.Context, id ID, opts ...RequestOption) (*Task, error) {
	return c.request(ctx, id, store.ActStop, opts)
}

// Pause keeps a task from going on until [Client.Resume]; one that is running
// gives its place back after the batch in hand. A *[StateError] when it has
// ended.
func (c *Client) Pause(ctx context.Context, id ID, opts ...RequestOption) (*Task, error) {
	return c.request(ctx, id, store.ActPause, opts)
}

// Resume lets a paused task go on. A *[StateError] when it is not paused.
func (c *Client) Resume(ctx context.Context, id ID, opts ...RequestOption) (*Task, error) {
	return c.request(ctx, id, store.ActResume, opts)
}

// Retry gives a task in ERROR or FAILURE a fresh budget and lets it go on from
// its last checkpoint. A *[StateError] in any other status, a *[DuplicateError]
// when another live task has its unique key by now.
func (c *Client) Retry(ctx context.Context, id ID, opts ...RequestOption) (*Task, error) {
	return c.request(ctx, id, store.ActRetry, opts)
}

// Delete removes a task with its result and its failures, irrevocably; its
// events stay. One that is running is aborted at its next batch border and
// removed then, and the task returned says so by its control. Deleting a task
// that does not exist is [ErrNotFound].
func (c *Client) Delete(ctx context.Context, id ID, opts ...RequestOption) (*Task, error) {
	return c.request(ctx, id, store.ActDelete, opts)
}

func (c *Client) request(ctx context.Context, id ID, action store.Action, opts []RequestOption) (*Task, error) {
	op, err := c.operator(ctx)
	if err != nil {
		return nil, err
	}
	r := store.Request{Action: action}
	for _, o := range opts {
		o(&r)
	}
	t, err := op.Request(ctx, id, r)
	if err != nil {
		return nil, public(err)
	}
	return fromStore(t), nil
}
