package memstore

import (
	"context"
	"time"

	"taskkit.dev/internal/store"
)

// reference is a reference of a kind.
type reference struct{ kind, reference string }

func referenceOf(t *Task) reference { return reference{t.Kind, t.Reference} }

// version is the newest version of a reference.
type version struct {
	n       int64
	checked time.Time // when it was stored, or its tasks were looked for
	unused  bool      // there was none
}

// PruneVersions implements [store.Upkeep].
func (s *Store) PruneVersions(ctx context.Context, p store.OldVersions) (n int, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	used := make(map[reference]bool)
	for _, r := range s.tasks {
		if r.Version != nil {
			used[referenceOf(&r.Task)] = true
		}
	}
	for of, v := range s.versions {
		check, age := p.Check(of.kind), s.now().Sub(v.checked)
		switch {
		case check <= 0 || n >= p.Limit:
			continue
		case v.unused && age > p.Unused:
			delete(s.versions, of)
		case !v.unused && age > check:
			s.versions[of] = version{v.n, s.now(), !used[of]}
		default:
			continue
		}
		n++
	}
	return n, nil
}
