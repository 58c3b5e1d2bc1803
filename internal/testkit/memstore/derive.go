package memstore

import (
	"context"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// Derive implements [store.Requests]. What makes reads is read in several calls; the row
// of the other task is locked meanwhile.
func (s *Store) Derive(ctx context.Context, from uuid.UUID, notify bool, makes func(store.Origin) (store.NewTask, error)) (uuid.UUID, error) {
	var unlocks []func()
	defer func() {
		for _, unlock := range unlocks {
			unlock()
		}
	}()
	var origin func(ctx context.Context, id uuid.UUID) (store.Origin, error)
	origin = func(ctx context.Context, id uuid.UUID) (o store.Origin, err error) {
		o.ItemReader, o.Also = s, origin
		unlock, err := s.lock(ctx, id)
		if err != nil {
			return o, err
		}
		unlocks = append(unlocks, unlock)
		if o.Task, err = s.Task(ctx, id); err != nil {
			return o, err
		}
		o.Plan, err = s.Plan(ctx, id)
		return o, err
	}
	o, err := origin(ctx, from)
	if err != nil {
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
	if made.Targets != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, source := range made.Targets.Selected {
			s.changeOptions(source, func(o *store.Options) { o.SelectedBy = tasks[0].ID })
		}
	}
	return tasks[0].ID, nil
}

// lock locks the row of a task as a writer and returns a function that unlocks it.
func (s *Store) lock(ctx context.Context, id uuid.UUID) (unlock func(), err error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for {
		r := s.tasks[id]
		switch {
		case r == nil:
			return nil, store.ErrNotFound
		case r.locked():
			if err := s.await(ctx, r); err != nil {
				return nil, err
			}
		default:
			r.writer = &Tx{store: s, row: r}
			return func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				r.writer = nil
				r.unlock()
			}, nil
		}
	}
}
