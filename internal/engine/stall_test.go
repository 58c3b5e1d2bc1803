package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// stalling is a store in which the first call of one method waits until its context
// ends.
type stalling struct {
	*memstore.Store
	method string
	calls  atomic.Int64
	again  chan struct{} // closed with the second call
}

func (s *stalling) stall(ctx context.Context, method string) error {
	if method != s.method {
		return nil
	}
	switch s.calls.Add(1) {
	case 1:
		<-ctx.Done()
		return context.Cause(ctx)
	case 2:
		close(s.again)
	}
	return nil
}

func (s *stalling) Heartbeat(ctx context.Context, process string, draining bool) error {
	if err := s.stall(ctx, "Heartbeat"); err != nil {
		return err
	}
	return s.Store.Heartbeat(ctx, process, draining)
}

func (s *stalling) Reap(ctx context.Context, absent []int64) (store.Reaped, error) {
	if err := s.stall(ctx, "Reap"); err != nil {
		return store.Reaped{}, err
	}
	return s.Store.Reap(ctx, absent)
}

func (s *stalling) Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error) {
	if err := s.stall(ctx, "Claim"); err != nil {
		return store.ClaimResult{}, err
	}
	return s.Store.Claim(ctx, c)
}

// A call without a response ends by its deadline, and the loop that made it continues.
func TestStalledCalls(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Heartbeat", "Reap", "Claim"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &stalling{Store: memstore.New(), method: method, again: make(chan struct{})}
				kinds := map[string]*session.Kind{"demo": {Name: "demo", Revision: 1, Reads: []int{1}, Limit: 1}}
				w := engine.New(s, kinds, config(t))
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- w.Run(ctx) }()
				select {
				case <-s.again:
				case <-time.After(time.Hour): // by the bubble's clock
					t.Errorf("%s stalled an hour ago and was not called again", method)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
