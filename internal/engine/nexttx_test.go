package engine_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// begins notes how the transactions of batches begin and end.
type begins struct {
	*memstore.Store
	alone, withCommit, rolledBack int
}

func (s *begins) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	s.alone++
	tx, err := s.Store.Begin(ctx, h, l)
	return &beginsTx{tx, s}, err
}

type beginsTx struct {
	store.Tx
	s *begins
}

func (t *beginsTx) Commit(ctx context.Context, w store.Write) (store.Applied, error) {
	a, err := t.Tx.Commit(ctx, w)
	if a.Next != nil {
		t.s.withCommit++
		a.Next = &beginsTx{a.Next, t.s}
	}
	return a, err
}

func (t *beginsTx) Rollback() {
	t.s.rolledBack++
	t.Tx.Rollback()
}

// fiveBatches writes an item in each of five batches, and first calls a function with the number of the batch.
type fiveBatches struct {
	writer
	first func(n int)
}

func (x *fiveBatches) Execute(ctx context.Context, s *engine.Step, raw json.RawMessage) (engine.Next, json.RawMessage, error) {
	var n int
	if err := json.Unmarshal(raw, &n); err != nil {
		n = 0 // the first state is {}
	}
	x.first(n)
	s.Advance(1)
	if _, err := s.Tx.ExecContext(ctx, insertItem, n); err != nil {
		return engine.Next{}, nil, err
	}
	out, err := json.Marshal(n + 1)
	return engine.Next{Done: n == 4}, out, err
}

// The transaction of a batch begins with the commit of the one before it, if it is used at once and nothing comes between them. One
// that has begun in vain is rolled back before anything else is done with the task.
func TestNextTransaction(t *testing.T) {
	t.Parallel()
	request := func(a lifecycle.Action) func(t *testing.T, s *begins, id uuid.UUID, n int) {
		return func(t *testing.T, s *begins, id uuid.UUID, n int) {
			t.Helper()
			if n == 2 {
				if _, err := s.Request(t.Context(), id, store.Request{Action: a}); err != nil {
					t.Error(err)
				}
			}
		}
	}
	for name, c := range map[string]struct {
		first                         func(t *testing.T, s *begins, id uuid.UUID, n int)
		options                       store.Options
		alone, withCommit, rolledBack int
		rows                          int
	}{
		"goes on": {alone: 1, withCommit: 4, rows: 5},
		"slow":    {first: func(*testing.T, *begins, uuid.UUID, int) { <-time.After(10 * time.Millisecond) }, alone: 5, rows: 5},
		"becomes slow": {first: func(_ *testing.T, _ *begins, _ uuid.UUID, n int) {
			if n == 2 {
				<-time.After(10 * time.Millisecond)
			}
		}, alone: 4, withCommit: 2, rolledBack: 1, rows: 5},
		"rate":             {options: store.Options{MaxRate: 1000}, alone: 5, rows: 5},
		"stopped":          {first: request(lifecycle.ActStop), alone: 1, withCommit: 3, rolledBack: 1, rows: 3},
		"to be deleted":    {first: request(lifecycle.ActDelete), alone: 1, withCommit: 3, rolledBack: 1, rows: 3},
		"approval awaited": {options: store.Options{Conditions: lifecycle.Conditions{Canary: 3, Approval: true}}, alone: 1, withCommit: 2, rows: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &begins{Store: memstore.New()}
				s.Accept(insertItem)
				id := submit(t, s.Store, func(n *store.NewTask) { n.Options = &c.options })
				call := &fiveBatches{first: func(n int) {
					if c.first != nil {
						c.first(t, s, id, n)
					}
				}}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				if err := engine.New(s, demo(call), config(t)).Run(ctx); err != nil {
					t.Error(err)
				}
				if s.alone != c.alone || s.withCommit != c.withCommit || s.rolledBack != c.rolledBack || len(s.Rows()) != c.rows {
					t.Errorf("%d transactions began alone, %d with the commit before them, and %d were rolled back; %d rows; want %d, %d, %d and %d",
						s.alone, s.withCommit, s.rolledBack, len(s.Rows()), c.alone, c.withCommit, c.rolledBack, c.rows)
				}
			})
		})
	}
}
