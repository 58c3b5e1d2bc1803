package engine_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// stuck is a store whose first Begin returns only when the test allows it, even after
// its caller's deadline.
type stuck struct {
	*memstore.Store
	used   atomic.Bool
	may    chan struct{}
	undone chan struct{} // closed when that transaction is rolled back
}

func (s *stuck) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	tx, err := s.Store.Begin(ctx, h, l)
	if err != nil || s.used.Swap(true) {
		return tx, err
	}
	<-s.may
	return &undone{tx, s}, nil
}

type undone struct {
	store.Tx
	s *stuck
}

func (t *undone) Rollback() {
	t.Tx.Rollback()
	close(t.s.undone)
}

// writes is done after one batch, which writes a row. If hasty, its first call returns
// without waiting for the goroutine that writes.
type writes struct {
	atOnce
	hasty  bool
	calls  atomic.Int64
	failed chan error // a statement's error
}

func (x *writes) Execute(ctx context.Context, s *session.Step, _ json.RawMessage) (session.Next, json.RawMessage, error) {
	if x.calls.Add(1) == 1 && x.hasty {
		go func() { _ = x.write(context.WithoutCancel(ctx), s) }()
		synctest.Wait() // until it waits for the transaction
		return session.Next{Done: true}, json.RawMessage(`{}`), nil
	}
	return session.Next{Done: true}, json.RawMessage(`{}`), x.write(ctx, s)
}

func (x *writes) write(ctx context.Context, s *session.Step) error {
	_, err := s.Tx.ExecContext(ctx, insertItem, "x")
	if err != nil {
		x.failed <- err
	}
	return err
}

// A transaction that does not begin does not block its session. An executor that waits
// for it is abandoned; if it has returned without waiting, its batch fails. The next
// attempt repeats the batch, and a transaction that begins too late is rolled back.
func TestBeginThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	for name, hasty := range map[string]bool{"executor waits": false, "executor returns": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &stuck{Store: memstore.New(), may: make(chan struct{}), undone: make(chan struct{})}
				s.Accept(insertItem)
				id := submit(t, s.Store)
				call := &writes{hasty: hasty, failed: make(chan error, 1)}
				time.AfterFunc(45*time.Second, func() { close(s.may) })
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := engine.New(s, demo(call), config(t)).Run(ctx); err != nil {
					t.Error(err)
				}
				<-s.undone
				if err := <-call.failed; err == nil {
					t.Error("a statement was executed after its batch had ended")
				}
				task, err := s.Task(t.Context(), id)
				if err != nil || task.Status != lifecycle.Completed || task.Seq != 1 {
					t.Errorf("ended in %s %q at checkpoint %d (%v), want COMPLETED at 1", task.Status, task.StatusDetail, task.Seq, err)
				}
				if rows := s.Rows(); len(rows) != 1 || call.calls.Load() != 2 {
					t.Errorf("%d rows were written by %d executions, want 1 by 2", len(rows), call.calls.Load())
				}
			})
		})
	}
}
