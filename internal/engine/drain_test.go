package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// mute is a store that refuses the end of a task, and whose read-backs fail until it
// recovers.
type mute struct {
	*memstore.Store
	read      chan struct{} // closed with the first read-back
	once      atomic.Bool
	recovered atomic.Bool
}

func (s *mute) Apply(ctx context.Context, process string, writes []*store.Write) ([]store.Applied, error) {
	for _, w := range writes {
		if w.To.Terminal() && !s.recovered.Load() {
			return make([]store.Applied, len(writes)), nil
		}
	}
	return s.Store.Apply(ctx, process, writes)
}

func (s *mute) Positions(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]store.Position, error) {
	if s.recovered.Load() {
		return s.Store.Positions(ctx, ids)
	}
	if !s.once.Swap(true) {
		close(s.read)
	}
	return nil, errors.New("the connection is refused")
}

// atOnce is done after its first batch.
type atOnce struct{}

func (atOnce) Execute(context.Context, *session.Step, json.RawMessage) (session.Next, json.RawMessage, error) {
	return session.Next{Done: true}, json.RawMessage(`{}`), nil
}
func (atOnce) Abort(context.Context, *session.Step, json.RawMessage) error { return nil }
func (atOnce) Report(context.Context, *session.Step, json.RawMessage) (json.RawMessage, error) {
	return nil, nil
}

// A worker whose context ends while a session repeats a read-back that fails ends
// within its drain time.
func TestDrainDuringFailingReadBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &mute{Store: memstore.New(), read: make(chan struct{})}
		submit(t, s.Store)
		c := config(t)
		w := engine.New(s, demo(atOnce{}), c)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		<-s.read
		cancel()
		began := time.Now()
		late := time.AfterFunc(time.Hour, func() { s.recovered.Store(true) }) // so that the test does not hang
		defer late.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > c.Drain+time.Second {
			t.Errorf("the worker ended after %v, its drain time is %v", took, c.Drain)
		}
	})
}
