package simulation

import (
	"context"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// TakePermits implements [store.Sessions].
func (n *node) TakePermits(ctx context.Context, tasks []store.PermitRequest) ([]store.PermitAnswer, error) {
	return do(ctx, n, "TakePermits", func(ctx context.Context) ([]store.PermitAnswer, error) {
		answers, err := n.db.TakePermits(ctx, tasks)
		for i, a := range answers {
			what := "given a permit"
			if !a.OK {
				what = "refused a permit"
			}
			n.count("task " + what)
			n.say("%s: %s is %s", n.label, n.name(tasks[i].ID), what)
		}
		return answers, err
	})
}

// WakeWaiting implements [store.Upkeep].
func (n *node) WakeWaiting(ctx context.Context, keys []string) ([]uuid.UUID, error) {
	return do(ctx, n, "WakeWaiting", func(ctx context.Context) ([]uuid.UUID, error) {
		woken, err := n.db.WakeWaiting(ctx, keys)
		for _, id := range woken {
			n.count("woken for a permit")
			n.say("%s wakes %s for a place", n.label, n.name(id))
		}
		return woken, err
	})
}

// SetLimit implements [store.Requests].
func (n *node) SetLimit(ctx context.Context, key string, atMost int, by uuid.UUID, reason string) error {
	_, err := do(ctx, n, "SetLimit", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, n.db.SetLimit(ctx, key, atMost, by, reason)
	})
	return err
}

// WaitingOwners implements [store.Workers].
func (n *node) WaitingOwners(ctx context.Context, c store.Claim) (map[uuid.UUID]int, error) {
	return do(ctx, n, "WaitingOwners", func(ctx context.Context) (map[uuid.UUID]int, error) { return n.db.WaitingOwners(ctx, c) })
}
