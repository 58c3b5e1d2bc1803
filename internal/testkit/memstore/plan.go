package memstore

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

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
	p := &plan{spec: slices.Clone(n.Spec), options: n.Options}
	if n.Targets == nil {
		return p, nil
	}
	pages, total, err := n.Targets.Pages()
	if err != nil {
		return nil, err
	}
	p.frozen, p.pages = &store.FrozenTargets{Field: n.Targets.Field, Total: total}, pages
	return p, nil
}

// Plan implements [store.Store].
func (s *Store) Plan(ctx context.Context, id uuid.UUID) (store.Plan, error) {
	if err := s.enter(ctx); err != nil {
		return store.Plan{}, err
	}
	defer s.mu.Unlock()
	r := s.tasks[id]
	if r == nil {
		return store.Plan{}, store.ErrNotFound
	}
	p := s.plans[id]
	if p == nil {
		return store.Plan{Spec: slices.Clone(r.Spec)}, nil
	}
	found := store.Plan{Spec: slices.Clone(p.spec), Options: p.options, Report: slices.Clone(p.report)}
	if p.frozen != nil {
		frozen := *p.frozen
		found.Frozen = &frozen
	}
	return found, nil
}

// Targets implements [store.Store].
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
