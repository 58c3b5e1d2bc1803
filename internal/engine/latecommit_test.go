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

func (s *slow) Apply(ctx context.Context, process string, writes []store.Write) ([]store.Applied, error) {
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

func (x *twoBatches) Execute(ctx context.Context, s *engine.Step, raw json.RawMessage) (engine.Next, json.RawMessage, error) {
	switch {
	case string(raw) == `{"done":1}`:
		return engine.Next{Done: true}, raw, nil
	case x.first.Swap(true):
		return engine.Next{}, nil, errors.New("it is there already")
	}
	if _, err := s.Tx.ExecContext(ctx, insertItem, "x"); err != nil {
		return engine.Next{}, nil, err
	}
	return engine.Next{}, json.RawMessage(`{"done":1}`), nil
}

// Abort fails, so that the end is written without it.
func (*twoBatches) Abort(context.Context, *engine.Step, json.RawMessage) error {
	return errors.New("not now")
}

func (*twoBatches) Report(context.Context, *engine.Step, json.RawMessage) (json.RawMessage, error) {
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
		w := engine.New(s, map[string]*engine.Kind{"demo": {
			Name: "demo", Revision: 1, Reads: []int{1}, Limit: 1, HasAbort: true,
			Open: func(engine.Task, json.RawMessage) (engine.Call, error) { return call, nil },
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
