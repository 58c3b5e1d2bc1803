package tasktest

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine/session"
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

// batch identifies a batch of a task.
type batch struct {
	task taskkit.ID
	seq  int64
}

// errCut is the error of a driver whose connection was cut during a COMMIT.
var errCut = errors.New("tasktest: connection cut during commit")

// faultyStore is a store whose batch writes fail as planned.
type faultyStore struct {
	store.Store
	faults faults
	client *taskkit.Client
	task   taskkit.ID
	kinds  map[string]*session.Kind
	// divided: the task has buckets.
	divided bool
	crash   context.CancelFunc
	stopped <-chan struct{} // the worker is to end
	watch   *rollbackWatch

	commits atomic.Int64

	mu      sync.Mutex
	dropped batch  // of the last commit that was dropped or is late
	late    func() // the delayed commit, as on a slow server
	guard   progressGuard
	tx      *faultyTx // of the batch, while it is open
	failed  error     // why the test must not go on
}

// fail ends the worker, and the test with this error unless it has one.
func (s *faultyStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = cmp.Or(s.failed, err)
	s.crash()
}

// hasTx reports whether a batch has begun its transaction.
func (s *faultyStore) hasTx() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tx != nil
}

// setTx sets the transaction of the batch, or nil.
func (s *faultyStore) setTx(tx *faultyTx) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tx = tx
}

// rolledBack looks for writes outside b.Tx after a batch was rolled back.
func (s *faultyStore) rolledBack() {
	if err := s.watch.rolledBack(s.stopped); err != nil {
		s.fail(err)
	}
}

// stuck returns why the task would never be done, or nil.
func (s *faultyStore) stuck() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// checkProgress ends the worker when a batch shows that the task would never be
// done.
func (s *faultyStore) checkProgress(ctx context.Context, w store.Write) error {
	err := s.checkChildren(ctx, w)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = cmp.Or(s.guard.committed(w), err)
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
	t := &faultyTx{tx, s}
	s.setTx(t)
	return t, nil
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
	}, s.rolledBack)
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

// first reports whether this is the first commit of a batch.
func (s *faultyStore) first(w store.Write) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.dropped
	s.dropped = batch{w.ID, w.Seq}
	return s.dropped != before
}

// commit performs the write of one batch with the planned fault.
func (s *faultyStore) commit(ctx context.Context, w store.Write, do func() (store.Applied, error), undo func()) (store.Applied, error) {
	if s.faults.lostCommit && s.first(w) {
		undo()
		return store.Applied{}, &store.UnknownError{Err: errCut}
	}
	if s.faults.lateCommit && s.first(w) {
		s.mu.Lock()
		s.late = func() { _, _ = do() }
		s.mu.Unlock()
		return store.Applied{}, &store.UnknownError{Err: errCut}
	}
	a, err := do()
	if err != nil || !a.OK {
		return a, err
	}
	s.watch.committed()
	if err := s.checkProgress(ctx, w); err != nil {
		return store.Applied{}, err
	}
	if s.faults.stopAfter > 0 && s.divided != (w.ID == s.task) && (!s.divided || w.Found == nil) && s.commits.Add(1) == int64(s.faults.stopAfter) {
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

// Rollback implements [store.Tx].
func (t *faultyTx) Rollback() {
	t.Tx.Rollback()
	t.s.setTx(nil)
	t.s.rolledBack()
}

// Commit implements [store.Tx].
func (t *faultyTx) Commit(ctx context.Context, w store.Write) (store.Applied, error) {
	defer t.s.setTx(nil)
	if !w.Checkpoint {
		return t.Tx.Commit(ctx, w)
	}
	return t.s.commit(ctx, w, func() (store.Applied, error) {
		return t.Tx.Commit(context.WithoutCancel(ctx), w) // a late one outlives its call
	}, t.Rollback)
}
