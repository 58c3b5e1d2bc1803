package taskkit

import (
	"context"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Refusals are the errors that the methods of the same names would return for a task now,
// without options that change what they do. Nil: the request would be accepted, though it may have no effect.
type Refusals struct {
	Stop, Pause, Resume, Approve, Change, Retry, Delete error
}

// Refusals returns which requests of tasks would be refused if actor made them now, for an
// interface that offers only what is possible. It decides as the requests do, and locks nothing, so a task
// may have changed by the time of a request. Tasks that are paused, have failed or
// have a parent are read again, all with one query; of the others their row decides. One that
// does not exist any more is absent.
func (c *Client) Refusals(ctx context.Context, actor uuid.UUID, tasks ...*Task) (map[ID]*Refusals, error) {
	found := make(map[ID]*Refusals, len(tasks))
	var more []ID
	for _, t := range tasks {
		if t.Parent != uuid.Nil || t.Control == ControlPause || t.Status == StatusFailure || t.Status == StatusError {
			more = append(more, t.ID)
			continue
		}
		found[t.ID] = refusals(&store.Subject{ID: t.ID, Kind: t.Kind, Owner: t.Owner, RunAs: t.RunAs, CreatedBy: t.CreatedBy, Found: lifecycle.Found{
			Status: lifecycle.Status(t.Status), Control: lifecycle.Control(t.Control), Fence: t.Fence, WorkerAlive: true, Served: true,
		}}, actor)
	}
	if len(more) == 0 {
		return found, nil
	}
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	subjects, err := op.Subjects(ctx, more)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	for id, s := range subjects {
		found[id] = refusals(s, actor)
	}
	return found, nil
}

// refusals decides about each request of a task by actor.
func refusals(s *store.Subject, actor uuid.UUID) *Refusals {
	refusal := func(a lifecycle.Action) error {
		r := requestOptions{Request: store.Request{Action: a, Actor: actor}}
		if err := r.check(); err != nil {
			return err
		}
		_, err := s.Decide(r.Request)
		return public(err)
	}
	return &Refusals{
		Stop: refusal(lifecycle.ActStop), Pause: refusal(lifecycle.ActPause), Resume: refusal(lifecycle.ActResume), Approve: refusal(lifecycle.ActApprove),
		Change: refusal(lifecycle.ActChange), Retry: refusal(lifecycle.ActRetry), Delete: refusal(lifecycle.ActDelete),
	}
}

// CheckRetryFailed returns the error that [Client.RetryFailed] without options would return
// now, and stores nothing. Another task may be submitted in between.
func (c *Client) CheckRetryFailed(ctx context.Context, id ID) error {
	return c.checkFollow(ctx, id, func(s *store.Subject) ID { return s.Retried }, func(f *followUp) error { return f.retryFailed(ctx, nil) })
}

// CheckContinue is [Client.CheckRetryFailed] for [Client.Continue].
func (c *Client) CheckContinue(ctx context.Context, id ID) error {
	return c.checkFollow(ctx, id, func(s *store.Subject) ID { return s.Continued }, func(f *followUp) error { return f.continues(ctx) })
}

// CheckApply is [Client.CheckRetryFailed] for [Client.Apply].
func (c *Client) CheckApply(ctx context.Context, id ID) error {
	workers, err := c.workers(ctx)
	if err != nil {
		return err
	}
	return c.checkFollow(ctx, id, func(s *store.Subject) ID { return s.Applied }, func(f *followUp) error { return f.applies(ctx, workers) })
}

// checkFollow is follow without storing the task. made returns the task that an earlier call has stored.
func (c *Client) checkFollow(ctx context.Context, id ID, made func(*store.Subject) ID, f func(*followUp) error) error {
	op, err := c.tables(ctx)
	if err != nil {
		return err
	}
	o := store.Origin{ItemReader: op}
	if o.Task, err = op.Task(ctx, id); err == nil {
		o.Plan, err = op.Plan(ctx, id)
	}
	if err != nil {
		return c.public(ctx, err)
	}
	divided, err := c.wasDivided(ctx, op, id)
	if err != nil {
		return err
	}
	next := &followUp{from: o, hasChildren: divided, submission: submission{schema: c.schema, NewTask: o.Follow()}}
	if err := next.apply(c.schema, nil); err != nil {
		return public(err)
	}
	if err := f(next); err != nil {
		return c.public(ctx, err)
	}
	subjects, err := op.Subjects(ctx, []uuid.UUID{id})
	if err != nil {
		return c.public(ctx, err)
	}
	s := subjects[id]
	switch {
	case s == nil:
		return ErrNotFound
	case made(s) != uuid.Nil:
		return public(&store.DuplicateError{Kind: s.Kind, Column: "idempotency_key", Key: next.IdempotencyKey, ID: made(s)})
	case s.KeyHolder != uuid.Nil:
		return public(&store.DuplicateError{Kind: s.Kind, Column: "unique_key", Key: s.UniqueKey, ID: s.KeyHolder})
	}
	return nil
}
