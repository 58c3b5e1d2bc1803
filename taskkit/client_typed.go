package taskkit

import (
	"context"
	"fmt"
	"slices"
)

// TaskOf is a task with its spec and state decoded.
type TaskOf[Spec, State any] struct {
	Task
	Spec  Spec
	State State
}

// Get reads a task of a kind, with its spec and state decoded. Generated
// packages have a Get of their own. A task of another kind is [ErrNotFound].
func Get[Spec, State any](ctx context.Context, c *Client, k *Kind[Spec, State], id ID) (*TaskOf[Spec, State], error) {
	t, err := c.Task(ctx, id)
	if err != nil {
		return nil, err
	}
	if !k.is(t.Kind) {
		return nil, fmt.Errorf("%w: %s is of kind %s, not %s", ErrNotFound, id, t.Kind, k.Name())
	}
	out := &TaskOf[Spec, State]{Task: *t}
	if len(t.Spec) > 0 {
		if err := k.def.Spec.Decode(t.Spec, &out.Spec); err != nil {
			return nil, fmt.Errorf("taskkit: decode spec of task %s: %w", id, err)
		}
	}
	if len(t.State) > 0 && string(t.State) != "{}" {
		if err := k.def.State.Decode(t.State, &out.State); err != nil {
			return nil, fmt.Errorf("taskkit: decode state of task %s: %w", id, err)
		}
	}
	return out, nil
}

// FetchResult reads the result of a task of a kind. [ErrNoResult] when it has
// none. Generated packages have a Fetch of their own.
func FetchResult[Result any](ctx context.Context, c *Client, kind string, codec Codec[Result], id ID) (Result, error) {
	var r Result
	raw, err := c.Result(ctx, id)
	if err != nil {
		return r, err
	}
	if err := codec.Decode(raw, &r); err != nil {
		return r, fmt.Errorf("taskkit: decode result of %s task %s: %w", kind, id, err)
	}
	return r, nil
}

// Result reads the result of a task as JSON.
func (c *Client) Result(ctx context.Context, id ID) ([]byte, error) {
	op, err := c.operator(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := op.Result(ctx, id)
	if err != nil {
		return nil, public(err)
	}
	if raw == nil {
		return nil, ErrNoResult
	}
	return raw, nil
}

// is reports whether a stored name is this kind's, or one of its aliases.
func (k *Kind[Spec, State]) is(name string) bool {
	if name == k.def.Name {
		return true
	}
	return slices.Contains(k.def.Aliases, name)
}
