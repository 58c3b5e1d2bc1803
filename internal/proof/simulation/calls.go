package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

var _ interface {
	store.Runtime
	store.Requests
} = (*node)(nil)

// Dialect implements [store.Workers].
func (n *node) Dialect() dialect.Name { return n.db.Dialect() }

// Schema implements [store.Workers].
func (n *node) Schema() string { return n.db.Schema() }

// Heartbeat implements [store.Workers].
func (n *node) Heartbeat(ctx context.Context, process string, draining bool) error {
	return act(ctx, n, "Heartbeat", func(ctx context.Context) error { return n.db.Heartbeat(ctx, process, draining) })
}

// Probe implements [store.Workers].
func (n *node) Probe(ctx context.Context, disk bool) error {
	return act(ctx, n, "Probe", func(ctx context.Context) error { return n.db.Probe(ctx, disk) })
}

// Deregister implements [store.Workers].
func (n *node) Deregister(ctx context.Context, process string) error {
	return act(ctx, n, "Deregister", func(ctx context.Context) error { return n.db.Deregister(ctx, process) })
}

// Release implements [store.Workers].
func (n *node) Release(ctx context.Context) { n.db.Release(ctx) }

// Claim implements [store.Workers].
func (n *node) Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error) {
	return do(ctx, n, "Claim", func(ctx context.Context) (store.ClaimResult, error) {
		got, err := n.db.Claim(ctx, c)
		for _, t := range got.Tasks {
			if t.Stalled {
				n.count("takeover")
			}
			n.say("%s claims %s with fence %d", n.label, n.name(t.ID), t.Fence)
		}
		return got, err
	})
}

// Plan implements [store.Common].
func (n *node) Plan(ctx context.Context, id uuid.UUID) (store.Plan, error) {
	p, err := do(ctx, n, "Plan", func(ctx context.Context) (store.Plan, error) { return n.db.Plan(ctx, id) })
	if err == nil {
		n.tells(id, &p)
	}
	return p, err
}

// StoreTrace implements [store.Sessions].
func (n *node) StoreTrace(ctx context.Context, l store.Lease, traceparent string) error {
	return act(ctx, n, "StoreTrace", func(ctx context.Context) error { return n.db.StoreTrace(ctx, l, traceparent) })
}

// Targets implements [store.Common].
func (n *node) Targets(ctx context.Context, id uuid.UUID, first, last int) ([]store.TargetPage, error) {
	return do(ctx, n, "Targets", func(ctx context.Context) ([]store.TargetPage, error) {
		return n.db.Targets(ctx, id, first, last)
	})
}

// Deferred implements [store.Sessions].
func (n *node) Deferred(ctx context.Context, id uuid.UUID, after int64, limit int) (positions []int64, all int64, err error) {
	// One value, since a call that arrives late returns after this one has.
	type deferred struct {
		positions []int64
		all       int64
	}
	d, err := do(ctx, n, "Deferred", func(ctx context.Context) (d deferred, err error) {
		d.positions, d.all, err = n.db.Deferred(ctx, id, after, limit)
		return d, err
	})
	return d.positions, d.all, err
}

// Apply implements [store.Sessions].
func (n *node) Apply(ctx context.Context, process string, writes []*store.Write) ([]store.Applied, error) {
	return do(ctx, n, "Apply", func(ctx context.Context) ([]store.Applied, error) {
		as, err := n.db.Apply(ctx, process, writes)
		for i := range as {
			n.accepts(*writes[i], as[i])
			n.say("%s brings %s at %d/%d to %s: %v", n.label, n.name(writes[i].ID), writes[i].Fence, writes[i].Seq, writes[i].To, as[i])
		}
		return as, err
	})
}

// Positions implements [store.Sessions].
func (n *node) Positions(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]store.Position, error) {
	return do(ctx, n, "Positions", func(ctx context.Context) (map[uuid.UUID]store.Position, error) {
		return n.db.Positions(ctx, ids)
	})
}

// Unstarted implements [store.Workers].
func (n *node) Unstarted(ctx context.Context, process string) (map[uuid.UUID]store.Position, error) {
	return do(ctx, n, "Unstarted", func(ctx context.Context) (map[uuid.UUID]store.Position, error) {
		return n.db.Unstarted(ctx, process)
	})
}

// Reap implements [store.Upkeep].
func (n *node) Reap(ctx context.Context, absent []int64) (store.Reaped, error) {
	return do(ctx, n, "Reap", func(ctx context.Context) (store.Reaped, error) {
		r, err := n.db.Reap(ctx, absent)
		for range r.Dead {
			n.count("declared dead")
		}
		for _, id := range r.Ended {
			n.count("ended by the reaper")
			n.say("%s ends %s while reaping", n.label, n.name(id))
		}
		return r, err
	})
}

// Waiting implements [store.Workers].
func (n *node) Waiting(ctx context.Context, c store.Claim) (bool, error) {
	return do(ctx, n, "Waiting", func(ctx context.Context) (bool, error) { return n.db.Waiting(ctx, c) })
}

// ReadPresence implements [store.Workers].
func (n *node) ReadPresence(ctx context.Context, process string) (store.PresenceReading, error) {
	return do(ctx, n, "ReadPresence", func(ctx context.Context) (store.PresenceReading, error) {
		return n.db.ReadPresence(ctx, process)
	})
}

// FoundAlive implements [store.Workers].
func (n *node) FoundAlive(ctx context.Context, process string) (bool, error) {
	return do(ctx, n, "FoundAlive", func(ctx context.Context) (bool, error) { return n.db.FoundAlive(ctx, process) })
}

// Watch implements [store.Workers]. Some wake-ups are lost. A machine that crashes loses its
// presence lock, and so does one that loses its connection, which it
// may not know.
func (n *node) Watch(ctx context.Context, process string, w store.Watcher) error {
	if _, err := n.gate(ctx, false); err != nil {
		return err
	}
	if n.plan.NoNotify {
		return store.ErrNoWatch
	}
	watching, end := context.WithCancelCause(ctx)
	defer end(nil)
	n.onCrash(func() { end(memstore.ErrGone) })
	if n.chance(10 * n.plan.Loss) {
		go n.cut(watching, end)
	}
	wake := w.Wake
	w.Wake = func() {
		if !n.chance(n.plan.Loss) {
			wake()
		}
	}
	err := n.db.Watch(watching, process, w)
	if ctx.Err() == nil && watching.Err() != nil {
		return errNetwork
	}
	return err
}

// cut ends the connection of a listener some time later. The worker knows
// that it has lost its lock, or it does not.
func (n *node) cut(watching context.Context, end context.CancelCauseFunc) {
	if sleep(watching, n.between(0, deadAfter)) != nil {
		return
	}
	if n.chance(0.5) {
		n.count("connection of the listener lost")
		end(errNetwork)
		return
	}
	n.count("presence lost while the process lives")
	end(memstore.ErrGone)
}

// Request implements [store.Requests].
func (n *node) Request(ctx context.Context, id uuid.UUID, r store.Request) (store.Task, error) {
	return do(ctx, n, "Request", func(ctx context.Context) (store.Task, error) {
		was := lifecycle.Status("no task")
		if t, err := n.db.Task(ctx, id); err == nil {
			was = t.Status
		}
		t, err := n.db.Request(ctx, id, r)
		if err == nil {
			n.count(fmt.Sprintf("%s of %s", r.Action, was))
		}
		n.say("%s asks to %s %s (%s): %s", n.label, r.Action, n.name(id), was, outcome(err))
		return t, err
	})
}

// Attempts implements [store.Common].
func (n *node) Attempts(ctx context.Context, id uuid.UUID, limit int) ([]store.Attempt, error) {
	return n.db.Attempts(ctx, id, limit)
}

// Events implements [store.Common].
func (n *node) Events(ctx context.Context, id uuid.UUID, limit int) ([]store.Event, error) {
	return n.db.Events(ctx, id, limit)
}

// EraseResults implements [store.Upkeep].
func (n *node) EraseResults(ctx context.Context, limit int) (int, error) {
	return do(ctx, n, "EraseResults", func(ctx context.Context) (int, error) { return n.db.EraseResults(ctx, limit) })
}

// EndedKinds implements [store.Upkeep].
func (n *node) EndedKinds(ctx context.Context) ([]store.EndedKind, error) {
	return do(ctx, n, "EndedKinds", n.db.EndedKinds)
}

// RemoveEnded implements [store.Upkeep].
func (n *node) RemoveEnded(ctx context.Context, p store.EndedTasks) (store.RemovedEnded, error) {
	return do(ctx, n, "RemoveEnded", func(ctx context.Context) (store.RemovedEnded, error) { return n.db.RemoveEnded(ctx, p) })
}

// RemoveIdle implements [store.Upkeep].
func (n *node) RemoveIdle(ctx context.Context, p store.WaitingTasks) (store.RemovedIdle, error) {
	return do(ctx, n, "RemoveIdle", func(ctx context.Context) (store.RemovedIdle, error) { return n.db.RemoveIdle(ctx, p) })
}

// PruneVersions implements [store.Upkeep].
func (n *node) PruneVersions(ctx context.Context, p store.OldVersions) (int, error) {
	return do(ctx, n, "PruneVersions", func(ctx context.Context) (int, error) { return n.db.PruneVersions(ctx, p) })
}

// PruneEvents implements [store.Common].
func (n *node) PruneEvents(ctx context.Context, olderThan time.Duration, limit int) (int, error) {
	return do(ctx, n, "PruneEvents", func(ctx context.Context) (int, error) { return n.db.PruneEvents(ctx, olderThan, limit) })
}

// Processes implements [store.Common].
func (n *node) Processes(ctx context.Context, since time.Duration) ([]store.Process, error) {
	return n.db.Processes(ctx, since)
}

// Derive implements [store.Requests].
func (n *node) Derive(ctx context.Context, from uuid.UUID, notify bool, makes func(store.Origin) (store.NewTask, error)) (uuid.UUID, error) {
	return do(ctx, n, "Derive", func(ctx context.Context) (uuid.UUID, error) { return n.db.Derive(ctx, from, notify, makes) })
}

// DeleteSchedule implements [store.Requests].
func (n *node) DeleteSchedule(ctx context.Context, name string, by uuid.UUID, reason string) error {
	return n.db.DeleteSchedule(ctx, name, by, reason)
}
