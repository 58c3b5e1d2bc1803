package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// unknownKey is the key of the table of unknown kinds.
type unknownKey struct {
	queue, kind string
	revision    int
}

// unknownKind is a row of that table.
type unknownKind struct {
	store.UnknownKind
	reported time.Time
}

// UnknownKinds implements [store.Ops].
func (s *Store) UnknownKinds(ctx context.Context) ([]store.UnknownKind, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var found []store.UnknownKind
	for _, k := range s.unknown {
		found = append(found, k.UnknownKind)
	}
	slices.SortFunc(found, func(a, b store.UnknownKind) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Revision, b.Revision))
	})
	return found, nil
}

// isUnknown reports whether a task waits without a request, no live process knows it, and one
// serves its queue.
func (s *Store) isUnknown(t *Task) bool {
	if t.Status != lifecycle.Queued || t.Control != lifecycle.None || s.isPaused(t.Queue) {
		return false
	}
	served := false
	for _, p := range s.procs {
		if p.Ended != nil || !slices.Contains(p.Queues, t.Queue) {
			continue
		}
		if slices.Contains(p.Kinds[t.Kind], t.Revision) {
			return false
		}
		served = served || !p.SafeMode
	}
	return served
}

// SeeUnknownKinds implements [store.Upkeep].
func (s *Store) SeeUnknownKinds(ctx context.Context) (report []store.UnknownKind, some bool, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, false, err
	}
	defer s.mu.Unlock()
	now, seen := s.now(), make(map[unknownKey]int64)
	for _, id := range s.order {
		if t := &s.tasks[id].Task; s.isUnknown(t) && !t.NotBefore.After(now) {
			seen[unknownKey{t.Queue, t.Kind, t.Revision}]++
		}
	}
	for key, n := range seen {
		k := s.unknown[key]
		if k == nil {
			k = &unknownKind{UnknownKind: store.UnknownKind{Kind: key.kind, Revision: key.revision, Queue: key.queue, First: now}}
			s.unknown[key] = k
		} else if now.Sub(k.Last) > store.UnknownGap {
			k.First = now
		}
		k.Tasks, k.Last = n, now
	}
	s.forgetKnown()
	for key, k := range s.unknown {
		switch {
		case now.Sub(k.Last) > store.UnknownGap:
			delete(s.unknown, key)
		case len(seen) > 0 && (k.reported.IsZero() || now.Sub(k.reported) > store.UnknownReported):
			k.reported = now
			report = append(report, k.UnknownKind)
		}
	}
	return report, len(seen) > 0, nil
}

// forgetKnown forgets the kinds that a live process has registered.
func (s *Store) forgetKnown() {
	for key := range s.unknown {
		for _, p := range s.procs {
			if p.Ended == nil && slices.Contains(p.Queues, key.queue) && slices.Contains(p.Kinds[key.kind], key.revision) {
				delete(s.unknown, key)
			}
		}
	}
}

// EndUnknownKinds implements [store.Upkeep].
func (s *Store) EndUnknownKinds(ctx context.Context, process string, after time.Duration, limit int) (ended []uuid.UUID, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	now, commit := s.now(), s.commit()
	for _, id := range s.order {
		r := s.tasks[id]
		k := s.unknown[unknownKey{r.Queue, r.Kind, r.Revision}]
		if k == nil || len(ended) == limit || !s.running(process) || !s.isUnknown(&r.Task) || r.locked() || s.hasOpenChildren(id) ||
			now.Sub(k.First) <= after || now.Sub(r.NotBefore) <= after || now.Sub(k.Last) > store.UnknownGap {
			continue
		}
		t := r.Task
		attempts := t.Attempts
		t.Row = t.Row.Claim(process, now)
		t.Attempts = attempts
		if err := s.change(commit, "EndUnknownKinds", r, &t); err != nil {
			return nil, err
		}
		t.Row, _ = t.Row.Write(lifecycle.Write{To: lifecycle.Error, Attempts: attempts, Desc: store.UnknownKindDesc}, now)
		t.Stalled = false
		if err := s.change(commit, "EndUnknownKinds", r, &t); err != nil {
			return nil, err
		}
		s.endWait(id)
		ended = append(ended, id)
	}
	return ended, nil
}
