package sqlbase

import (
	"context"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// Derive implements [store.Requests].
func (b *Base) Derive(ctx context.Context, from uuid.UUID, notify bool, makes func(store.Origin) (store.NewTask, error)) (id uuid.UUID, err error) {
	err = b.write(ctx, func(q store.Querier) error {
		if _, err := b.lock(ctx, q, from); err != nil {
			return err
		}
		in := within(q, b.Schema(), b.Dialect())
		o := store.Origin{ItemReader: in}
		var err error
		if o.Task, err = in.Task(ctx, from); err != nil {
			return err
		}
		if o.Plan, err = in.Plan(ctx, from); err != nil {
			return err
		}
		made, err := makes(o)
		if err != nil {
			return err
		}
		tasks := []store.NewTask{made}
		if err := store.Insert(ctx, q, b.Schema(), tasks, notify); err != nil {
			return err
		}
		id = tasks[0].ID
		return nil
	})
	if err != nil {
		return uuid.Nil, err
	}
	return id, nil
}
