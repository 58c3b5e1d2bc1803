package memstore

import (
	"context"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// Derive implements [store.Operator]. It does not lock the other task: what makes
// reads is read in several calls.
func (s *Store) Derive(ctx context.Context, from uuid.UUID, notify bool, makes func(store.Origin) (store.NewTask, error)) (uuid.UUID, error) {
	o := store.Origin{ItemReader: s}
	var err error
	if o.Task, err = s.Task(ctx, from); err != nil {
		return uuid.Nil, err
	}
	if o.Plan, err = s.Plan(ctx, from); err != nil {
		return uuid.Nil, err
	}
	made, err := makes(o)
	if err != nil {
		return uuid.Nil, err
	}
	tasks := []store.NewTask{made}
	if err := s.Insert(ctx, tasks, notify); err != nil {
		return uuid.Nil, err
	}
	return tasks[0].ID, nil
}
