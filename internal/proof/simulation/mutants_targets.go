package simulation

import (
	"context"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// changesWrites makes other writes than those that it is given.
type changesWrites struct {
	*memstore.Store

	change func(*store.Write)
}

// losesPage stores one page of the targets that a batch has found.
func losesPage(w *store.Write) {
	if w.Found != nil && len(w.Found.Pages) > 1 {
		f := *w.Found
		f.Pages = f.Pages[:1]
		w.Found = &f
	}
}

// keepsFailure leaves the row of an item that has failed when it succeeds.
func keepsFailure(w *store.Write) { w.Ledger.Replaces = false }

func (s changesWrites) Apply(ctx context.Context, process string, writes []*store.Write) ([]store.Applied, error) {
	return s.Store.Apply(ctx, process, changed(writes, s.change))
}

func (s changesWrites) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	tx, err := s.Store.Begin(ctx, h, l)
	if err != nil {
		return nil, err
	}
	return changesLast{tx.(*memstore.Tx), s.change}, nil //nolint:forcetypeassert,errcheck // that is what it begins
}

type changesLast struct {
	*memstore.Tx

	change func(*store.Write)
}

func (t changesLast) Prepare(ctx context.Context, w store.Write) (store.Applied, error) {
	t.change(&w)
	return t.Tx.Prepare(ctx, w)
}
