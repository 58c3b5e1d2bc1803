package memstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/errclass"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// Apply implements [store.Store].
func (s *Store) Apply(ctx context.Context, _ string, writes []store.Write) ([]store.Applied, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for i := 0; i < len(writes); {
		r := s.tasks[writes[i].ID]
		if r != nil && holds(r, &writes[i]) && s.waits(r, &writes[i], nil) {
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
		w := &writes[i]
		r := s.tasks[w.ID]
		if r == nil || !holds(r, w) {
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

// holds reports whether a write's guard holds for a row.
func holds(r *row, w *store.Write) bool {
	if r.Fence != w.Fence || r.Seq != w.Seq || !r.Status.InFlight() {
		return false
	}
	if r.Status == workflow.Executing && w.To == workflow.Executing {
		return true
	}
	_, ok := workflow.Find(r.Status, w.To)
	return ok
}

// removes reports whether a write removes its row: it ends the task with a
// delete standing.
func removes(r *row, w *store.Write) bool {
	return w.To.Terminal() && !w.ClearControl && r.Control == workflow.Delete
}

// waits reports whether a write has to wait for another transaction than tx.
func (s *Store) waits(r *row, w *store.Write, tx *Tx) bool {
	if r.writer != nil && r.writer != tx {
		return true
	}
	if !removes(r, w) {
		return false
	}
	others := len(r.share)
	if r.share[tx] {
		others--
	}
	return others > 0
}

// after returns what a write makes of a row; nil: it is removed.
func (s *Store) after(r *row, w *store.Write) (*store.Task, error) {
	if removes(r, w) {
		return nil, nil //nolint:nilnil // no row is an answer
	}
	t, now := r.Task, s.now()
	t.Status = w.To
	if desc := errclass.Clean(w.Desc); desc != "" {
		t.Desc = desc
	}
	if w.To != workflow.Queued && w.To != workflow.Error && t.Started == nil {
		t.Started = new(now)
	}
	t.Stopped = nil
	if w.To.Terminal() {
		t.Stopped = new(now)
	}
	if w.To != workflow.Executing {
		t.Process = ""
	}
	if w.Checkpoint {
		t.Seq++
		if w.Revision != t.Revision {
			t.SpecRevision = cmp.Or(t.SpecRevision, t.Revision)
		}
		if w.Secrets != "" {
			t.Secrets = strings.TrimPrefix(t.Secrets+"\n"+w.Secrets, "\n")
		}
		t.Revision, t.Progress = w.Revision, w.Progress
		t.Progress.Total = max(t.Progress.Total, -1)
		if len(w.State) > 0 {
			if !json.Valid(w.State) {
				return nil, &Error{"22P02", "invalid input syntax for type json"}
			}
			t.State = slices.Clone(w.State)
		}
	}
	t.Attempts = max(w.Attempts, 0)
	if w.To == workflow.Queued {
		if w.Delay >= 0 {
			t.NotBefore = s.soon(w.Delay)
		}
		if !w.ClearControl && (t.Control == workflow.Stop || t.Control == workflow.Delete) {
			t.NotBefore, t.Stalled = now, true
		}
		t.Reason = errclass.Clean(w.Reason)
	}
	if w.ClearControl {
		t.Control, t.ControlBy, t.ControlReason = workflow.None, uuid.Nil, ""
	}
	t.Modified, t.ModifiedBy = now, t.RunAs
	return &t, guard(&r.Task, &t)
}

// make commits what a write makes of its row, with what came with it.
func (s *Store) make(commit int64, by string, r *row, t *store.Task, w *store.Write) store.Applied {
	if t == nil {
		s.remove(commit, by, r)
		return store.Applied{OK: true, Control: workflow.Delete}
	}
	s.install(commit, by, r, t)
	now := s.now()
	if w.Checkpoint {
		for _, f := range w.Failures {
			if f.ID == uuid.Nil {
				f.ID = uuid.Must(uuid.NewV7())
			}
			f.Created, f.Item, f.Code, f.Detail = now, errclass.Clean(f.Item), errclass.Clean(f.Code), errclass.Clean(f.Detail)
			s.failures[w.ID] = append(s.failures[w.ID], f)
		}
	}
	if w.Attempt != nil {
		a := *w.Attempt
		a.Created = now
		a.Process, a.Class = errclass.Clean(a.Process), errclass.Clean(a.Class)
		a.Code, a.Detail = errclass.Clean(a.Code), errclass.Clean(a.Detail)
		s.attempts[w.ID] = append(s.attempts[w.ID], a)
	}
	if w.Result != nil {
		s.results[w.ID] = &result{text: slices.Clone(w.Result), revision: w.Revision}
	}
	return store.Applied{OK: true, Control: t.Control}
}
