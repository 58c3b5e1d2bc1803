package memstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// recordLedger stores which items succeeded in the batch of a write.
func (s *Store) recordLedger(w *store.Write) {
	if len(w.Ledger.Keys) == 0 {
		return
	}
	keys, err := store.EncodeLedger(w.Ledger.Keys)
	if err != nil {
		panic(fmt.Sprintf("memstore: %v", err))
	}
	s.ledgers[w.ID] = append(s.ledgers[w.ID], store.LedgerPage{Batch: w.Seq, Created: s.now(), Items: int64(len(w.Ledger.Keys)), Keys: keys})
	if w.Ledger.Replaces {
		s.items[w.ID] = slices.DeleteFunc(s.items[w.ID], func(i store.Item) bool { return slices.Contains(w.Ledger.Keys, i.Key) })
	}
}

// Ledger implements [store.Reader].
func (s *Store) Ledger(ctx context.Context, id uuid.UUID, after int64, n int) ([]store.LedgerPage, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	pages := slices.DeleteFunc(slices.Clone(s.ledgers[id]), func(p store.LedgerPage) bool { return p.Batch <= after })
	return pages[:min(len(pages), limit(n))], nil
}

// LedgerItems implements [store.Reader].
func (s *Store) LedgerItems(ctx context.Context, id uuid.UUID) (items int64, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	for _, p := range s.ledgers[id] {
		items += p.Items
	}
	return items, nil
}

// Recorded implements [store.Reader].
func (s *Store) Recorded(ctx context.Context, id uuid.UUID, keys []string) (found []string, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for _, i := range s.items[id] {
		if slices.Contains(keys, i.Key) {
			found = append(found, i.Key)
		}
	}
	return found, nil
}
