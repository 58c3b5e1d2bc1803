package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// The methods of this file are the way past the store that a database has in its
// prompt: tests use them to plant rows, and to count them. The rules of the
// lifecycle are not applied.

// Accept makes a statement known that executors run in the transactions of
// their batches. The store does not read SQL: it records that the statement was
// run, and with which values. Other statements fail.
func (s *Store) Accept(statement string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[statement] = true
}

// Read returns a task's row.
func (s *Store) Read(ctx context.Context, id uuid.UUID) (Task, error) {
	if err := s.enter(ctx); err != nil {
		return Task{}, err
	}
	defer s.mu.Unlock()
	r := s.tasks[id]
	if r == nil {
		return Task{}, store.ErrNotFound
	}
	return r.Task, nil
}

// Edit changes a task's row.
func (s *Store) Edit(ctx context.Context, id uuid.UUID, edit func(*Task)) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	r := s.tasks[id]
	if r == nil {
		return store.ErrNotFound
	}
	after := r.Task
	edit(&after)
	s.install(s.commit(), "Edit", r, &after)
	return nil
}

// Clear removes all tasks.
func (s *Store) Clear(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	commit := s.commit()
	for _, id := range slices.Clone(s.order) {
		s.remove(commit, "Clear", s.tasks[id])
	}
	return nil
}

// Forget removes all tasks, and returns the log so far, which begins anew.
func (s *Store) Forget() []Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	for _, id := range slices.Clone(s.order) {
		s.remove(s.commit(), "Forget", s.tasks[id])
	}
	s.log = nil
	return log
}

// EditProcess changes the row of a process, if there is one.
func (s *Store) EditProcess(ctx context.Context, id string, edit func(*Process)) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if p := s.procs[id]; p != nil {
		edit(p)
	}
	return nil
}

// RemoveProcess removes the row of a process, if there is one.
func (s *Store) RemoveProcess(ctx context.Context, id string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	delete(s.procs, id)
	return nil
}

// AddEvent adds an event of a task that has this age.
func (s *Store) AddEvent(ctx context.Context, task uuid.UUID, age time.Duration) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.events = append(s.events, event{task: task, Event: store.Event{
		Created: s.now().Add(-age), Action: string(lifecycle.ActPause), FromStatus: lifecycle.Queued,
	}})
	return nil
}

// Sizes are the numbers of rows in the tables.
type Sizes struct{ Tasks, Items, Ledgers, Attempts, Results, Fetched, Events int }

// Sizes returns how many rows there are; Fetched counts the results that have
// been fetched.
func (s *Store) Sizes(ctx context.Context) (n Sizes, err error) {
	if err := s.enter(ctx); err != nil {
		return n, err
	}
	defer s.mu.Unlock()
	n.Tasks, n.Events, n.Results = len(s.tasks), len(s.events), len(s.results)
	for _, is := range s.items {
		n.Items += len(is)
	}
	for _, ps := range s.ledgers {
		n.Ledgers += len(ps)
	}
	for _, as := range s.attempts {
		n.Attempts += len(as)
	}
	for _, r := range s.results {
		if r.fetched {
			n.Fetched++
		}
	}
	return n, nil
}
