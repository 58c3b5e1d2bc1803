package simulation

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/memstore"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// Bugs are stores that break one guard each, by name. The simulation must find
// every one of them.
func Bugs() map[string]func(*memstore.Store) store.Store {
	return map[string]func(*memstore.Store) store.Store{
		"apply-ignores-fence":      func(m *memstore.Store) store.Store { return ignoresFence{m} },
		"claim-keeps-fence":        func(m *memstore.Store) store.Store { return keepsFence{m} },
		"reap-by-id":               func(m *memstore.Store) store.Store { return reapsByID{m} },
		"reap-never":               func(m *memstore.Store) store.Store { return reapsNever{m} },
		"fence-checked-only-first": func(m *memstore.Store) store.Store { return checksFirst{m} },
		"checkpoint-alone":         func(m *memstore.Store) store.Store { return writesAlone{m} },
		"stop-not-told":            func(m *memstore.Store) store.Store { return tellsNothing{m} },
		"attempts-at-failure":      func(m *memstore.Store) store.Store { return countsLate{m} },
	}
}

// now brings a hold to where its task stands.
func current(ctx context.Context, m *memstore.Store, h store.Hold) store.Hold {
	at, err := m.Positions(ctx, []uuid.UUID{h.ID})
	if p, ok := at[h.ID]; err == nil && ok {
		return p.Hold
	}
	return h
}

// ignoresFence applies writes of whoever held the task before.
type ignoresFence struct{ *memstore.Store }

func (s ignoresFence) Apply(ctx context.Context, process string, writes []store.Write) ([]store.Applied, error) {
	ws := make([]store.Write, len(writes))
	for i, w := range writes {
		w.Fence = current(ctx, s.Store, w.Hold).Fence
		ws[i] = w
	}
	return s.Store.Apply(ctx, process, ws)
}

// keepsFence claims without a new fence.
type keepsFence struct{ *memstore.Store }

func (s keepsFence) Claim(ctx context.Context, c store.Claim) (store.Claims, error) {
	got, err := s.Store.Claim(ctx, c)
	for i := range got.Tasks {
		t := &got.Tasks[i]
		if t.Fence > 1 {
			t.Fence--
			err = s.Exec(ctx, fmt.Sprintf("UPDATE taskkit_queued_task SET fence = %d WHERE id = $1", t.Fence), t.ID.String())
		}
	}
	return got, err
}

// reapsByID looks for orphans and releases them a moment later, whoever has
// them by then.
type reapsByID struct{ *memstore.Store }

func (s reapsByID) Reap(ctx context.Context) (store.Reaped, error) {
	ts, err := s.Tasks(ctx, store.Filter{Statuses: []workflow.Status{workflow.Scheduling, workflow.Executing}})
	if err != nil {
		return store.Reaped{}, err
	}
	r, err := s.Store.Reap(ctx)
	if err != nil || len(r.Released) == 0 {
		return r, err
	}
	pass(300 * time.Millisecond)
	for _, t := range ts {
		h := current(ctx, s.Store, store.Hold{ID: t.ID})
		if _, err := s.Store.Apply(ctx, "", []store.Write{{Hold: h, To: workflow.Queued}}); err != nil {
			return r, err
		}
	}
	return r, nil
}

// reapsNever leaves to the dead what they hold.
type reapsNever struct{ *memstore.Store }

func (s reapsNever) Reap(context.Context) (store.Reaped, error) { return store.Reaped{}, nil }

// checksFirst looks at the fence when a batch begins, locks nothing, and
// commits whatever has become of the task meanwhile.
type checksFirst struct{ *memstore.Store }

func (s checksFirst) Begin(ctx context.Context, h store.Hold, l store.Limits) (store.Tx, error) {
	tx, err := s.Store.Begin(ctx, h, l)
	if err != nil {
		return nil, err
	}
	tx.Rollback()
	return &looseTx{s: s.Store, hold: h, limits: l}, nil
}

// looseTx keeps its statements for the commit.
type looseTx struct {
	store.Tx // nil: what is not here is not used

	s      *memstore.Store
	hold   store.Hold
	limits store.Limits
	todo   []statement
	// tx is made by Prepare, on the worker's goroutine, and ended by a
	// connection's, which may come first.
	tx atomic.Pointer[memstore.Tx]
}

type statement struct {
	query string
	args  []any
}
