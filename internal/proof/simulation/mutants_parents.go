package simulation

import (
	"context"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// submitsAlone stores the children of a batch at once, outside its transaction. A batch that is
// executed again, by whoever has taken the task over, submits them twice.
type submitsAlone struct{ *memstore.Store }

func (s submitsAlone) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	tx, err := s.Store.Begin(ctx, h, l)
	if err != nil {
		return nil, err
	}
	return submitsAloneTx{tx.(*memstore.Tx), s.Store}, nil //nolint:forcetypeassert,errcheck // that is what it begins
}

type submitsAloneTx struct {
	*memstore.Tx

	s *memstore.Store
}

func (t submitsAloneTx) Insert(ctx context.Context, tasks []store.NewTask, notify bool) error {
	return t.s.Insert(ctx, tasks, notify)
}
