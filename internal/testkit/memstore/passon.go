package memstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// PassOn implements [store.Common].
func (s *Store) PassOn(ctx context.Context, parents []uuid.UUID, limit int) (changed []uuid.UUID, more bool, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, false, fmt.Errorf("pass the requests on %d tasks on to their children: %w", len(parents), err)
	}
	defer s.mu.Unlock()
	rows := s.rowsOf(parents)
	for i := slices.IndexFunc(rows, written); i >= 0; i = slices.IndexFunc(rows, written) {
		if err := s.await(ctx, rows[i]); err != nil {
			return nil, false, fmt.Errorf("pass the requests on %d tasks on to their children: %w", len(parents), err)
		}
		rows = s.rowsOf(parents)
	}
	commit, left := s.commit(), limit
	for _, r := range rows {
		ids, n, rest, err := s.passOn(commit, r, left, s.mustFail(r.ID))
		if err != nil {
			return nil, false, err
		}
		changed, more, left = append(changed, ids...), more || rest, left-n
	}
	return changed, more, nil
}

// rowsOf are the rows of these tasks in the order of their ids.
func (s *Store) rowsOf(ids []uuid.UUID) (rows []*row) {
	for _, id := range distinct(ids) {
		if r := s.tasks[id]; r != nil {
			rows = append(rows, r)
		}
	}
	return rows
}

// mustFail reports whether a policy of a task, or of one above, has said that it must fail.
func (s *Store) mustFail(id uuid.UUID) bool {
	for r := s.tasks[id]; r != nil; r = s.tasks[r.Parent] {
		if s.options(r.ID).PolicyState.Failing != "" {
			return true
		}
	}
	return false
}

// passOn passes the request on a task on to at most limit of its children. A child that is
// locked is stepped over. It returns the open ones that it changed, how many rows it changed
// altogether, and whether there are more to change.
func (s *Store) passOn(commit int64, parent *row, limit int, fails bool) (changed []uuid.UUID, n int, more bool, err error) {
	if !lifecycle.PassesOn(parent.Control, parent.ControlBy, parent.ControlReason) {
		return nil, 0, false, nil
	}
	for _, r := range s.children(parent.ID) {
		f := s.found(&r.Task)
		f.MustFail = fails
		c, action := lifecycle.PassOn(parent.Control, f)
		if c.Effect == lifecycle.Unchanged {
			continue
		}
		if n == limit || written(r) || c.Effect == lifecycle.Removed && r.locked() {
			more = true
			continue
		}
		n++
		was := r.Status
		if was.Live() {
			changed = append(changed, r.ID)
			s.addEvent(r, action, parent.ControlBy)
		}
		t := r.Task
		var exists bool
		if t.Row, exists = t.Request(c, parent.ControlBy, lifecycle.ReasonParent, s.now()); !exists {
			s.removeWithChildren(commit, "PassOn", r)
			continue
		}
		t.ModifiedBy = parent.ControlBy
		if err := s.change(commit, "PassOn", r, &t); err != nil {
			return nil, 0, false, err
		}
		if c.Effect == lifecycle.Ended {
			s.endWait(r.ID)
		}
		if !was.InFlight() && c.Control != lifecycle.Pause {
			s.wake()
		}
	}
	return changed, n, more, nil
}

// removeWithChildren removes a task and, if it had ended, its children to any depth.
func (s *Store) removeWithChildren(commit int64, by string, r *row) {
	children := s.children(r.ID)
	s.remove(commit, by, r)
	for _, c := range children {
		s.removeWithChildren(commit, by, c)
	}
}

// reapParents makes the check of each waiting parent that a worker which died may not have
// made, and passes requests on that have not reached all children.
func (s *Store) reapParents(ctx context.Context, r *store.Reaped) (err error) {
	if err := s.enter(ctx); err != nil {
		return err
	}
	var waiting []uuid.UUID
	for id, f := range s.families {
		if f.waits {
			waiting = append(waiting, id)
		}
	}
	s.mu.Unlock()
	slices.SortFunc(waiting, compareIDs)
	woken, err := s.WakeParents(ctx, waiting)
	r.Woken = append(r.Woken, woken...)
	if err != nil {
		return err
	}
	r.Passed, _, err = s.PassOn(ctx, waiting, passedByReaper)
	return err
}

// passedByReaper bounds to how many children a pass of the reaper passes requests on.
const passedByReaper = 500
