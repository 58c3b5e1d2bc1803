package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// planless is a store that cannot read plans.
type planless struct{ *memstore.Store }

func (planless) Plan(context.Context, uuid.UUID) (store.Plan, error) {
	return store.Plan{}, errors.New("connection reset by peer")
}

// A task that has killed its workers as often as it may ends in ERROR, also if its plan
// cannot be read then: there is no further attempt for that.
func TestPoisonTaskWithoutPlan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := planless{memstore.New()}
		id := submit(t, s.Store, func(n *store.NewTask) { n.Options.Preview = true })
		most := config(t).MaxAttempts
		if err := s.Edit(t.Context(), id, func(row *memstore.Task) { row.Attempts, row.Stalled = most, true }); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := engine.New(s, demo(&previewing{}), config(t)).Run(ctx); err != nil {
			t.Error(err)
		}
		task, err := s.Task(t.Context(), id)
		if err != nil || task.Status != lifecycle.Error || !strings.Contains(task.StatusDetail, "crash_loop") {
			t.Errorf("ended in %s %q (%v), want ERROR", task.Status, task.StatusDetail, err)
		}
		attempts, err := s.Attempts(t.Context(), id, 10)
		if err != nil || len(attempts) != 1 || attempts[0].Class != string(lifecycle.Permanent) {
			t.Errorf("recorded %+v (%v), want the end", attempts, err)
		}
	})
}
