package memstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Request implements [store.Requests].
func (s *Store) Request(ctx context.Context, id uuid.UUID, q store.Request) (store.Task, error) {
	if err := s.enter(ctx); err != nil {
		return store.Task{}, fmt.Errorf("%s task %s: %w", q.Action, id, err)
	}
	defer s.mu.Unlock()
	for {
		r := s.tasks[id]
		if r == nil {
			return store.Task{}, store.ErrNotFound
		}
		c, err := lifecycle.Decide(s.decided(&r.Task, q), q.Action)
		if p := s.tasks[r.Parent]; (q.Action == lifecycle.ActRetry || q.Action == lifecycle.ActDelete) && p != nil && p.writer != nil {
			if err := s.await(ctx, p); err != nil {
				return store.Task{}, fmt.Errorf("%s task %s: %w", q.Action, id, err)
			}
			continue
		}
		// A removal waits for a batch in progress.
		if r.writer == nil && (len(r.share) == 0 || err != nil || c.Effect != lifecycle.Removed) {
			return s.request(r, q)
		}
		if err := s.await(ctx, r); err != nil {
			return store.Task{}, fmt.Errorf("%s task %s: %w", q.Action, id, err)
		}
	}
}

// found is a task as a request finds it.
func (s *Store) found(t *Task) lifecycle.Found {
	p := s.procs[t.Process]
	return lifecycle.Found{
		Status: t.Status, Control: t.Control, Passed: lifecycle.Passed(t.Control, t.ControlReason), Fence: t.Fence,
		WorkerAlive: p != nil && p.Ended == nil && !s.silent(p), Served: s.served(t), HasOpenChildren: s.hasOpenChildren(t.ID),
	}
}

// decided is a task as a request is decided, with the stop policy that it sets.
func (s *Store) decided(t *Task, q store.Request) lifecycle.Found {
	f := s.found(t)
	f.Conditions, f.Progress = s.options(t.ID).Conditions, t.Progress
	if q.StopAfter != (lifecycle.StopPolicy{}) {
		f.Conditions.StopAfter = q.StopAfter
	}
	f.Own = q.Actor == t.Owner || q.Actor == t.RunAs
	return f
}

// skipped returns the item that a retry skips; its position is 0 if there is none.
func (s *Store) skipped(t *Task) store.Item {
	if s.finding(t.ID) != nil {
		return store.Item{}
	}
	deferred := append(s.deferred(t.ID, t.Progress.Position), store.Item{})[0]
	item := store.SkippedItem(t.Skippable(deferred.Position))
	if t.Progress.Round > 0 {
		item.Key = deferred.Key
	}
	return item
}

// request makes a request of a row that is not locked.
func (s *Store) request(r *row, q store.Request) (store.Task, error) {
	commit := s.commit()
	if s.found(&r.Task).Abandoned() {
		if _, _, err := s.release(commit, nil); err != nil {
			return store.Task{}, err
		}
	}
	t := r.Task
	var skip store.Item
	if !lifecycle.AsListed(q.Dead, t.Status, t.Fence) {
		return store.Task{}, store.ChangedError(t.ID, q.Action, t.Status, t.Control)
	}
	found := s.decided(&t, q)
	change, err := lifecycle.Decide(found, q.Action)
	if refusal, ok := errors.AsType[*lifecycle.RefusedError](err); ok {
		return store.Task{}, &store.StateError{ID: t.ID, RefusedError: *refusal}
	}
	if err != nil {
		return store.Task{}, err
	}
	if change.Effect == lifecycle.Requeued {
		if dup := s.taken(&t, "idempotency_key", store.ContinuationKey(t.ID), nil); dup != nil {
			return store.Task{}, dup
		}
		if dup := s.taken(&t, "unique_key", t.UniqueKey, nil); dup != nil {
			return store.Task{}, dup
		}
		if p := s.tasks[t.Parent]; t.Parent != uuid.Nil && (p == nil || !p.Status.Live()) {
			ended := &store.ParentError{ID: t.ID, Parent: t.Parent}
			if p != nil {
				ended.Status = p.Status
			}
			return store.Task{}, ended
		}
		if skip = s.skipped(&t); q.Skip && skip.Position == 0 {
			return store.Task{}, store.ErrNoSkip
		}
	}
	if p := s.tasks[t.Parent]; q.Action == lifecycle.ActDelete && p != nil && p.Status != lifecycle.Completed && p.Control != lifecycle.Delete {
		return store.Task{}, &store.NeededError{ID: t.ID, Parent: t.Parent, Status: p.Status}
	}
	reason := classify.Clean(q.Reason)
	s.setConditions(t.ID, found.Conditions.Mark(q.Action))
	s.events = append(s.events, event{task: t.ID, Event: store.Event{
		Created: s.now(), Action: string(q.Action), Actor: q.Actor, Reason: classify.Clean(q.EventReason()), FromStatus: t.Status,
	}})
	if q.MaxParallel > 0 {
		s.setMaxParallel(t.ID, q.MaxParallel)
	}
	if q.MaxRate != 0 {
		if err := s.setMaxRate(commit, r, &t, q.MaxRate); err != nil {
			return store.Task{}, err
		}
	}
	if q.Priority > 0 {
		t.Priority, t.ModifiedBy = q.Priority, q.Actor
		if err := s.change(commit, "Request", r, &t); err != nil {
			return store.Task{}, err
		}
	}
	if change.Effect == lifecycle.Unchanged {
		got := s.read(r)
		got.HasOpenChildren = found.HasOpenChildren
		return got, nil
	}
	after, exists := t.Request(change, q.Actor, reason, s.now())
	if !exists {
		got := s.read(r)
		s.removeWithChildren(commit, "Request", r)
		got.Control, got.ControlBy, got.ControlReason = change.Control, q.Actor, reason
		return got, nil
	}
	if q.Skip {
		after = after.SkipItem(skip.Position)
	}
	t.Row, t.ModifiedBy = after, q.Actor
	inFlight := r.Status.InFlight()
	if err := s.change(commit, "Request", r, &t); err != nil {
		return store.Task{}, err
	}
	switch change.Effect {
	case lifecycle.Ended:
		s.endWait(t.ID)
	case lifecycle.Requeued:
		s.markRetry(t.ID)
	case lifecycle.Unchanged, lifecycle.Recorded, lifecycle.Expedited, lifecycle.Removed:
	}
	if q.Skip {
		s.record(t.ID, skip)
	}
	if !inFlight && change.Control != lifecycle.Pause {
		s.wake()
	}
	got := s.read(r)
	got.HasOpenChildren = found.HasOpenChildren
	return got, nil
}
