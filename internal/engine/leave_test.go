package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/backoff"
	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/memstore"
	"taskkit.dev/internal/store"
)

// mute is a store that refuses the end of a task and then never says what has
// become of it, until it recovers.
type mute struct {
	*memstore.Store
	asked     chan struct{} // closed when somebody wants to know
	once      atomic.Bool
	recovered atomic.Bool
}

func (s *mute) Apply(ctx context.Context, process string, writes []store.Write) ([]store.Applied, error) {
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
		close(s.asked)
	}
	return nil, errors.New("the connection is refused")
}

// atOnce is done with its first batch.
type atOnce struct{}

func (atOnce) Execute(context.Context, *engine.Step, json.RawMessage) (int64, json.RawMessage, error) {
	return -1, json.RawMessage(`{}`), nil
}
func (atOnce) Abort(context.Context, *engine.Step, json.RawMessage) error { return nil }
func (atOnce) Report(context.Context, *engine.Step, json.RawMessage) (json.RawMessage, error) {
	return nil, nil
}

// A worker that is asked to end while a session tries in vain to find out what
// has become of its last write ends within its drain time all the same.
func TestLeaveWithoutAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &mute{Store: memstore.New(), asked: make(chan struct{})}
		person := uuid.New()
		if err := s.Insert(t.Context(), []store.NewTask{{
			ID: uuid.Must(uuid.NewV7()), Kind: "demo", Revision: 1, Spec: json.RawMessage(`{}`), Owner: person, RunAs: person, Queue: "default", Priority: 2, Total: -1,
		}}, false); err != nil {
			t.Fatal(err)
		}
		const drain = 20 * time.Second
		w := engine.New(s, map[string]*engine.Kind{"demo": {
			Name: "demo", Revision: 1, Reads: []int{1}, Limit: 1,
			Open: func(engine.Task, json.RawMessage) (engine.Call, error) { return atOnce{}, nil },
		}}, engine.Config{
			System: "test", Queues: []string{"default"}, Slots: 1, MaxAttempts: 3, SpecMax: 1 << 10,
			BatchTimeout: 20 * time.Second, BatchTarget: time.Second, Drain: drain, Quantum: time.Minute,
			Heartbeat: 10 * time.Second, DeadAfter: time.Minute, Poll: time.Second, PollListening: 15 * time.Second,
			Call: 10 * time.Second, LockTimeout: time.Second, Backoff: backoff.Policy{Base: time.Second, Cap: time.Minute},
			Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		<-s.asked
		cancel()
		began := time.Now()
		late := time.AfterFunc(time.Hour, func() { s.recovered.Store(true) }) // lest the test hang
		defer late.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > drain+time.Second {
			t.Errorf("the worker left after %v, its drain time is %v", took, drain)
		}
	})
}
