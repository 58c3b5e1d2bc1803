package taskkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// TaskOf is a task with its spec and state decoded. These hold their secrets;
// those of the Task within are masked.
type TaskOf[Spec, State any] struct {
	Task
	Spec  Spec
	State State
}

// Get reads a task of a kind, with its spec and state decoded. Generated
// packages have a Get of their own. A task of another kind is [ErrNotFound].
func Get[Spec, State any](ctx context.Context, c *Client, k *Kind[Spec, State], id ID) (*TaskOf[Spec, State], error) {
	op, err := c.operator(ctx)
	if err != nil {
		return nil, err
	}
	t, err := op.Task(ctx, id)
	if err != nil {
		return nil, public(err)
	}
	if !k.is(t.Kind) {
		return nil, k.other(fromStore(t))
	}
	out := &TaskOf[Spec, State]{Task: *fromStore(t)}
	if len(t.Spec) > 0 {
		if err := k.readSpec(t.SpecRevision, t.Spec, &out.Spec); err != nil {
			return nil, fmt.Errorf("taskkit: task %s: %w", id, err)
		}
	}
	if err := k.readState(t.Revision, t.State, &out.State); err != nil {
		return nil, fmt.Errorf("taskkit: task %s: %w", id, err)
	}
	return out, nil
}

// TaskWith is a task with its spec, its state and, once there is one, its result
// decoded.
type TaskWith[Spec, State, Result any] struct {
	TaskOf[Spec, State]
	Result *Result // nil: there is none, or not yet
}

// GetWith is [Get] for a kind with a result. Generated packages call it Get.
func GetWith[Spec, State, Result any](ctx context.Context, c *Client, k *Kind[Spec, State], codec Codec[Result], id ID) (*TaskWith[Spec, State, Result], error) {
	t, err := Get(ctx, c, k, id)
	if err != nil {
		return nil, err
	}
	out := &TaskWith[Spec, State, Result]{TaskOf: *t}
	switch r, err := fetch(ctx, c, k, codec, id); {
	case err == nil:
		out.Result = &r
	case !errors.Is(err, ErrNoResult):
		return nil, err
	}
	return out, nil
}

// FetchResult reads the result of a task of a kind. [ErrNoResult] when it has
// none. Generated packages have a Fetch of their own. A task of another kind is
// [ErrNotFound].
func FetchResult[Spec, State, Result any](ctx context.Context, c *Client, k *Kind[Spec, State], codec Codec[Result], id ID) (Result, error) {
	var none Result
	found, err := c.Tasks(ctx, Filter{IDs: []ID{id}})
	switch {
	case err != nil:
		return none, err
	case len(found) == 0:
		return none, ErrNotFound
	case !k.is(found[0].Kind):
		return none, k.other(found[0])
	}
	return fetch(ctx, c, k, codec, id)
}

// fetch reads the result of a task that is known to be of the kind.
func fetch[Spec, State, Result any](ctx context.Context, c *Client, k *Kind[Spec, State], codec Codec[Result], id ID) (Result, error) {
	var r Result
	raw, revision, err := c.result(ctx, id)
	if err != nil {
		return r, err
	}
	if _, err := read(&k.revisions, partResult, revision, raw, codec.Decode, &r); err != nil {
		return r, fmt.Errorf("taskkit: task %s: %w", id, err)
	}
	return r, nil
}

// Result reads the result of a task as JSON, as it was written.
func (c *Client) Result(ctx context.Context, id ID) ([]byte, error) {
	raw, _, err := c.result(ctx, id)
	return raw, err
}

// result reads a result and its revision.
func (c *Client) result(ctx context.Context, id ID) ([]byte, int, error) {
	op, err := c.operator(ctx)
	if err != nil {
		return nil, 0, err
	}
	raw, revision, err := op.Result(ctx, id)
	if err != nil {
		return nil, 0, public(err)
	}
	if raw == nil {
		return nil, 0, ErrNoResult
	}
	return raw, revision, nil
}

// other says that a task is of another kind.
func (k *Kind[Spec, State]) other(t *Task) error {
	return fmt.Errorf("%w: %s is of kind %s, not %s", ErrNotFound, t.ID, t.Kind, k.Name())
}

// is reports whether a stored name is this kind's, or one of its aliases.
func (k *Kind[Spec, State]) is(name string) bool {
	if name == k.def.Name {
		return true
	}
	return slices.Contains(k.def.Aliases, name)
}
