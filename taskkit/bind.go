package taskkit

import (
	"context"
	"encoding/json"
	"fmt"

	"taskkit.dev/internal/engine"
)

// bind makes an untyped kind of a typed executor: the one seam between generics
// and the runtime.
func bind[Spec, State any](k *Kind[Spec, State], x Executor[Spec, State]) *engine.Kind {
	_, aborts := x.(Aborter[Spec, State])
	return &engine.Kind{
		Name:      k.def.Name,
		Revision:  k.def.Revision,
		Reads:     k.def.Reads,
		Secrets:   k.hidden(),
		Limit:     k.def.Batch,
		HasAbort:  aborts,
		HasReport: k.def.Report != nil,
		Open: func(t engine.Task, raw json.RawMessage) (engine.Call, error) {
			c := &call[Spec, State]{kind: k, x: x}
			if raw == nil {
				return c, nil
			}
			if err := k.readSpec(t.SpecRevision, raw, &c.spec); err != nil {
				return nil, err
			}
			return c, nil
		},
	}
}

// call is an executor with the decoded spec of one task.
type call[Spec, State any] struct {
	kind *Kind[Spec, State]
	x    Executor[Spec, State]
	spec Spec
}

// batch makes what the executor is given, with the state decoded anew.
func (c *call[Spec, State]) batch(s *engine.Step, state json.RawMessage) (*Batch[Spec, State], error) {
	b := &Batch[Spec, State]{
		Task: s.Task.ID, Owner: s.Task.Owner, RunAs: s.Task.RunAs, Spec: c.spec,
		Tx: s.Tx, Limit: s.Limit, Attempt: s.Attempt, Log: s.Log, step: s,
	}
	if err := c.kind.readState(s.Task.Revision, state, &b.State); err != nil {
		return nil, Permanent("undecodable_state", err)
	}
	return b, nil
}

// Execute implements [engine.Call].
func (c *call[Spec, State]) Execute(ctx context.Context, s *engine.Step, state json.RawMessage) (int64, json.RawMessage, error) {
	b, err := c.batch(s, state)
	if err != nil {
		return 0, nil, err
	}
	next, err := c.x.Execute(ctx, b)
	if err != nil {
		return 0, nil, err
	}
	out, err := c.kind.def.State.encode(&b.State)
	if err != nil {
		return 0, nil, Permanent("unstorable_state", fmt.Errorf("encode state: %w", err))
	}
	if next < 0 {
		next = Done
	}
	return int64(next), out, nil
}

// Abort implements [engine.Call].
func (c *call[Spec, State]) Abort(ctx context.Context, s *engine.Step, state json.RawMessage) error {
	b, err := c.batch(s, state)
	if err != nil {
		return err
	}
	a, ok := c.x.(Aborter[Spec, State])
	if !ok { // the engine asks only where bind said so
		return nil
	}
	return a.Abort(ctx, b)
}

// Report implements [engine.Call].
func (c *call[Spec, State]) Report(ctx context.Context, s *engine.Step, state json.RawMessage) (json.RawMessage, error) {
	b, err := c.batch(s, state)
	if err != nil {
		return nil, err
	}
	return c.kind.def.Report(ctx, c.x, b)
}
