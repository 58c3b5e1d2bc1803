package engine_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// refusesFirstEnd is a store that does not apply the first end of a task in a group.
type refusesFirstEnd struct {
	*memstore.Store
	once sync.Once
}

func (s *refusesFirstEnd) Apply(ctx context.Context, process string, writes []*store.Write) ([]store.Applied, error) {
	refused := false
	for _, w := range writes {
		if w.To.Terminal() {
			s.once.Do(func() { refused = true })
		}
	}
	if refused {
		return make([]store.Applied, len(writes)), nil
	}
	return s.Store.Apply(ctx, process, writes)
}

// writesLater is done at once, and writes a row when it is called again.
type writesLater struct {
	atOnce
	calls int
}

func (x *writesLater) Execute(ctx context.Context, s *session.Step, state json.RawMessage) (session.Next, json.RawMessage, error) {
	if x.calls++; x.calls == 1 {
		return session.Next{Done: true}, state, nil
	}
	_, err := s.Tx.ExecContext(ctx, insertItem, "x")
	return session.Next{Done: true}, state, err
}

// A session whose end the group commit has not applied continues outside its slot, and commits its next batch there.
func TestSessionOutsideItsSlotCommits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &refusesFirstEnd{Store: memstore.New()}
		s.Accept(insertItem)
		id := submit(t, s.Store)
		c := config(t)
		c.Slots = 4
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := engine.New(s, demo(&writesLater{}), c).Run(ctx); err != nil {
			t.Error(err)
		}
		task, err := s.Task(t.Context(), id)
		if err != nil || task.Status != lifecycle.Completed || len(s.Rows()) != 1 {
			t.Errorf("%s with %d rows (%v), want COMPLETED with one", task.Status, len(s.Rows()), err)
		}
	})
}
