package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

var _ store.Store = (*node)(nil)

// Dialect implements [store.Store].
func (n *node) Dialect() dialect.Name { return n.db.Dialect() }

// Enrol implements [store.Store].
func (n *node) Enrol(ctx context.Context, p store.Process) error {
	return act(ctx, n, "Enrol", func(ctx context.Context) error { return n.db.Enrol(ctx, p) })
}

// Beat implements [store.Store].
func (n *node) Beat(ctx context.Context, process string, busy int, draining bool) error {
	return act(ctx, n, "Beat", func(ctx context.Context) error { return n.db.Beat(ctx, process, busy, draining) })
}

// Leave implements [store.Store].
func (n *node) Leave(ctx context.Context, process string) error {
	return act(ctx, n, "Leave", func(ctx context.Context) error { return n.db.Leave(ctx, process) })
}

// Release implements [store.Store].
func (n *node) Release(ctx context.Context) { n.db.Release(ctx) }

// Claim implements [store.Store].
func (n *node) Claim(ctx context.Context, c store.Claim) (store.Claims, error) {
	return do(ctx, n, "Claim", func(ctx context.Context) (store.Claims, error) {
		got, err := n.db.Claim(ctx, c)
		for _, t := range got.Tasks {
			if t.Stalled {
				n.note("takeover")
			}
			n.say("%s claims %s with fence %d", n.label, n.name(t.ID), t.Fence)
		}
		return got, err
	})
}

// Spec implements [store.Store].
func (n *node) Spec(ctx context.Context, id uuid.UUID) (json.RawMessage, error) {
	return do(ctx, n, "Spec", func(ctx context.Context) (json.RawMessage, error) { return n.db.Spec(ctx, id) })
}

// Apply implements [store.Store].
func (n *node) Apply(ctx context.Context, process string, writes []store.Write) ([]store.Applied, error) {
	return do(ctx, n, "Apply", func(ctx context.Context) ([]store.Applied, error) {
		as, err := n.db.Apply(ctx, process, writes)
		for i := range as {
			n.accepts(writes[i], as[i])
			n.say("%s brings %s at %d/%d to %s: %v", n.label, n.name(writes[i].ID), writes[i].Fence, writes[i].Seq, writes[i].To, as[i])
		}
		return as, err
	})
}

// Positions implements [store.Store].
func (n *node) Positions(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]store.Position, error) {
	return do(ctx, n, "Positions", func(ctx context.Context) (map[uuid.UUID]store.Position, error) {
		return n.db.Positions(ctx, ids)
	})
}

// Unstarted implements [store.Store].
func (n *node) Unstarted(ctx context.Context, process string) (map[uuid.UUID]store.Position, error) {
	return do(ctx, n, "Unstarted", func(ctx context.Context) (map[uuid.UUID]store.Position, error) {
		return n.db.Unstarted(ctx, process)
	})
}

// Reap implements [store.Store].
func (n *node) Reap(ctx context.Context) (store.Reaped, error) {
	return do(ctx, n, "Reap", func(ctx context.Context) (store.Reaped, error) {
		r, err := n.db.Reap(ctx)
		for range r.Dead {
			n.note("declared dead")
		}
		for _, id := range r.Settled {
			n.note("settled")
			n.say("%s settles %s", n.label, n.name(id))
		}
		return r, err
	})
}

// Waiting implements [store.Store].
func (n *node) Waiting(ctx context.Context, c store.Claim) (bool, error) {
	return do(ctx, n, "Waiting", func(ctx context.Context) (bool, error) { return n.db.Waiting(ctx, c) })
}

// Watch implements [store.Store]. Some hints are lost.
func (n *node) Watch(ctx context.Context, ready, wake func()) error {
	if _, err := n.gate(ctx, false); err != nil {
		return err
	}
	if n.plan.Deaf {
		return store.ErrNoWatch
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n.onCrash(cancel)
	return n.db.Watch(ctx, ready, func() {
		if !n.chance(n.plan.Loss) {
			wake()
		}
	})
}

// Request implements [store.Operator].
func (n *node) Request(ctx context.Context, id uuid.UUID, r store.Request) (store.Task, error) {
	return do(ctx, n, "Request", func(ctx context.Context) (store.Task, error) {
		was := workflow.Status("no task")
		if t, err := n.db.Task(ctx, id); err == nil {
			was = t.Status
		}
		t, err := n.db.Request(ctx, id, r)
		if err == nil {
			n.note(fmt.Sprintf("%s of %s", r.Action, was))
		}
		n.say("%s asks to %s %s (%s): %s", n.label, r.Action, n.name(id), was, outcome(err))
		return t, err
	})
}

// The rest of [store.Operator] is for readers, whom the simulation has not.

// Task implements [store.Operator].
func (n *node) Task(ctx context.Context, id uuid.UUID) (store.Task, error) { return n.db.Task(ctx, id) }

// Tasks implements [store.Operator].
func (n *node) Tasks(ctx context.Context, f store.Filter) ([]store.Task, error) {
	return n.db.Tasks(ctx, f)
}

// Matching implements [store.Operator].
func (n *node) Matching(ctx context.Context, suffix string, limit int) ([]uuid.UUID, error) {
	return n.db.Matching(ctx, suffix, limit)
}

// Result implements [store.Operator].
func (n *node) Result(ctx context.Context, id uuid.UUID) (json.RawMessage, int, error) {
	return n.db.Result(ctx, id)
}

// Failures implements [store.Operator].
func (n *node) Failures(ctx context.Context, id, after uuid.UUID, limit int) ([]store.Failure, error) {
	return n.db.Failures(ctx, id, after, limit)
}

// Attempts implements [store.Operator].
func (n *node) Attempts(ctx context.Context, id uuid.UUID, limit int) ([]store.Attempt, error) {
	return n.db.Attempts(ctx, id, limit)
}

// Events implements [store.Operator].
func (n *node) Events(ctx context.Context, id uuid.UUID, limit int) ([]store.Event, error) {
	return n.db.Events(ctx, id, limit)
}

// Processes implements [store.Operator].
func (n *node) Processes(ctx context.Context, since time.Duration) ([]store.Process, error) {
	return n.db.Processes(ctx, since)
}

// Counts implements [store.Operator].
func (n *node) Counts(ctx context.Context, kind string) (map[workflow.Status]int64, error) {
	return n.db.Counts(ctx, kind)
}
