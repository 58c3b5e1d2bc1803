package engine_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// occupied starts a worker with two slots and a task that has the only permit under the key "a" for a minute. It returns
// the task, and what ends the worker.
func occupied(t *testing.T, s *memstore.Store) (id uuid.UUID, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c, ended := config(t), make(chan error, 1)
	c.Slots = 2
	id = submit(t, s, limited("a", 1, 6100))
	go func() { ended <- engine.New(s, itemKinds(), c).Run(ctx) }()
	for read(t, s, id).Status != lifecycle.Executing {
		<-time.After(time.Millisecond)
	}
	return id, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestPermitIsPassedOn: a task that is woken for a permit and does not request it, because its deadline is over or its window is
// closed, keeps no other waiting.
func TestPermitIsPassedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		first, end := occupied(t, s)
		defer end()
		var late, closed []uuid.UUID
		for range 5 {
			late = append(late, submit(t, s, limited("a", 1, 1), func(n *store.NewTask) { n.Options.Deadline = time.Now().Add(30 * time.Second) }))
			// A bubble begins at midnight UTC.
			closed = append(closed, submit(t, s, limited("a", 1, 1), func(n *store.NewTask) { n.Options.Window = "23:00-00:01 UTC" }))
		}
		last := submit(t, s, limited("a", 1, 1))
		<-time.After(10 * time.Second)
		for _, id := range append(append([]uuid.UUID{last}, late...), closed...) {
			if row := read(t, s, id); row.Status != lifecycle.Queued || row.Attempts != 0 {
				t.Errorf("beside the first task: %+v", row)
			}
		}
		completed(t, s, first)
		if took := completed(t, s, last); took > 2*time.Second {
			t.Errorf("the permit was passed on after %v", took)
		}
		for _, id := range late {
			if row := read(t, s, id); row.Status != lifecycle.Failure {
				t.Errorf("after its deadline: %+v", row)
			}
		}
	})
}

// TestPermitFreedInTheQueue: tasks that wait for a permit are not put behind all that were submitted after them.
func TestPermitFreedInTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		var ids []uuid.UUID
		for range 5 {
			ids = append(ids, submit(t, s, limited("a", 1, 10)))
			<-time.After(time.Millisecond)
		}
		for range 500 {
			submit(t, s, func(n *store.NewTask) { n.Spec = json.RawMessage("10") })
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- engine.New(s, itemKinds(), config(t)).Run(ctx) }()
		if took := completed(t, s, ids...); took > 10*time.Second {
			t.Errorf("five tasks of 100 ms took %v beside 50 s of work that was submitted later", took)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestExpiresWhileWaiting: a task that waits for its window or for a permit fails when it is too late for it, and not only
// after its wait.
func TestExpiresWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		_, end := occupied(t, s)
		defer end()
		soon := time.Now().Add(30 * time.Second)
		waits := func(key string, times lifecycle.Times) uuid.UUID {
			return submit(t, s, limited(key, 1, 1), func(n *store.NewTask) { n.Options.Times = times })
		}
		ids := map[string]uuid.UUID{
			"window, deadline":     waits("b", lifecycle.Times{Window: "12:00-13:00 UTC", Deadline: soon}),
			"window, latest start": waits("c", lifecycle.Times{Window: "12:00-13:00 UTC", LatestStart: soon}),
			"limit, deadline":      waits("a", lifecycle.Times{Deadline: soon}),
			"limit, latest start":  waits("a", lifecycle.Times{LatestStart: soon}),
		}
		<-time.After(10 * time.Second)
		for name, id := range ids {
			if row := read(t, s, id); row.Status != lifecycle.Queued || row.Attempts != 0 {
				t.Errorf("%s: %+v", name, row)
			}
		}
		<-time.After(25 * time.Second)
		for name, id := range ids {
			if row := read(t, s, id); row.Status != lifecycle.Failure {
				t.Errorf("%s, when it is too late: %+v", name, row)
			}
		}
	})
}
