package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// silent is a store whose COMMIT never takes effect and never answers.
type silent struct{ *memstore.Store }

func (s silent) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	tx, err := s.Store.Begin(ctx, h, l)
	return silentTx{tx}, err
}

type silentTx struct{ store.Tx }

func (t silentTx) Commit(context.Context, store.Write) (store.Applied, error) {
	t.Rollback()
	return store.Applied{}, &store.UnknownError{Err: errors.New("no answer")}
}

// writer writes an item and is done.
type writer struct{ calls int }

func (x *writer) Execute(ctx context.Context, s *session.Step, raw json.RawMessage) (session.Next, json.RawMessage, error) {
	if x.calls++; x.calls > 100 {
		return session.Next{}, nil, errors.New("called again and again")
	}
	_, err := s.Tx.ExecContext(ctx, insertItem, "x")
	return session.Next{Done: true}, raw, err
}

func (*writer) Abort(context.Context, *session.Step, json.RawMessage) error { return nil }

func (*writer) Report(context.Context, *session.Step, json.RawMessage) (json.RawMessage, error) {
	return nil, nil
}

// A batch whose commits never have an answer and never take effect uses up its
// attempts, and its task ends.
func TestCommitsWithoutAnswerEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := silent{memstore.New()}
		s.Accept(insertItem)
		id := submit(t, s.Store)
		call := &writer{}
		c := config(t)
		c.MaxAttempts = 2
		w := engine.New(s, map[string]*session.Kind{"demo": {
			Name: "demo", Revision: 1, Reads: []int{1}, Limit: 1,
			Open: func(session.Task, json.RawMessage) (session.Call, error) { return call, nil },
		}}, c)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
		task, err := s.Task(t.Context(), id)
		if err != nil || task.Status != lifecycle.Failure || !strings.Contains(task.StatusDetail, "no answer") {
			t.Errorf("ended in %s %q (%v), want FAILURE", task.Status, task.StatusDetail, err)
		}
		if call.calls != 6 {
			t.Errorf("%d calls, want 3 in each of 2 attempts", call.calls)
		}
	})
}
