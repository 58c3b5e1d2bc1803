package memstore

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
)

// Error is an error of the store, with the SQLSTATE that PostgreSQL would give.
type Error struct{ State, Text string }

func (e *Error) Error() string { return e.Text + " (SQLSTATE " + e.State + ")" }

// SQLState is read where errors are classified.
func (e *Error) SQLState() string { return e.State }

// refused is the error of a change that the triggers or checks of a database
// would refuse.
func refused(err error) error { return &Error{"23514", "taskkit: " + err.Error()} }

// locked reports whether a takeover has to skip the row.
func (r *row) locked() bool { return len(r.share) > 0 || r.writer != nil }

// unlock wakes everyone who waits for a lock of the row.
func (r *row) unlock() {
	if r.freed != nil {
		close(r.freed)
		r.freed = nil
	}
}

// await unlocks the store until a lock of the row is released or ctx ends. The
// store's mutex is locked before and after; the caller must check everything
// again.
func (s *Store) await(ctx context.Context, r *row) error {
	if r.freed == nil {
		r.freed = make(chan struct{})
	}
	freed := r.freed
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-freed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkChange returns an error unless a database would accept a change of a
// task, whoever makes it.
func checkChange(before, after *Task) error {
	if err := before.CheckChange(after.Row); err != nil {
		return refused(err)
	}
	switch {
	case after.ID != before.ID || after.Owner != before.Owner || after.RunAs != before.RunAs || after.Kind != before.Kind,
		after.UniqueKey != before.UniqueKey && (before.UniqueKey != "" || before.Status != lifecycle.Queued || after.Status != lifecycle.Queued):
		return refused(errors.New("id, owner, run-as, kind and unique key of a task never change"))
	case !bytes.Equal(after.Spec, before.Spec) && (before.Status != lifecycle.Queued || after.Status != lifecycle.Queued || string(after.State) != "{}"):
		return refused(errors.New("the spec of a task changes only while it waits, and with an empty state"))
	}
	return nil
}

// change commits a change of a row. On an error it changes nothing.
func (s *Store) change(commit int64, by string, r *row, t *Task) error {
	t.Modified = s.now()
	if err := checkChange(&r.Task, t); err != nil {
		return err
	}
	s.install(commit, by, r, t)
	return nil
}

// install makes a change that has been checked.
func (s *Store) install(commit int64, by string, r *row, t *Task) {
	before, after := r.Task, *t
	r.Task, r.revised = after, r.revised || after.Revision != after.SpecRevision || after.Version != nil
	s.log = append(s.log, Change{Commit: commit, At: s.now(), By: by, Before: &before, After: &after, Options: s.options(t.ID)})
}

// add commits a new row.
func (s *Store) add(commit int64, by string, t *Task) error {
	if err := t.CheckNew(); err != nil {
		return refused(err)
	}
	after := *t
	at, _ := slices.BinarySearchFunc(s.order, t.ID, compareIDs)
	s.order = slices.Insert(s.order, at, t.ID)
	s.tasks[t.ID] = &row{Task: after, share: make(map[*Tx]bool), revised: after.Revision != after.SpecRevision || after.Version != nil}
	s.log = append(s.log, Change{Commit: commit, At: s.now(), By: by, After: &after, Options: s.options(t.ID)})
	return nil
}

// remove removes a row and what belongs to it. The log of requests stays.
func (s *Store) remove(commit int64, by string, r *row) {
	before := r.Task
	if at, ok := slices.BinarySearchFunc(s.order, r.ID, compareIDs); ok {
		s.order = slices.Delete(s.order, at, at+1)
	}
	delete(s.tasks, r.ID)
	delete(s.items, r.ID)
	delete(s.ledgers, r.ID)
	delete(s.attempts, r.ID)
	delete(s.results, r.ID)
	delete(s.plans, r.ID)
	delete(s.rates, r.ID)
	delete(s.families, r.ID)
	s.log = append(s.log, Change{Commit: commit, At: s.now(), By: by, Before: &before})
	r.unlock()
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
