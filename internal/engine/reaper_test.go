package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
	"taskkit.dev/taskkit/taskevent"
)

// failingReaps is a store that fails the first calls of Reap.
type failingReaps struct {
	*memstore.Store
	fail int
}

func (s *failingReaps) Reap(ctx context.Context, absent []int64) (store.Reaped, error) {
	if s.fail > 0 {
		s.fail--
		return store.Reaped{}, errors.New("no answer")
	}
	return s.Store.Reap(ctx, absent)
}

// The reaper of a worker goes on after errors, says each, and then takes back what a dead worker had.
func TestReaperGoesOnAfterErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const errs = 3
		s := &failingReaps{Store: memstore.New(), fail: errs}
		id := abandoned(t, s.Store)
		c, said := config(t), 0
		c.Observe = func(_ context.Context, e taskevent.Event) {
			if e, ok := e.(taskevent.CallFailed); ok && e.Call == taskevent.CallReap {
				said++
			}
		}
		runFor(t, s, c, 10*time.Minute)
		if task, err := s.Task(t.Context(), id); err != nil || task.Status != lifecycle.Completed {
			t.Errorf("the task of the dead worker is %s (%v), want it to be done by the other", task.Status, err)
		}
		if said != errs {
			t.Errorf("%d errors were reported, want %d", said, errs)
		}
	})
}
