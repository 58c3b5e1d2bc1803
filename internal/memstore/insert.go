package memstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"taskkit.dev/internal/errclass"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// Insert stores tasks, all or none, as [store.Insert] does on a database's
// handle. The id of a task that replaced a waiting one is set to that one's.
func (s *Store) Insert(ctx context.Context, tasks []store.NewTask, notify bool) error {
	for i := range tasks {
		if err := check(&tasks[i]); err != nil {
			return err
		}
	}
	if err := s.enter(ctx); err != nil {
		return fmt.Errorf("store %d tasks: %w", len(tasks), err)
	}
	defer s.mu.Unlock()
	commit, added, logged := s.commit(), 0, len(s.log)
	for i := range tasks {
		if err := s.insert(commit, &tasks[i]); err != nil {
			// Nothing of the statement stays. What was replaced comes first in
			// a call of its own, see insert.
			for _, c := range s.log[logged:] {
				s.undo(c)
			}
			s.log = s.log[:logged]
			return err
		}
		added++
	}
	if notify && added > 0 {
		s.hint()
	}
	return nil
}

// undo takes back a change of this statement.
func (s *Store) undo(c Change) {
	if c.Before != nil {
		s.tasks[c.After.ID].Task = *c.Before
		return
	}
	delete(s.tasks, c.After.ID)
	s.order = slices.DeleteFunc(s.order, func(id uuid.UUID) bool { return id == c.After.ID })
}

// check refuses what no database could hold.
func check(n *store.NewTask) error {
	for _, k := range []string{n.Kind, n.Queue, n.Reference, n.UniqueKey, n.IdempotencyKey, n.Traceparent} {
		if !utf8.ValidString(k) || strings.ContainsRune(k, 0) {
			return fmt.Errorf("a name %q holds a NUL byte or is not UTF-8: it cannot be stored", k)
		}
	}
	if n.Delay != 0 && !n.NotBefore.IsZero() {
		return errors.New("a new task has either a time or a delay")
	}
	return nil
}

func (s *Store) insert(commit int64, n *store.NewTask) error {
	now := s.now()
	t := store.Task{
		ID: n.ID, Created: now, Modified: now, CreatedBy: n.Owner, ModifiedBy: n.Owner, Owner: n.Owner, RunAs: n.RunAs,
		Kind: n.Kind, Spec: slices.Clone(n.Spec), State: json.RawMessage("{}"), Revision: n.Revision, Secrets: n.Secrets, Status: workflow.Queued,
		NotBefore: now, Queue: n.Queue, Priority: n.Priority, Reference: n.Reference, Reason: errclass.Clean(n.Reason),
		UniqueKey: n.UniqueKey, IdempotencyKey: n.IdempotencyKey, Parent: n.Parent, Traceparent: n.Traceparent,
		Progress: store.Progress{Total: max(n.Total, -1)},
	}
	switch {
	case n.Delay > 0:
		t.NotBefore = s.soon(n.Delay)
	case !n.NotBefore.IsZero():
		t.NotBefore = n.NotBefore.UTC()
	}
	for _, k := range [][2]string{{"unique_key", n.UniqueKey}, {"idempotency_key", n.IdempotencyKey}} {
		if dup := s.taken(&t, k[0], k[1]); dup != nil {
			return dup
		}
	}
	if s.tasks[n.ID] != nil {
		return &store.DuplicateError{Kind: n.Kind, Column: "id", Key: n.ID.String(), ID: n.ID}
	}
	if n.Reference != "" {
		for _, id := range s.order {
			r := s.tasks[id]
			if r.Kind != n.Kind || r.Reference != n.Reference || r.Status != workflow.Queued || r.Fence != 0 {
				continue
			}
			n.ID, t.ID = id, id
			old := r.Task
			old.Spec, old.Secrets, old.State, old.Revision, old.NotBefore, old.Priority = t.Spec, t.Secrets, t.State, t.Revision, t.NotBefore, t.Priority
			old.Reason, old.Progress.Total, old.Attempts = t.Reason, t.Progress.Total, 0
			old.Created, old.ModifiedBy = t.Created, t.ModifiedBy
			return s.change(commit, "Insert", r, &old)
		}
	}
	return s.add(commit, "Insert", &t)
}

// taken returns the error that another task has a key.
func (s *Store) taken(t *store.Task, column, key string) error {
	if key == "" {
		return nil
	}
	for _, id := range s.order {
		r := s.tasks[id]
		if r.ID == t.ID || r.Kind != t.Kind {
			continue
		}
		if column == "unique_key" && r.UniqueKey == key && r.Status.Live() || column == "idempotency_key" && r.IdempotencyKey == key {
			return &store.DuplicateError{Kind: t.Kind, Column: column, Key: key, ID: id}
		}
	}
	return nil
}
