package taskkit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// rangesEach is how many ranges there are for each that is open at once, so that a slow one does not keep the others from being done.
const rangesEach = 4

// rangeSize returns how many of total targets a range has if most ranges may be open. Large ranges have whole pages of a frozen set, and
// small ones a batch, unless there would be fewer ranges than may be open.
func rangeSize(total, most, batch int) int {
	per := func(ranges int) int { return (total + ranges - 1) / ranges }
	size := max(per(most*rangesEach), min(batch, per(most)), 1)
	if size > store.TargetsPerPage {
		size = (size + store.TargetsPerPage - 1) / store.TargetsPerPage * store.TargetsPerPage
	}
	return size
}

// isDivided reports whether the targets of the task are divided into ranges. A task without any is not: its executor may find items itself.
func (c *call[Spec, State, Result]) isDivided(s *session.Step) bool {
	return c.divisible && !isBucket(s) && s.Options != nil && s.Options.MaxParallel > 0 && (s.Targets != nil || c.kind.def.Targets.Len(&c.spec) > 0)
}

// runRanges is the batch of a task whose targets are divided into ranges, each a child: it submits more of them, waits, and merges their
// states when all have ended.
func (c *call[Spec, State, Result]) runRanges(ctx context.Context, s *session.Step, state json.RawMessage) (session.Next, json.RawMessage, error) {
	total := max(c.kind.def.Targets.Len(&c.spec), 0)
	if t := s.Targets; t != nil {
		if total = t.Total; t.Err != nil {
			return session.Next{}, nil, t.Err
		}
	}
	most, open := s.Options.MaxParallel, int(s.Family.Open)
	size := rangeSize(total, most, c.kind.def.BatchSize)
	from := s.Position(total)
	to := from
	var tasks []store.NewTask
	for ; to < total && open < most; open++ {
		part := store.Range{From: int64(to), To: int64(min(to+size, total))}
		tasks = append(tasks, c.part(s, store.Child{Range: &part}, part.Len()))
		to = int(part.To)
	}
	if to > from {
		s.Pass(total, to-from, nil)
		if err := s.Tx.Insert(ctx, tasks); err != nil {
			return session.Next{}, nil, fmt.Errorf("submit the ranges from %d to %d: %w", from+1, to, err)
		}
	}
	next := c.awaitParts(s)
	switch {
	case to < total:
		next.OpenAtMost = int64(most - 1)
	case open == 0:
		return c.mergeBuckets(ctx, s, state)
	}
	return next, state, nil
}

// divide decides whether a task over these specs is divided into ranges, because of WithMaxParallel or by its kind. It returns what
// the option cannot be used with.
func (k *Kind[Spec, State, Result]) divide(s *submission, specs []Spec) error {
	o := s.Options
	whole := s.undivided()
	if o.MaxParallel > 0 && whole != "" {
		return &OptionError{"WithMaxParallel", fmt.Sprintf("used together with %s: such a task is executed as a whole", whole)}
	}
	inBuckets := func(spec Spec) bool { return k.inBuckets(s, &spec) }
	if whole != "" || k.def.Targets.Get == nil || o.MaxParallel == 0 && k.def.Parallel == 0 || !slices.ContainsFunc(specs, func(x Spec) bool { return !inBuckets(x) }) {
		return nil
	}
	refuse := func(format string, args ...any) error {
		if o.MaxParallel == 0 {
			return nil // the kind says it for tasks that can be divided
		}
		return &OptionError{"WithMaxParallel", fmt.Sprintf(format, args...)}
	}
	if k.hasResult() && !k.def.Merge {
		return refuse("kind %s has a result, and its executor no method Merge, which adds up the states of the ranges: add it, and run go generate", k.def.Name)
	}
	for i := range specs {
		if s.over == nil && !k.finds(s, &specs[i]) && k.def.Targets.Len(&specs[i]) == 0 {
			return refuse("the task has no targets, in its list %s or by WithTargets: without them nothing can be divided", k.def.Targets.Field)
		}
	}
	o.MaxParallel = cmp.Or(o.MaxParallel, k.def.Parallel)
	if o.StopAfter == (lifecycle.StopPolicy{}) {
		o.StopAfter = k.stopAfter // which its ranges check
	}
	return nil
}
