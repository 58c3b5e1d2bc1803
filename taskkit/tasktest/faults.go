package tasktest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit"
)

// faults are the faults to inject below the runtime.
type faults struct {
	crash      bool // the worker dies after every commit of a batch
	lostAnswer bool // every commit happens and its answer is lost
	lostCommit bool // the first commit of every batch does not happen, without an answer
	lateCommit bool // the first commit of every batch happens after the worker has read the row back
	stopAfter  int  // the task is stopped after this number of commits, of its buckets if it is divided; 0: never
	maxBatches int  // the test fails after this number of commits; 0: no bound
}

// errCut is the error of a driver whose connection was cut during a COMMIT.
var errCut = errors.New("tasktest: connection cut during commit")

// faultyStore is a store whose batch writes fail as planned.
type faultyStore struct {
	store.Store
	faults faults
	client *taskkit.Client
	task   taskkit.ID
	// divided: the task has buckets.
	divided bool
	crash   context.CancelFunc

	commits atomic.Int64
	dropped atomic.Int64 // checkpoint_seq + 1 of the last commit that was dropped or is late

	mu     sync.Mutex
	late   func() // the delayed commit, as on a slow server
	guard  progressGuard
	failed error // why the test must not go on
}

// stuck returns why the task would never be done, or nil.
func (s *faultyStore) stuck() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// checkProgress ends the worker when a batch shows that the task would never be
// done.
func (s *faultyStore) checkProgress(w store.Write) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = s.guard.committed(w)
	}
	if s.failed == nil {
		return nil
	}
	s.crash()
	return classify.ErrLost
}

// Begin implements [store.Sessions].
func (s *faultyStore) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	s.arrive()
	tx, err := s.Store.Begin(ctx, h, l)
	if err != nil {
		return nil, err
	}
	return &faultyTx{tx, s}, nil
}

// Apply implements [store.Sessions]. A write without a checkpoint goes through.
func (s *faultyStore) Apply(ctx context.Context, process string, writes []*store.Write) ([]store.Applied, error) {
	if len(writes) != 1 || !writes[0].Checkpoint || writes[0].ID != s.task {
		return s.Store.Apply(ctx, process, writes)
	}
	s.arrive()
	a, err := s.commit(ctx, *writes[0], func() (store.Applied, error) {
		a, err := s.Store.Apply(context.WithoutCancel(ctx), process, writes)
		if err != nil {
			return store.Applied{}, err
		}
		return a[0], nil
	}, func() {})
	if err != nil {
		return nil, err
	}
	return []store.Applied{a}, nil
}

// arrive performs the commit that is late.
func (s *faultyStore) arrive() {
	s.mu.Lock()
	late := s.late
	s.late = nil
	s.mu.Unlock()
	if late != nil {
		late()
	}
}

// commit performs the write of one batch with the planned fault.
func (s *faultyStore) commit(ctx context.Context, w store.Write, do func() (store.Applied, error), undo func()) (store.Applied, error) {
	if s.faults.lostCommit && s.dropped.Swap(w.Seq+1) != w.Seq+1 {
		undo()
		return store.Applied{}, &store.UnknownError{Err: errCut}
	}
	if s.faults.lateCommit && s.dropped.Swap(w.Seq+1) != w.Seq+1 {
		s.mu.Lock()
		s.late = func() { _, _ = do() }
		s.mu.Unlock()
		return store.Applied{}, &store.UnknownError{Err: errCut}
	}
	a, err := do()
	if err != nil || !a.OK {
		return a, err
	}
	if err := s.checkProgress(w); err != nil {
		return store.Applied{}, err
	}
	if s.faults.stopAfter > 0 && s.divided != (w.ID == s.task) && s.commits.Add(1) == int64(s.faults.stopAfter) {
		if _, err := s.client.Stop(ctx, s.task); err != nil {
			return a, err
		}
		if t, err := s.client.Task(ctx, s.task); err == nil && !t.Ended() {
			a.Control = "STOP" // what the next checkpoint would have read
		}
	}
	switch {
	case s.faults.crash:
		s.crash()
		return store.Applied{}, classify.ErrLost
	case s.faults.lostAnswer:
		return store.Applied{}, &store.UnknownError{Err: errCut}
	}
	return a, nil
}

// faultyTx is a batch's transaction whose commit has the planned fault.
type faultyTx struct {
	store.Tx
	s *faultyStore
}

// Commit implements [store.Tx].
func (t *faultyTx) Commit(ctx context.Context, w store.Write) (store.Applied, error) {
	if !w.Checkpoint {
		return t.Tx.Commit(ctx, w)
	}
	return t.s.commit(ctx, w, func() (store.Applied, error) {
		return t.Tx.Commit(context.WithoutCancel(ctx), w) // a late one outlives its call
	}, t.Rollback)
}
