package engine_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// claimRecorder is a store that records the limits of claims.
type claimRecorder struct {
	*memstore.Store
	mu     sync.Mutex
	limits []int
}

func (s *claimRecorder) Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error) {
	s.mu.Lock()
	s.limits = append(s.limits, c.Limit)
	s.mu.Unlock()
	return s.Store.Claim(ctx, c)
}

// A worker in safe mode claims nothing, and takes back what a dead worker had.
func TestSafeModeClaimsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &claimRecorder{Store: memstore.New()}
		waiting := abandoned(t, s.Store)
		c := config(t)
		c.SafeMode = true
		runFor(t, s, c, 10*time.Minute)
		if len(s.limits) > 0 {
			t.Errorf("%d claims in safe mode", len(s.limits))
		}
		task, err := s.Task(t.Context(), waiting)
		if err != nil || task.Status != lifecycle.Queued || !task.Stalled {
			t.Errorf("the task of the dead worker is %s, stalled %t (%v), want QUEUED and stalled", task.Status, task.Stalled, err)
		}
		ps, err := s.Processes(t.Context(), time.Hour)
		if err != nil || !slices.ContainsFunc(ps, func(p store.Process) bool { return p.SafeMode }) {
			t.Errorf("no process in safe mode among %+v, %v", ps, err)
		}
	})
}

// A claim takes no more than ClaimMax, and the next follows at once: all is done by the time of the
// first poll.
func TestClaimMax(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &claimRecorder{Store: memstore.New()}
		var ids []uuid.UUID
		for range 25 {
			ids = append(ids, submit(t, s.Store))
		}
		c := config(t)
		c.Slots, c.ClaimMax = 10, 3
		runFor(t, s, c, c.Poll/2)
		for _, id := range ids {
			if task, err := s.Task(t.Context(), id); err != nil || task.Status != lifecycle.Completed {
				t.Errorf("task %s is %s, %v", id, task.Status, err)
			}
		}
		if most := slices.Max(s.limits); most != 3 {
			t.Errorf("the largest claim is of %d tasks, want 3: %v", most, s.limits)
		}
	})
}
