package simulation

import (
	"context"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// PausedQueues implements [store.Ops].
func (n *node) PausedQueues(ctx context.Context) ([]store.QueuePause, error) {
	return n.db.PausedQueues(ctx)
}

// QueueCounts implements [store.Ops].
func (n *node) QueueCounts(ctx context.Context) ([]store.QueueCounts, error) {
	return n.db.QueueCounts(ctx)
}

// DeadGroups implements [store.Ops].
func (n *node) DeadGroups(ctx context.Context, f store.Filter) ([]store.DeadGroup, error) {
	return n.db.DeadGroups(ctx, f)
}

// UnknownKinds implements [store.Ops].
func (n *node) UnknownKinds(ctx context.Context) ([]store.UnknownKind, error) {
	return n.db.UnknownKinds(ctx)
}

// SeeUnknownKinds implements [store.Upkeep].
func (n *node) SeeUnknownKinds(ctx context.Context) (report []store.UnknownKind, some bool, err error) {
	err = act(ctx, n, "SeeUnknownKinds", func(ctx context.Context) (err error) {
		report, some, err = n.db.SeeUnknownKinds(ctx)
		return err
	})
	return report, some, err
}

// EndUnknownKinds implements [store.Upkeep].
func (n *node) EndUnknownKinds(ctx context.Context, process string, after time.Duration, limit int) ([]uuid.UUID, error) {
	return do(ctx, n, "EndUnknownKinds", func(ctx context.Context) ([]uuid.UUID, error) {
		return n.db.EndUnknownKinds(ctx, process, after, limit)
	})
}
