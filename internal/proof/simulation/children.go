package simulation

import (
	"context"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// Family implements [store.Common].
func (n *node) Family(ctx context.Context, l store.Lease) (store.Family, error) {
	n.state.Lock()
	n.families[l.ID] = l.Fence
	n.state.Unlock()
	return do(ctx, n, "Family", func(ctx context.Context) (store.Family, error) { return n.db.Family(ctx, l) })
}

// readFamilyWith returns the fence with which a session last read the children of a task.
func (n *node) readFamilyWith(id uuid.UUID) int64 {
	n.state.Lock()
	defer n.state.Unlock()
	return n.families[id]
}

// Children implements [store.Common].
func (n *node) Children(ctx context.Context, parent, after uuid.UUID, limit int, states bool) ([]store.ChildTask, error) {
	return do(ctx, n, "Children", func(ctx context.Context) ([]store.ChildTask, error) {
		return n.db.Children(ctx, parent, after, limit, states)
	})
}

// FailedChild implements [store.Common].
func (n *node) FailedChild(ctx context.Context, parent uuid.UUID) (store.ChildTask, error) {
	return do(ctx, n, "FailedChild", func(ctx context.Context) (store.ChildTask, error) { return n.db.FailedChild(ctx, parent) })
}

// CountChildren implements [store.Common].
func (n *node) CountChildren(ctx context.Context, parents []uuid.UUID) (map[uuid.UUID]store.ChildCounts, error) {
	return n.db.CountChildren(ctx, parents)
}

// WakeParents implements [store.Common].
func (n *node) WakeParents(ctx context.Context, parents []uuid.UUID) ([]uuid.UUID, error) {
	return do(ctx, n, "WakeParents", func(ctx context.Context) ([]uuid.UUID, error) {
		woken, err := n.db.WakeParents(ctx, parents)
		for _, id := range woken {
			n.count("parent woken")
			n.say("%s wakes %s", n.label, n.name(id))
		}
		return woken, err
	})
}

// PassOn implements [store.Common].
func (n *node) PassOn(ctx context.Context, parents []uuid.UUID, limit int) (changed []uuid.UUID, more bool, err error) {
	type passed struct {
		changed []uuid.UUID
		more    bool
	}
	p, err := do(ctx, n, "PassOn", func(ctx context.Context) (p passed, err error) {
		p.changed, p.more, err = n.db.PassOn(ctx, parents, limit)
		return p, err
	})
	return p.changed, p.more, err
}

// RetryChildren implements [store.Sessions].
func (n *node) RetryChildren(ctx context.Context, l store.Lease, limit int) (int, error) {
	return do(ctx, n, "RetryChildren", func(ctx context.Context) (int, error) { return n.db.RetryChildren(ctx, l, limit) })
}

// Insert implements [store.Tx].
func (t *nodeTx) Insert(ctx context.Context, tasks []store.NewTask, notify bool) error {
	ctx, err := t.send(ctx)
	if err != nil {
		return err
	}
	return t.tx.Insert(ctx, tasks, notify)
}
