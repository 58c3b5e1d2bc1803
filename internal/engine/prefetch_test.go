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
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// slowClaims is a store whose claims take a time. It remembers how many tasks the largest claim asked for.
type slowClaims struct {
	*memstore.Store
	take time.Duration

	mu   sync.Mutex
	most int
}

func (s *slowClaims) Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error) {
	if !c.Requested {
		<-time.After(s.take)
		s.mu.Lock()
		s.most = max(s.most, c.Limit)
		s.mu.Unlock()
	}
	return s.Store.Claim(ctx, c)
}

// brief takes a millisecond.
type brief struct{ atOnce }

func (b brief) Execute(ctx context.Context, s *session.Step, state json.RawMessage) (session.Next, json.RawMessage, error) {
	<-time.After(time.Millisecond)
	return b.atOnce.Execute(ctx, s, state)
}

// As much work waits in the buffer as 4 claims take, at least 50 and at most 300 ms. The size of a claim doubles from 100 as long
// as a claim takes less than 250 ms, and shrinks when it takes 500.
func TestWorkWaitsForSlowClaims(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		take        time.Duration
		least, most int // of the largest claim
	}{
		"fast":      {0, 45, 55},
		"slow":      {30 * time.Millisecond, 110, 125},
		"very slow": {200 * time.Millisecond, 290, 305},
		"too slow":  {2 * time.Second, 1, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &slowClaims{Store: memstore.New(), take: tc.take}
				for range 2000 {
					submit(t, s.Store)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				if err := engine.New(s, demo(brief{}), config(t)).Run(ctx); err != nil {
					t.Error(err)
				}
				if s.most < tc.least || s.most > tc.most {
					t.Errorf("the largest claim was of %d tasks, want %d to %d", s.most, tc.least, tc.most)
				}
			})
		})
	}
}
