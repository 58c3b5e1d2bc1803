package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// slowPermits is a store in memory whose TakePermits takes a while.
type slowPermits struct {
	*memstore.Store
	takes time.Duration
	calls atomic.Int64
}

func (s *slowPermits) TakePermits(ctx context.Context, tasks []store.PermitRequest) ([]store.PermitAnswer, error) {
	s.calls.Add(1)
	<-time.After(s.takes)
	return s.Store.TakePermits(ctx, tasks)
}

// limited gives a task a limit, and a number of items of 10 ms each.
func limited(key string, atMost, items int) func(*store.NewTask) {
	return func(n *store.NewTask) {
		n.Spec = json.RawMessage(strconv.Itoa(items))
		n.Options = &store.Options{Limits: []store.Limit{{Key: key, AtMost: atMost}}}
	}
}

// itemKinds are kinds whose spec is a number of items of 10 ms each.
func itemKinds() map[string]*session.Kind {
	kinds := demo(nil)
	kinds["demo"].Limit = 10
	kinds["demo"].Open = func(_ session.Task, spec json.RawMessage) (session.Call, error) {
		items, err := strconv.Atoi(string(spec))
		return &sized{items: items}, err
	}
	return kinds
}

// completed waits until tasks are COMPLETED, and returns how long that took.
func completed(t *testing.T, s *memstore.Store, ids ...uuid.UUID) time.Duration {
	t.Helper()
	began := time.Now()
	for _, id := range ids {
		for row := read(t, s, id); row.Status != lifecycle.Completed; row = read(t, s, id) {
			if time.Since(began) > time.Hour {
				t.Fatalf("task %s waits: %+v", id, row)
			}
			<-time.After(time.Millisecond)
		}
	}
	return time.Since(began)
}

// TestPermitsAreRequestedTogether: the tasks of a claim request their permits in a few calls, and while others execute.
func TestPermitsAreRequestedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slowPermits{Store: memstore.New(), takes: 10 * time.Millisecond}
		const tasks = 400
		var ids []uuid.UUID
		for n := range tasks {
			ids = append(ids, submit(t, s.Store, limited(strconv.Itoa(n), 1, 1)))
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c, ended := config(t), make(chan error, 1)
		c.Slots = 10
		go func() { ended <- engine.New(s, itemKinds(), c).Run(ctx) }()
		took := completed(t, s.Store, ids...)
		// 10 ms for each task in ten slots are 400 ms. One by one the calls alone would be 4 s.
		if calls := s.calls.Load(); calls > tasks/4 || took > time.Second {
			t.Errorf("%d calls for %d tasks, in %v", calls, tasks, took)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestPermitWithoutSlot: a task that has its permits and finds no free slot gives them back, and spends no attempt.
func TestPermitWithoutSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slowPermits{Store: memstore.New(), takes: 100 * time.Millisecond}
		var small []uuid.UUID
		for n := range 20 {
			small = append(small, submit(t, s.Store, limited(strconv.Itoa(n%2), 1, 1)))
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c, ended := config(t), make(chan error, 1)
		c.Quantum = time.Hour
		go func() { ended <- engine.New(s, itemKinds(), c).Run(ctx) }()
		completed(t, s.Store, small...) // sessions are short now, so that tasks are claimed ahead
		person := uuid.New()
		large := submit(t, s.Store, func(n *store.NewTask) { n.Spec, n.Owner, n.RunAs = json.RawMessage("1000"), person, person }) // has the slot for 10 s
		var waiting []uuid.UUID
		for n := range 4 {
			waiting = append(waiting, submit(t, s.Store, limited(strconv.Itoa(n), 1, 1), func(n *store.NewTask) { n.Owner, n.RunAs, n.Priority = person, person, 1 }))
		}
		<-time.After(5 * time.Second)
		for _, id := range waiting {
			if row := read(t, s.Store, id); row.Status != lifecycle.Queued || row.Attempts != 0 {
				t.Errorf("beside the large task: %+v", row)
			}
		}
		completed(t, s.Store, append(waiting, large)...)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestShutdownWhileWaitingForPermit: a worker that ends releases the tasks that wait for permits, without an attempt.
func TestShutdownWhileWaitingForPermit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slowPermits{Store: memstore.New(), takes: 3 * time.Second}
		var ids []uuid.UUID
		for n := range 3 {
			ids = append(ids, submit(t, s.Store, limited(strconv.Itoa(n), 1, 1)))
		}
		ctx, cancel := context.WithCancel(t.Context())
		c, ended := config(t), make(chan error, 1)
		c.Slots = 3
		go func() { ended <- engine.New(s, itemKinds(), c).Run(ctx) }()
		for s.calls.Load() == 0 {
			<-time.After(time.Millisecond)
		}
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		for _, id := range ids {
			if row := read(t, s.Store, id); row.Status != lifecycle.Queued || row.Attempts != 0 {
				t.Errorf("after the shutdown: %+v", row)
			}
		}
	})
}
