package memstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Apply implements [store.Sessions].
func (s *Store) Apply(ctx context.Context, _ string, writes []*store.Write) ([]store.Applied, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for i := 0; i < len(writes); {
		r, w := s.tasks[writes[i].ID], writes[i].Lifecycle()
		if r != nil && (r.Accepts(w) && mustWait(r, w, nil) || writes[i].HasChildren && written(r)) {
			if err := s.await(ctx, r); err != nil {
				return nil, err
			}
			i = 0
			continue
		}
		i++
	}
	var applied []store.Applied
	commit := s.commit()
	for i := range writes {
		w := writes[i]
		r := s.tasks[w.ID]
		if s.keepsOpen(w) {
			applied = append(applied, store.Applied{Open: true})
			continue
		}
		if r == nil || !r.Accepts(w.Lifecycle()) {
			applied = append(applied, store.Applied{})
			continue
		}
		t, err := s.after(r, w)
		if err != nil {
			return nil, err
		}
		applied = append(applied, s.make(commit, "Apply", r, t, w))
	}
	return applied, nil
}

// mustWait reports whether a write has to wait for a transaction other than tx.
func mustWait(r *row, w lifecycle.Write, tx *Tx) bool {
	if r.writer != nil && r.writer != tx {
		return true
	}
	if !r.RemovedBy(w) {
		return false
	}
	others := len(r.share)
	if r.share[tx] {
		others--
	}
	return others > 0
}

// after returns the row after a write; nil: it is removed.
func (s *Store) after(r *row, write *store.Write) (*Task, error) {
	w := write.Lifecycle()
	if w.Checkpoint && len(w.State) > 0 && !json.Valid(w.State) {
		return nil, &Error{"22P02", "invalid input syntax for type json"}
	}
	if err := s.checkFound(write); err != nil {
		return nil, err
	}
	w.State = slices.Clone(w.State)
	t, now := r.Task, s.now()
	var exists bool
	if t.Row, exists = t.Write(w, now); !exists {
		return nil, nil //nolint:nilnil // no row is an answer
	}
	t.Modified, t.ModifiedBy = now, t.RunAs
	requests(write, &t)
	s.checkConditions(&t, write)
	return &t, checkChange(&r.Task, &t)
}

// make commits the row after a write, with what came with the write.
func (s *Store) make(commit int64, by string, r *row, t *Task, w *store.Write) store.Applied {
	if t == nil {
		if w.HasChildren {
			s.removeWithChildren(commit, by, r)
		} else {
			s.remove(commit, by, r)
		}
		return store.Applied{OK: true, Control: lifecycle.Delete}
	}
	// A batch has prepared the row, and no request has come since: its row was locked.
	before := *t
	before.Row.Control, before.Row.ControlReason = r.Control, r.ControlReason
	requested := requests(w, &before)
	conditions, reached, paused := s.checkConditions(&before, w)
	s.install(commit, by, r, t)
	change, now := len(s.log)-1, s.now()
	if reached {
		s.setConditions(w.ID, conditions)
	}
	if paused || requested {
		action := lifecycle.ActPause
		if t.Control == lifecycle.Stop {
			action = lifecycle.ActStop
		}
		s.events = append(s.events, event{task: w.ID, Event: store.Event{
			Created: now, Action: string(action), Reason: t.ControlReason, FromStatus: w.To,
		}})
	}
	if w.Checkpoint {
		for _, i := range w.Items {
			s.record(w.ID, i)
		}
		s.recordLedger(w)
		if p := s.plans[w.ID]; p != nil && w.Report != nil {
			p.report = slices.Clone(w.Report)
		}
		s.retryDeferred(w.ID, w.Retried)
		s.addRate(w.ID, w.Worked)
		s.find(w.ID, w.Found)
		s.log[len(s.log)-1].Found = w.Found
	}
	s.recordParent(w)
	s.log[len(s.log)-1].Wait = w.Wait
	if w.Attempt != nil {
		a := *w.Attempt
		a.Created = now
		a.Process, a.Class = classify.Clean(a.Process), classify.Clean(a.Class)
		a.Code, a.Detail = classify.Clean(a.Code), classify.Clean(a.Detail)
		s.attempts[w.ID] = append(s.attempts[w.ID], a)
	}
	if w.Result != nil {
		s.results[w.ID] = &result{text: slices.Clone(w.Result), revision: w.Revision, keep: w.Keep, expiry: expiry(now, w.Keep.Unfetched)}
	}
	a := store.Applied{OK: true, Control: t.Control}
	if w.Whole != uuid.Nil {
		s.requestWhole(commit, r, change, w)
		a.Control = r.Control
	}
	if w.CheckParents && s.checkPolicies(commit, r, change) {
		a.Control = lifecycle.Pause
	}
	if a.Decided = s.decidePolicies(commit, r, change, w); w.Policies || w.Watched {
		a.Control = r.Control
	}
	if w.Checkpoint && w.Worked != nil {
		o := s.options(w.ID)
		a.Options = &o
	}
	return a
}

// record stores the outcome of an item.
func (s *Store) record(task uuid.UUID, i store.Item) {
	if i.ID == uuid.Nil {
		i.ID = store.NewID()
	}
	i.Created, i.Code, i.Detail = s.now(), classify.Clean(i.Code), classify.Clean(i.Detail)
	items := s.items[task]
	if n := slices.IndexFunc(items, func(old store.Item) bool { return old.Key == i.Key }); n >= 0 {
		i.ID, i.Position = items[n].ID, cmp.Or(i.Position, items[n].Position)
		items[n] = i
		return
	}
	s.items[task] = append(items, i)
}

// retryDeferred removes or fails items that were deferred.
func (s *Store) retryDeferred(task uuid.UUID, p store.Retried) {
	items := slices.DeleteFunc(s.items[task], func(i store.Item) bool {
		return i.Outcome == store.ItemDeferred && i.Position > p.After && i.Position <= p.Upto && i.Attempt <= p.Round
	})
	for n := range items {
		if p.FailRest && items[n].Outcome == store.ItemDeferred {
			items[n].Outcome, items[n].Created = store.ItemFailed, s.now()
		}
	}
	s.items[task] = items
}

// deferred returns the deferred items after a position, in ascending order.
func (s *Store) deferred(task uuid.UUID, after int64) []store.Item {
	items := slices.DeleteFunc(slices.Clone(s.items[task]), func(i store.Item) bool {
		return i.Outcome != store.ItemDeferred || i.Position <= after
	})
	slices.SortFunc(items, func(a, b store.Item) int { return cmp.Compare(a.Position, b.Position) })
	return items
}

// Deferred implements [store.Sessions].
func (s *Store) Deferred(ctx context.Context, id uuid.UUID, after int64, limit int) (positions []int64, all int64, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, 0, err
	}
	defer s.mu.Unlock()
	for _, i := range s.deferred(id, after) {
		positions = append(positions, i.Position)
	}
	return positions[:min(limit, len(positions))], int64(len(positions)), nil
}
