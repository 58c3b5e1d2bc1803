package simulation

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// A Mutant is a store in memory with one guard removed, which the simulation must
// detect. Unlike a mutant of package mutants it wraps the
// store instead of patching it: every everyday run must detect it, and a seed must
// detect it again on the simulated machine, with one and the same program.
type Mutant struct {
	Name  string
	Fault string
	wrap  func(*memstore.Store) memstore.Double
}

// Mutants returns all of them.
func Mutants() []Mutant {
	return []Mutant{
		{"no-fence", "a write is applied whatever its fence", func(m *memstore.Store) memstore.Double { return ignoresFence{m} }},
		{"claim-keeps-fence", "a claim does not raise the fence", func(m *memstore.Store) memstore.Double { return keepsFence{m} }},
		{"reap-by-id", "the reaper reads which tasks are orphaned and releases them later by id alone", func(m *memstore.Store) memstore.Double { return reapsByID{m} }},
		{"reap-never", "nothing releases the tasks of dead workers", func(m *memstore.Store) memstore.Double { return reapsNever{m} }},
		{"batch-without-lock", "a batch checks the fence when it begins but takes no lock, and commits whatever has happened since", func(m *memstore.Store) memstore.Double { return checksFirst{m} }},
		{"checkpoint-outside-transaction", "some checkpoints are written outside the transaction of their batch", func(m *memstore.Store) memstore.Double { return writesAlone{m} }},
		{"stop-not-delivered", "a worker is not told of a stop", func(m *memstore.Store) memstore.Double { return tellsNothing{m} }},
		{"policy-after-commit", "a stop policy is evaluated after the commit of the checkpoint that reaches it", func(m *memstore.Store) memstore.Double { return pausesLate{m} }},
		{"search-loses-page", "a batch that finds targets of two pages stores one of them", func(m *memstore.Store) memstore.Double { return changesWrites{m, losesPage} }},
		{"ledger-beside-failure", "an item that succeeds after all is still recorded as failed", func(m *memstore.Store) memstore.Double { return changesWrites{m, keepsFailure} }},
		{"children-outside-transaction", "the children of a batch are stored outside its transaction, and again after a takeover", func(m *memstore.Store) memstore.Double { return submitsAlone{m} }},
		{"claims-from-paused-queue", "a claim takes tasks of paused queues too", func(m *memstore.Store) memstore.Double { return claimsPaused{m} }},
		{"fires-any-version", "a schedule is fired whatever has become of it since it was read", func(m *memstore.Store) memstore.Double { return firesAnyVersion{m} }},
		{"attempts-counted-at-failure", "a claim is not counted as an attempt", func(m *memstore.Store) memstore.Double { return countsLate{m} }},
	}
}

// current returns the fence and checkpoint that a task has now.
func current(ctx context.Context, m *memstore.Store, h store.Lease) store.Lease {
	at, err := m.Positions(ctx, []uuid.UUID{h.ID})
	if p, ok := at[h.ID]; err == nil && ok {
		return p.Lease
	}
	return h
}

// ignoresFence applies writes of whoever held the task before.
type ignoresFence struct{ *memstore.Store }

func (s ignoresFence) Apply(ctx context.Context, process string, writes []*store.Write) ([]store.Applied, error) {
	return s.Store.Apply(ctx, process, changed(writes, func(w *store.Write) { w.Fence = current(ctx, s.Store, w.Lease).Fence }))
}

// changed returns changed copies of writes: the worker's own stay as they are.
func changed(writes []*store.Write, change func(*store.Write)) []*store.Write {
	ws := make([]*store.Write, len(writes))
	for i, w := range writes {
		c := *w
		change(&c)
		ws[i] = &c
	}
	return ws
}

// keepsFence claims without a new fence.
type keepsFence struct{ *memstore.Store }

func (s keepsFence) Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error) {
	got, err := s.Store.Claim(ctx, c)
	for i := range got.Tasks {
		t := &got.Tasks[i]
		if t.Fence > 1 {
			t.Fence--
			err = s.Edit(ctx, t.ID, func(row *memstore.Task) { row.Fence = t.Fence })
		}
	}
	return got, err
}

// reapsByID looks for orphans and releases them a moment later, whoever has
// them by then.
type reapsByID struct{ *memstore.Store }

func (s reapsByID) Reap(ctx context.Context, absent []int64) (store.Reaped, error) {
	ts, _, err := s.Tasks(ctx, store.Filter{Statuses: []lifecycle.Status{lifecycle.Scheduling, lifecycle.Executing}})
	if err != nil {
		return store.Reaped{}, err
	}
	r, err := s.Store.Reap(ctx, absent)
	if err != nil || len(r.Released) == 0 {
		return r, err
	}
	pass(300 * time.Millisecond)
	for _, t := range ts {
		h := current(ctx, s.Store, store.Lease{ID: t.ID})
		if _, err := s.Store.Apply(ctx, "", []*store.Write{{Lease: h, To: lifecycle.Queued}}); err != nil {
			return r, err
		}
	}
	return r, nil
}

// reapsNever leaves to the dead what they hold.
type reapsNever struct{ *memstore.Store }

func (s reapsNever) Reap(context.Context, []int64) (store.Reaped, error) { return store.Reaped{}, nil }

// checksFirst checks the fence when a batch begins, locks nothing, and
// commits whatever has become of the task meanwhile.
type checksFirst struct{ *memstore.Store }

func (s checksFirst) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
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
	hold   store.Lease
	limits store.TxTimeouts
	todo   []statement
	// tx is made by Prepare, on the worker's goroutine, and ended by a
	// connection's, which may come first.
	tx atomic.Pointer[memstore.Tx]
}

// statement runs one statement in the transaction that is begun at last.
type statement func(ctx context.Context, tx store.Tx) error
