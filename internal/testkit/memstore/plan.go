package memstore

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// plan is what a task has beside its row.
type plan struct {
	spec    json.RawMessage
	frozen  *store.FrozenTargets
	pages   []store.TargetPage
	options store.Options
	report  json.RawMessage
}

// newPlan returns the plan of a new task, or nil if it has none.
func newPlan(n *store.NewTask) (*plan, error) {
	if !n.HasPlan() {
		return nil, nil //nolint:nilnil // no plan is an answer
	}
	n.SetTimes(time.Now())
	p := &plan{spec: slices.Clone(n.Spec)}
	// Whoever makes the targets may set options meanwhile.
	defer func() {
		if n.Options != nil {
			p.options = *n.Options
		}
	}()
	if n.Targets == nil {
		return p, nil
	}
	if n.Targets.Finding {
		p.frozen = &store.FrozenTargets{Field: n.Targets.Field, Finding: true}
		return p, nil
	}
	pages, total, err := n.Targets.Pages()
	if err != nil {
		return nil, err
	}
	p.frozen, p.pages = &store.FrozenTargets{Field: n.Targets.Field, Total: total}, pages
	return p, nil
}

// Plan implements [store.Common].
func (s *Store) Plan(ctx context.Context, id uuid.UUID) (store.Plan, error) {
	if err := s.enter(ctx); err != nil {
		return store.Plan{}, err
	}
	defer s.mu.Unlock()
	r := s.tasks[id]
	if r == nil {
		return store.Plan{}, store.ErrNotFound
	}
	found := store.Plan{Now: s.now(), Traceparent: r.Traceparent}
	if r.FirstStarted != nil {
		found.FirstStarted = *r.FirstStarted
	}
	if r.Version != nil {
		found.Versioned = &store.Versioned{Kind: r.Kind, Reference: r.Reference, Version: *r.Version}
	}
	p := s.plans[id]
	if p == nil {
		found.Spec = slices.Clone(r.Spec)
		return found, nil
	}
	found.Options, found.Report = p.options, slices.Clone(p.report)
	found.Spec = s.spec(r)
	of := p
	if c := p.options.Child; c != nil && c.Range != nil && s.plans[c.Parent] != nil {
		of = s.plans[c.Parent]
	}
	if of.frozen != nil {
		frozen := *of.frozen
		found.Frozen = &frozen
	}
	return found, nil
}

// spec is the spec of a task. A bucket has the spec of its parent.
func (s *Store) spec(r *row) json.RawMessage {
	p := s.plans[r.ID]
	switch {
	case r.Spec != nil || p == nil:
		return slices.Clone(r.Spec)
	case p.spec != nil || !p.options.Child.Bucket() || s.tasks[p.options.Child.Parent] == nil:
		return slices.Clone(p.spec)
	}
	return s.spec(s.tasks[p.options.Child.Parent])
}

// Targets implements [store.Common].
func (s *Store) Targets(ctx context.Context, id uuid.UUID, first, last int) ([]store.TargetPage, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	p := s.plans[id]
	if p == nil {
		return nil, nil
	}
	var found []store.TargetPage
	for _, page := range p.pages {
		if page.Number >= first && page.Number <= last {
			found = append(found, store.TargetPage{Number: page.Number, Keys: slices.Clone(page.Keys)})
		}
	}
	return found, nil
}

// finding returns the targets that a task is finding, or nil if it does not find any.
func (s *Store) finding(id uuid.UUID) *store.FrozenTargets {
	if p := s.plans[id]; p != nil && p.frozen != nil && p.frozen.Finding {
		return p.frozen
	}
	return nil
}

// checkFound returns an error unless a write may add targets to its task.
func (s *Store) checkFound(w *store.Write) error {
	if !w.Checkpoint || w.Found == nil {
		return nil
	}
	if s.finding(w.ID) == nil {
		return store.ErrNotFinding
	}
	for _, old := range s.plans[w.ID].pages {
		for _, page := range w.Found.Pages {
			if page.Number == old.Number && !bytes.HasPrefix(page.Keys, old.Keys[:len(old.Keys)-1]) {
				return &Error{"23514", "targets are only added, and only while a task finds them"}
			}
		}
	}
	return nil
}

// find stores the targets that a write has found.
func (s *Store) find(id uuid.UUID, f *store.Found) {
	if f == nil {
		return
	}
	p := s.plans[id]
	p.frozen.Total, p.frozen.Finding = f.Total, !f.Complete
	for _, page := range f.Pages {
		page.Keys = slices.Clone(page.Keys)
		i := slices.IndexFunc(p.pages, func(old store.TargetPage) bool { return old.Number == page.Number })
		if i < 0 {
			p.pages = append(p.pages, page)
			continue
		}
		p.pages[i] = page
	}
}

// TaskOptions implements [store.Reader].
func (s *Store) TaskOptions(ctx context.Context, id uuid.UUID) (store.Options, error) {
	if err := s.enter(ctx); err != nil {
		return store.Options{}, err
	}
	defer s.mu.Unlock()
	return s.options(id), nil
}

// options are the options of a task.
func (s *Store) options(id uuid.UUID) store.Options {
	if p := s.plans[id]; p != nil {
		return p.options
	}
	return store.Options{}
}

// setConditions changes the conditions of a task.
func (s *Store) setConditions(id uuid.UUID, c lifecycle.Conditions) {
	if s.options(id).Conditions == c {
		return
	}
	s.changeOptions(id, func(o *store.Options) { o.Conditions = c })
}

// changeOptions changes the options of a task, which may have had none.
func (s *Store) changeOptions(id uuid.UUID, change func(*store.Options)) {
	p := s.plans[id]
	if p == nil {
		p = &plan{}
		s.plans[id] = p
	}
	change(&p.options)
}

// setMaxRate stores the rate of a task, and makes it due if it waits because of a lower one.
func (s *Store) setMaxRate(commit int64, r *row, t *Task, rate float64) error {
	raised := false
	s.changeOptions(t.ID, func(o *store.Options) { raised, o.MaxRate = o.RateRaised(rate), max(rate, 0) })
	if !raised || t.Status != lifecycle.Queued || !t.NotBefore.After(s.now()) || !strings.HasPrefix(t.WaitingReason, lifecycle.ReasonRate) {
		return nil
	}
	t.Row = t.Wake(s.now(), lifecycle.ReasonRateChanged)
	s.wake()
	return s.change(commit, "Request", r, t)
}

// setMaxParallel stores how many buckets of a task may be open, and makes a wait for fewer of
// them end accordingly.
func (s *Store) setMaxParallel(id uuid.UUID, n int) {
	if p := s.plans[id]; p != nil {
		p.options.MaxParallel = n
	}
	if f := s.families[id]; f != nil && f.waits {
		f.wait.OpenAtMost = int64(n - 1)
	}
}

// checkConditions returns the conditions that a write is checked against, and pauses the row after it if these
// say so and no other request stands on it.
func (s *Store) checkConditions(t *Task, w *store.Write) (c lifecycle.Conditions, reached, paused bool) {
	c = s.options(w.ID).WithDefault(w.StopAfter)
	if t == nil || !w.Check {
		return c, false, false
	}
	reason := c.PauseReason(w.Progress)
	if reason == "" {
		return c, false, false
	}
	if !lifecycle.TakesPause(t.Control, t.ControlReason) {
		return c, true, false
	}
	t.Row = t.Pause(reason)
	return c, true, true
}

// StoreTrace implements [store.Sessions].
func (s *Store) StoreTrace(ctx context.Context, l store.Lease, traceparent string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if r := s.tasks[l.ID]; r != nil && r.Fence == l.Fence && r.Status.InFlight() {
		r.Traceparent = traceparent
	}
	return nil
}
