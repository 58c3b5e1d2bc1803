package taskkit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"taskkit.dev/internal/store"
)

// Typed is a task with its spec, its state and, once there is one, its result
// decoded. These contain the task's secrets, which are masked in Task.
type Typed[Spec, State, Result any] struct {
	Task   Task
	Spec   Spec
	State  State
	Result *Result // nil while there is none, and once it has been erased
}

// Get reads a task of a kind. It returns [ErrNotFound] for a task of another kind.
// Generated packages have a Get of their own.
func Get[Spec, State, Result any](ctx context.Context, c *Client, k *Kind[Spec, State, Result], id ID) (*Typed[Spec, State, Result], error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	t, err := op.Task(ctx, id)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	if !k.is(t.Kind) {
		return nil, k.otherKind(fromStore(t))
	}
	read, err := c.read(ctx, op, t)
	if err != nil {
		return nil, err
	}
	out := &Typed[Spec, State, Result]{Task: *read}
	if len(t.Spec) > 0 {
		if err := k.readSpec(t.SpecRevision, t.Spec, &out.Spec); err != nil {
			return nil, fmt.Errorf("taskkit: task %s: %w", id, err)
		}
	}
	if err := k.readState(t.Revision, t.State, &out.State); err != nil {
		return nil, fmt.Errorf("taskkit: task %s: %w", id, err)
	}
	if !k.hasResult() {
		return out, nil
	}
	raw, revision, err := op.Result(ctx, id)
	switch {
	case errors.Is(err, store.ErrExpired):
		return out, nil
	case err != nil:
		return nil, c.public(ctx, err)
	case raw == nil:
		return out, nil
	}
	r, err := k.DecodeResult(revision, raw)
	if err != nil {
		return nil, fmt.Errorf("taskkit: task %s: %w", id, err)
	}
	out.Result = &r
	return out, nil
}

// Fetch reads the result of a task of a kind and records when it was first fetched.
// No other call but [Client.FetchJSON] does that. It returns [ErrNoResult] when the task has none,
// [ErrExpired] when it has been erased, and [ErrNotFound] for a task of another kind. Generated packages have a Fetch of their
// own.
func Fetch[Spec, State, Result any](ctx context.Context, c *Client, k *Kind[Spec, State, Result], id ID) (Result, error) {
	var none Result
	found, _, err := c.Tasks(ctx, Filter{IDs: []ID{id}})
	switch {
	case err != nil:
		return none, err
	case len(found) == 0:
		return none, ErrNotFound
	case !k.is(found[0].Kind):
		return none, k.otherKind(found[0])
	}
	op, err := c.tables(ctx)
	if err != nil {
		return none, err
	}
	raw, revision, err := op.Fetch(ctx, id)
	switch {
	case err != nil:
		return none, c.public(ctx, err)
	case raw == nil:
		return none, ErrNoResult
	}
	r, err := k.DecodeResult(revision, raw)
	if err != nil {
		return none, fmt.Errorf("taskkit: task %s: %w", id, err)
	}
	return r, nil
}

// Result reads the result of a task as JSON, as it is stored. It does not count as
// fetching; see [Fetch]. It returns [ErrNoResult] when the task has none, and [ErrExpired]
// when it has been erased.
func (c *Client) Result(ctx context.Context, id ID) ([]byte, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	raw, _, err := op.Result(ctx, id)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	if raw == nil {
		return nil, ErrNoResult
	}
	return raw, nil
}

// FetchJSON reads the result of a task as JSON, as it is stored, and records when it was
// first fetched, as [Fetch] does, for programs that do not know the kind. It returns
// [ErrNoResult] when the task has none, and [ErrExpired] when it has been erased.
func (c *Client) FetchJSON(ctx context.Context, id ID) ([]byte, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	raw, _, err := op.Fetch(ctx, id)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	if raw == nil {
		return nil, ErrNoResult
	}
	return raw, nil
}

// otherKind returns the error for a task of another kind.
func (k *Kind[Spec, State, Result]) otherKind(t *Task) error {
	return fmt.Errorf("%w: %s is of kind %s, not %s", ErrNotFound, t.ID, t.Kind, k.Name())
}

// is reports whether a stored name is the kind's name or one of its aliases.
func (k *Kind[Spec, State, Result]) is(name string) bool {
	return name == k.def.Name || slices.Contains(k.def.Aliases, name)
}
