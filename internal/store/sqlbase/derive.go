package sqlbase

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// Derive implements [store.Requests].
func (b *Base) Derive(ctx context.Context, from uuid.UUID, notify bool, makes func(store.Origin) (store.NewTask, error)) (id uuid.UUID, err error) {
	err = b.write(ctx, func(q store.Querier) error {
		in := within(q, b.Schema(), b.Dialect())
		options := make(map[uuid.UUID]json.RawMessage) // of the tasks that were read
		var origin func(ctx context.Context, id uuid.UUID) (store.Origin, error)
		origin = func(ctx context.Context, id uuid.UUID) (o store.Origin, err error) {
			o.ItemReader, o.Also = in, origin
			row, err := b.lock(ctx, q, id)
			if err != nil {
				return o, err
			}
			options[id] = row.options
			if o.Task, err = in.Task(ctx, id); err != nil {
				return o, err
			}
			o.Plan, err = in.Plan(ctx, id)
			return o, err
		}
		o, err := origin(ctx, from)
		if err != nil {
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
		if made.Targets == nil {
			return nil
		}
		for _, source := range made.Targets.Selected {
			changed, err := store.WithSelectedBy(options[source], id)
			if err != nil {
				return err
			}
			if err := b.setOptions(ctx, q, source, changed); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return uuid.Nil, err
	}
	return id, nil
}
