package memstore

import (
	"bytes"
	"context"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// Error is what the store refuses, with the SQLSTATE that PostgreSQL would give.
type Error struct{ State, Text string }

func (e *Error) Error() string { return e.Text + " (SQLSTATE " + e.State + ")" }

// SQLState is asked for where errors are judged.
func (e *Error) SQLState() string { return e.State }

// refused is a change that the guards do not let pass.
func refused(text string) error { return &Error{"23514", "taskkit: " + text} }

// locked reports whether a takeover has to step over the row.
func (r *row) locked() bool { return len(r.share) > 0 || r.writer != nil }

// unlock wakes whoever waits for a lock of the row.
func (r *row) unlock() {
	if r.freed != nil {
		close(r.freed)
		r.freed = nil
	}
}

// await gives the store up until a lock of the row goes or ctx ends. The caller
// holds the store's mutex, before and after, and looks again at everything.
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

// guard says what is wrong with a change of a task, whoever makes it: what the
// triggers and the checks say in a database.
func guard(b, a *store.Task) error {
	if b == nil {
		if a.Status != workflow.Queued || a.Fence != 0 || a.Seq != 0 {
			return refused("a new task is QUEUED, with fence and checkpoint_seq 0")
		}
	} else if err := guardUpdate(b, a); err != nil {
		return err
	}
	switch {
	case !a.Status.Valid() || !slices.Contains(workflow.Controls(), a.Control):
		return refused("no such status or request")
	case a.Status.InFlight() != (a.Process != ""):
		return refused("a task in flight, and no other, has a process")
	case a.Status == workflow.Executing && a.Started == nil:
		return refused("a task that is EXECUTING has begun")
	case a.Status.Terminal() != (a.Stopped != nil):
		return refused("a task that has ended, and no other, has stopped")
	case a.Priority < 1 || a.Priority > 4:
		return refused("the priority is 1 to 4")
	case min(int64(a.Attempts), a.Progress.Taken, a.Progress.Done, a.Progress.Failed, a.Progress.Skipped) < 0:
		return refused("a count below 0")
	}
	return nil
}

func guardUpdate(b, a *store.Task) error {
	if b.Status != a.Status || b.Fence != a.Fence {
		e, ok := workflow.Find(b.Status, a.Status)
		fence := b.Fence
		if e.Claimed {
			fence++
		}
		if !ok || a.Fence != fence || e.Started && a.Started == nil || e.Requested && a.Control != workflow.Stop {
			return refused("not a legal transition of a task: " + string(b.Status) + " to " + string(a.Status))
		}
	}
	switch {
	case a.Seq != b.Seq && a.Seq != b.Seq+1:
		return refused("checkpoint_seq goes up by one")
	case a.ID != b.ID || a.Owner != b.Owner || a.RunAs != b.RunAs || a.Kind != b.Kind || a.UniqueKey != b.UniqueKey:
		return refused("id, owner, run-as, kind and unique key of a task never change")
	case !bytes.Equal(a.Spec, b.Spec) && (b.Fence != 0 || b.Status != workflow.Queued):
		return refused("the spec of a task never changes once it has been claimed")
	}
	return nil
}

// change commits a change of a row, and leaves everything as it was on an error.
func (s *Store) change(commit int64, by string, r *row, t *store.Task) error {
	t.Modified = s.now()
	if err := guard(&r.Task, t); err != nil {
		return err
	}
	s.install(commit, by, r, t)
	return nil
}

// install makes a change that the guards have let pass.
func (s *Store) install(commit int64, by string, r *row, t *store.Task) {
	before, after := r.Task, *t
	r.Task = after
	s.log = append(s.log, Change{Commit: commit, At: s.now(), By: by, Before: &before, After: &after})
}

// add commits a new row.
func (s *Store) add(commit int64, by string, t *store.Task) error {
	if err := guard(nil, t); err != nil {
		return err
	}
	after := *t
	at, _ := slices.BinarySearchFunc(s.order, t.ID, compareIDs)
	s.order = slices.Insert(s.order, at, t.ID)
	s.tasks[t.ID] = &row{Task: after, share: make(map[*Tx]bool)}
	s.log = append(s.log, Change{Commit: commit, At: s.now(), By: by, After: &after})
	return nil
}

// remove removes a row and what belongs to it. The log of what was asked stays.
func (s *Store) remove(commit int64, by string, r *row) {
	before := r.Task
	if at, ok := slices.BinarySearchFunc(s.order, r.ID, compareIDs); ok {
		s.order = slices.Delete(s.order, at, at+1)
	}
	delete(s.tasks, r.ID)
	delete(s.failures, r.ID)
	delete(s.attempts, r.ID)
	delete(s.results, r.ID)
	s.log = append(s.log, Change{Commit: commit, At: s.now(), By: by, Before: &before})
	r.unlock()
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
