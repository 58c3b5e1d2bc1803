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
		c, err := s.subject(&r.Task).DecideState(q)
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

// subject is a task with what decides about a request of it.
func (s *Store) subject(t *Task) *store.Subject {
	u := &store.Subject{Found: s.found(t), ID: t.ID, Owner: t.Owner, RunAs: t.RunAs, CreatedBy: t.CreatedBy, Kind: t.Kind, UniqueKey: t.UniqueKey}
	options := s.options(t.ID)
	u.Conditions, u.Progress, u.Part = options.Conditions, t.Progress, options.Child.Part()
	u.Bucket = options.Child.Bucket()
	if sums := s.sumOfChildren(t.ID); sums.Statuses != nil {
		u.Progress = sums.Progress()
	}
	for _, k := range []struct {
		column, key string
		to          *uuid.UUID
	}{
		{"idempotency_key", store.ContinuationKey(t.ID), &u.Continued},
		{"idempotency_key", store.RetryKey(t.ID), &u.Retried},
		{"idempotency_key", store.ApplyKey(t.ID), &u.Applied},
		{"unique_key", t.UniqueKey, &u.KeyHolder},
	} {
		if dup, ok := errors.AsType[*store.DuplicateError](s.taken(t, k.column, k.key, nil)); ok {
			*k.to = dup.ID
		}
	}
	if u.Parent.ID = t.Parent; t.Parent != uuid.Nil && s.tasks[t.Parent] != nil {
		p := s.tasks[t.Parent]
		u.Parent.Status, u.Parent.Control = p.Status, p.Control
	}
	return u
}

// Subjects implements [store.Reader].
func (s *Store) Subjects(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]*store.Subject, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	found := map[uuid.UUID]*store.Subject{}
	for _, id := range ids {
		if r := s.tasks[id]; r != nil {
			if found[id] = s.subject(&r.Task); found[id].Abandoned() {
				found[id].Status = lifecycle.Queued
			}
		}
	}
	return found, nil
}

// skipped returns the item that a retry skips; its position is 0 if there is none.
func (s *Store) skipped(t *Task) store.Item {
	if s.finding(t.ID) != nil || s.options(t.ID).MaxParallel > 0 {
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
	subject := s.subject(&t)
	found := subject.With(q)
	change, err := subject.Decide(q)
	if err != nil {
		return store.Task{}, err
	}
	if change.Effect == lifecycle.Requeued {
		if skip = s.skipped(&t); q.Skip && skip.Position == 0 {
			return store.Task{}, store.ErrNoSkip
		}
	}
	reason := classify.Clean(q.Reason)
	s.setConditions(t.ID, found.Conditions.Mark(q.Action))
	s.events = append(s.events, event{task: t.ID, Event: store.Event{
		Created: s.now(), Action: string(q.Action), Actor: q.Actor, Reason: classify.Clean(q.EventReason()), FromStatus: t.Status,
	}})
	if change.Effect == lifecycle.Requeued && s.options(t.ID).PolicyState.Failing != "" {
		s.changeOptions(t.ID, func(o *store.Options) { o.PolicyState.Failing = "" })
	}
	if q.Policies != nil {
		s.changeOptions(t.ID, func(o *store.Options) { o.ChangePolicies(*q.Policies, s.codesOf(t.ID)) })
	}
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
