package store

import (
	"encoding/json"
	"fmt"
)

// TargetSearch collects the targets that a task finds, under the rules for all frozen
// targets. It is made anew from what is stored after a crash, and after a commit of
// unknown outcome.
type TargetSearch struct {
	pages *targetPages
	taken int // total at the last Take
}

// NewTargetSearch returns the search of a task that has stored some targets. Restore is
// to be called with their pages from a first one on: to find duplicates and the order,
// all pages are needed up to [MaxUnorderedTargets], and the last one beyond.
func NewTargetSearch(stored int64) (s *TargetSearch, first, last int) {
	p := newTargetPages(&NewTargets{})
	last = int((stored+TargetsPerPage-1)/TargetsPerPage) - 1
	if stored > int64(p.unordered) {
		first = last
		p.seen, p.total, p.kept = nil, first*TargetsPerPage, first*TargetsPerPage
	}
	return &TargetSearch{pages: p}, first, last
}

// Restore adds the targets of a stored page.
func (s *TargetSearch) Restore(page TargetPage) error {
	if want := s.pages.total / TargetsPerPage; page.Number != want {
		return fmt.Errorf("page %d of the targets is missing", want)
	}
	var keys []json.RawMessage
	if err := json.Unmarshal(page.Keys, &keys); err != nil {
		return fmt.Errorf("read page %d of the targets: %w", page.Number, err)
	}
	s.pages.given = s.pages.total
	for _, key := range keys {
		if err := s.pages.add(key); err != nil {
			return fmt.Errorf("read page %d of the targets: %w", page.Number, err)
		}
	}
	s.pages.take()
	s.taken = s.pages.total
	return nil
}

// Total returns how many targets there are.
func (s *TargetSearch) Total() int64 { return int64(s.pages.total) }

// Add adds a target, as JSON, unless it is a duplicate. The error is a *[TargetsError],
// after which the search cannot be used any more.
func (s *TargetSearch) Add(key []byte) error { return s.pages.add(key) }

// Take returns what was found since the last call.
func (s *TargetSearch) Take(complete bool) *Found {
	f := &Found{Total: s.Total(), Complete: complete}
	if s.pages.total == s.taken {
		return f
	}
	number, pages := s.pages.take()
	if last := s.pages.page.String(); last != "" {
		pages = append(pages, last+"]")
	}
	for i, keys := range pages {
		f.Pages = append(f.Pages, TargetPage{Number: number + i, Keys: json.RawMessage(keys)})
	}
	s.taken = s.pages.total
	return f
}
