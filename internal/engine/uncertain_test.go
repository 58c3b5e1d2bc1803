package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
	"taskkit.dev/taskkit/taskevent"
)

// unanswered is a store in which the response to every commit is lost. The first one
// is rolled back.
type unanswered struct {
	*memstore.Store

	first sync.Once
}

func (s *unanswered) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	tx, err := s.Store.Begin(ctx, h, l)
	if err != nil {
		return nil, err
	}
	return &unansweredTx{tx, s}, nil
}

type unansweredTx struct {
	store.Tx
	s *unanswered
}

func (t *unansweredTx) Commit(ctx context.Context, w store.Write) (store.Applied, error) {
	made := true
	t.s.first.Do(func() { made = false })
	if !made {
		t.Rollback()
	} else if a, err := t.Tx.Commit(ctx, w); err != nil || !a.OK {
		return a, err
	}
	return store.Applied{}, &store.UnknownError{Err: errors.New("no answer")}
}

// twoSteps is done after two batches, each of which writes a row.
type twoSteps struct{ atOnce }

func (twoSteps) Execute(ctx context.Context, s *session.Step, raw json.RawMessage) (session.Next, json.RawMessage, error) {
	_, err := s.Tx.ExecContext(ctx, insertItem, "x")
	s.Advance(1)
	if string(raw) == `{"done":1}` {
		return session.Next{Done: true}, raw, err
	}
	return session.Next{}, json.RawMessage(`{"done":1}`), err
}

// A write whose outcome is unknown is reported when it has been read back, and only
// if it was committed.
func TestUncertainCommitIsReportedOnceReadBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &unanswered{Store: memstore.New()}
		s.Accept(insertItem)
		submit(t, s.Store)
		c := config(t)
		var got []string
		var mu sync.Mutex
		c.Observe = func(_ context.Context, e taskevent.Event) {
			mu.Lock()
			defer mu.Unlock()
			switch e := e.(type) {
			case taskevent.TaskClaimed:
				got = append(got, "claimed")
			case taskevent.BatchDone:
				got = append(got, fmt.Sprintf("batch done=%d", e.Done))
			case taskevent.CommitReadBack:
				got = append(got, fmt.Sprintf("read back committed=%t", e.Committed))
			case taskevent.CheckpointWritten:
				got = append(got, fmt.Sprintf("checkpoint %d done=%d", e.Checkpoint, e.Progress.Done))
			case taskevent.TaskEnded:
				got = append(got, fmt.Sprintf("%s done=%d", e.Status, e.Progress.Done))
			case taskevent.TaskLost, taskevent.TaskRetried, taskevent.TaskReleased:
				got = append(got, fmt.Sprintf("%#v", e))
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := engine.New(s, demo(twoSteps{}), c).Run(ctx); err != nil {
			t.Error(err)
		}
		want := []string{
			"claimed",
			"batch done=1", "read back committed=false",
			"batch done=1", "read back committed=true", "checkpoint 1 done=1",
			"batch done=1", "checkpoint 2 done=2", "COMPLETED done=2",
		}
		if !slices.Equal(got, want) {
			t.Errorf("events:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
