package memstore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"taskkit.dev/internal/store"
)

// DeadGroups implements [store.Ops].
func (s *Store) DeadGroups(ctx context.Context, f store.Filter) ([]store.DeadGroup, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	type key struct{ kind, code string }
	groups := make(map[key]*store.DeadGroup)
	for _, id := range s.order {
		r := s.tasks[id]
		if !r.Status.Dead() || !s.failedSo(r, f) || f.Queue != "" && r.Queue != f.Queue ||
			len(f.Kinds) > 0 && !slices.Contains(f.Kinds, r.Kind) {
			continue
		}
		code, _, _ := strings.Cut(r.Desc, ": ")
		g := groups[key{r.Kind, code}]
		if g == nil {
			g = &store.DeadGroup{Kind: r.Kind, Code: code, Oldest: *r.Stopped, Newest: *r.Stopped}
			groups[key{r.Kind, code}] = g
		}
		g.Tasks, g.Example = g.Tasks+1, id
		if r.Stopped.Before(g.Oldest) {
			g.Oldest = *r.Stopped
		}
		if r.Stopped.After(g.Newest) {
			g.Newest = *r.Stopped
		}
	}
	var found []store.DeadGroup
	for _, g := range groups {
		found = append(found, *g)
	}
	slices.SortFunc(found, func(a, b store.DeadGroup) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Code, b.Code))
	})
	return found, nil
}

// failedSo reports whether a task has the code and the age of a filter.
func (s *Store) failedSo(r *row, f store.Filter) bool {
	code, _, _ := strings.Cut(r.Desc, ": ")
	return (f.Code == "" || code == f.Code) && (f.EndedFor <= 0 || r.Stopped != nil && s.ago(*r.Stopped) > f.EndedFor)
}

func (s *Store) ago(t time.Time) time.Duration { return s.now().Sub(t) }
