package engine_test

import (
	"context"
	"encoding/json"
	"errors"
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

// slow is a store whose first COMMIT takes effect late: after the read-back, and
// before the next write.
type slow struct {
	*memstore.Store
	late atomic.Pointer[memstore.Tx]
	used atomic.Bool
}

func (s *slow) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	tx, err := s.Store.Begin(ctx, h, l)
	if err != nil || s.used.Swap(true) {
		return tx, err
	}
	return &slowTx{tx.(*memstore.Tx), s}, nil //nolint:forcetypeassert,errcheck // that is what it begins
}

func (s *slow) Apply(ctx context.Context, process string, writes []*store.Write) ([]store.Applied, error) {
	for _, w := range writes {
		if tx := s.late.Load(); tx != nil && w.To.Terminal() && s.late.CompareAndSwap(tx, nil) {
			if err := tx.Finish(); err != nil {
				return nil, err
			}
		}
	}
	return s.Store.Apply(ctx, process, writes)
}

type slowTx struct {
	*memstore.Tx
	s *slow
}

func (t *slowTx) Commit(ctx context.Context, w store.Write) (store.Applied, error) {
	if a, err := t.Prepare(ctx, w); err != nil || !a.OK {
		return a, err
	}
	t.s.late.Store(t.Tx)
	return store.Applied{}, &store.UnknownError{Err: errors.New("no answer")}
}

// twoBatches has two batches. The first fails when it is executed again.
type twoBatches struct{ first atomic.Bool }

func (x *twoBatches) Execute(ctx context.Context, s *session.Step, raw json.RawMessage) (session.Next, json.RawMessage, error) {
	switch {
	case string(raw) == `{"done":1}`:
		return session.Next{Done: true}, raw, nil
	case x.first.Swap(true):
		return session.Next{}, nil, errors.New("it is there already")
	}
	if _, err := s.Tx.ExecContext(ctx, insertItem, "x"); err != nil {
		return session.Next{}, nil, err
	}
	return session.Next{}, json.RawMessage(`{"done":1}`), nil
}

// Abort fails, so that the end is written without it.
func (*twoBatches) Abort(context.Context, *session.Step, json.RawMessage) error {
	return errors.New("not now")
}

func (*twoBatches) Report(context.Context, *session.Step, json.RawMessage) (json.RawMessage, error) {
	return nil, nil
}

// The read-back finds that a COMMIT has not taken effect, and it takes effect after
// that. Meanwhile the batch was executed again and has used up its attempts. The task
// does not end with that error, but continues from the late checkpoint.
func TestLateCommitVoidsFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slow{Store: memstore.New()}
		s.Accept(insertItem)
		id := submit(t, s.Store)
		call := &twoBatches{}
		once := config(t)
		once.MaxAttempts = 1
		w := engine.New(s, map[string]*session.Kind{"demo": {
			Name: "demo", Revision: 1, Reads: []int{1}, Limit: 1, HasAbort: true,
			Open: func(session.Task, json.RawMessage) (session.Call, error) { return call, nil },
		}}, once)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
		task, err := s.Task(t.Context(), id)
		if err != nil || task.Status != lifecycle.Completed || task.Seq != 2 {
			t.Errorf("ended in %s %q at checkpoint %d (%v), want COMPLETED at 2", task.Status, task.StatusDetail, task.Seq, err)
		}
	})
}

// silentAfterLate is a store like slow, except that its late COMMIT takes effect before the next checkpoint, whose answer is lost.
type silentAfterLate struct{ slow }

func (s *silentAfterLate) Apply(ctx context.Context, process string, writes []*store.Write) ([]store.Applied, error) {
	tx := s.late.Load()
	if tx == nil || !writes[0].Checkpoint || !s.late.CompareAndSwap(tx, nil) {
		return s.Store.Apply(ctx, process, writes)
	}
	if err := tx.Finish(); err != nil {
		return nil, err
	}
	if _, err := s.Store.Apply(ctx, process, writes); err != nil {
		return nil, err
	}
	return nil, errors.New("no answer")
}

// differs returns another state when its first batch is executed again, without using the transaction then. With ends it is done then.
type differs struct {
	writer
	ends  bool
	again atomic.Bool
	last  atomic.Value // the state in which the second batch was executed
}

func (x *differs) Execute(ctx context.Context, s *session.Step, raw json.RawMessage) (session.Next, json.RawMessage, error) {
	switch {
	case string(raw) != `{}`:
		x.last.Store(string(raw))
		return session.Next{Done: true}, raw, nil
	case x.again.Swap(true):
		return session.Next{Done: x.ends}, json.RawMessage(`{"done":2}`), nil
	}
	_, err := s.Tx.ExecContext(ctx, insertItem, "x")
	return session.Next{}, json.RawMessage(`{"done":1}`), err
}

// A batch is executed again after a COMMIT without an answer, which then turns out to be late, and the checkpoint of the second
// execution has no answer either. The read-back finds the checkpoint of the first one, and the task continues from that.
func TestLateCommitBeforeUnansweredCheckpoint(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]bool{"checkpoint": false, "end": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &silentAfterLate{slow{Store: memstore.New()}}
				s.Accept(insertItem)
				id := submit(t, s.Store)
				call := &differs{ends: ends}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := engine.New(s, demo(call), config(t)).Run(ctx); err != nil {
					t.Error(err)
				}
				task, err := s.Task(t.Context(), id)
				if err != nil || task.Status != lifecycle.Completed || task.Seq != 2 {
					t.Errorf("ended in %s %q at checkpoint %d (%v), want COMPLETED at 2", task.Status, task.StatusDetail, task.Seq, err)
				}
				if got := call.last.Load(); got != `{"done":1}` || len(s.Rows()) != 1 {
					t.Errorf("the second batch had the state %v, and %d rows were written, want that of the late commit and 1", got, len(s.Rows()))
				}
			})
		})
	}
}
