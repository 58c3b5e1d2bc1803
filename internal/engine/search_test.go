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

// late finds one target. Its first search ignores its context and returns after it has
// been abandoned.
type late struct {
	atOnce
	calls atomic.Int64
}

func (x *late) Targets(context.Context, *session.Step, string, json.RawMessage) ([][]byte, session.Next, json.RawMessage, error) {
	if x.calls.Add(1) == 1 {
		<-time.After(time.Minute)
		return [][]byte{[]byte("1"), []byte("2")}, session.Next{Done: true}, json.RawMessage(`{"late":1}`), nil
	}
	return [][]byte{[]byte("3")}, session.Next{Done: true}, json.RawMessage(`{}`), nil
}

// What an abandoned search returns is never read: the race detector sees whether it is.
func TestSearchThatReturnsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		id := submit(t, s, func(n *store.NewTask) { n.Targets = &store.NewTargets{Field: "items", Finding: true} })
		call := &late{}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		kinds := demo(call)
		kinds["demo"].FindsTargets = true
		kinds["demo"].DecodeTargets = func(session.Task, json.RawMessage, string, json.RawMessage) (any, int, error) {
			return []int{3}, 1, nil
		}
		if err := engine.New(s, kinds, config(t)).Run(ctx); err != nil {
			t.Error(err)
		}
		task, err := s.Task(t.Context(), id)
		if err != nil || task.Status != lifecycle.Completed || task.Progress.Total != 1 {
			t.Errorf("the task is %s with %d targets (%v), want COMPLETED with the one of the second search", task.Status, task.Progress.Total, err)
		}
	})
}
