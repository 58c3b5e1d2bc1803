package taskkit

import (
	"cmp"
	"context"
	"slices"

	"taskkit.dev/internal/store"
)

// ranges returns the ranges of the task that the new one is made from, in their order; nil if it is not divided into any.
func (f *followUp) ranges(ctx context.Context) ([]store.ChildTask, error) {
	if !f.hasChildren || !isDivided(&f.from.Plan) {
		return nil, nil
	}
	parts := []store.ChildTask{}
	for part, err := range f.parts(ctx) {
		if err != nil {
			return nil, err
		}
		parts = append(parts, *part)
	}
	slices.SortFunc(parts, func(a, b store.ChildTask) int { return cmp.Compare(a.Range.From, b.Range.From) })
	return parts, nil
}

// hasDeferred reports whether a task, or one of its ranges, has deferred items.
func hasDeferred(t *store.Task, parts []store.ChildTask) bool {
	has := t.Progress.Deferred || t.Progress.Round > 0
	for i := range parts {
		has = has || parts[i].Progress.Deferred || parts[i].Progress.Round > 0
	}
	return has
}

// continueRanges makes the task one over what the ranges of the other have not taken, and over what no range has had. Each range
// has begun with the zero State, and so does the new task.
func (f *followUp) continueRanges(ctx context.Context, set *targetCursor, spec []byte, parts []store.ChildTask) error {
	t := &f.from.Task
	left := set.total - t.Progress.Position
	for i := range parts {
		left += parts[i].Range.Len() - parts[i].Progress.Position
	}
	if left == 0 {
		return &ItemsError{ID: t.ID, Action: actContinue, Problem: allProcessed}
	}
	f.Spec, f.Start.State = spec, nil
	f.Targets = &store.NewTargets{Field: f.TargetsField, Distinct: true, Keys: func(yield func([]byte, error) bool) {
		rest := store.ChildTask{Child: store.Child{Range: &store.Range{From: 0, To: set.total}}}
		rest.Progress.Position = t.Progress.Position
		for _, part := range append(parts, rest) {
			for key, err := range set.between(ctx, part.Range.From+part.Progress.Position, part.Range.To) {
				if !yield(key, err) || err != nil {
					return
				}
			}
		}
	}}
	return nil
}
