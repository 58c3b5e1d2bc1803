package simulation

import (
	"context"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

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

// ExpireTasks implements [store.Upkeep].
func (n *node) ExpireTasks(ctx context.Context, process string, limit int, items int64) (store.Expired, error) {
	return do(ctx, n, "ExpireTasks", func(ctx context.Context) (store.Expired, error) {
		return n.db.ExpireTasks(ctx, process, limit, items)
	})
}
