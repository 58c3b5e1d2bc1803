package engine_test

import (
	"context"
	"encoding/json"
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

// TestOwnersShareFairly: the small tasks of an owner end soon although a large task of another owner has the
// only slot, and the large one goes on afterwards. Two large ones share it equally.
func TestOwnersShareFairly(t *testing.T) {
	t.Parallel()
	// The spec is the number of items, of which each takes 10 ms.
	kinds := demo(nil)
	kinds["demo"].Limit = 10
	kinds["demo"].Open = func(_ session.Task, spec json.RawMessage) (session.Call, error) {
		items, err := strconv.Atoi(string(spec))
		return &sized{items: items}, err
	}
	owned := func(owner uuid.UUID, items int) func(*store.NewTask) {
		return func(n *store.NewTask) { n.Owner, n.RunAs, n.Spec = owner, owner, json.RawMessage(strconv.Itoa(items)) }
	}
	run := func(t *testing.T, beside bool) (took time.Duration, left lifecycle.Row) {
		t.Helper()
		s := memstore.New()
		var large uuid.UUID
		if beside {
			large = submit(t, s, owned(uuid.New(), 1_000_000))
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		c := config(t)
		c.Quantum = 24 * time.Hour // which does not end the turn here
		go func() { ended <- engine.New(s, kinds, c).Run(ctx) }()
		<-time.After(time.Minute)
		began, owner := time.Now(), uuid.New()
		var small []uuid.UUID
		for range 10 {
			small = append(small, submit(t, s, owned(owner, 10)))
		}
		for _, id := range small {
			for row := read(t, s, id); row.Status != lifecycle.Completed; row = read(t, s, id) {
				if time.Since(began) > time.Hour {
					t.Fatalf("a small task waits: %+v", row)
				}
				<-time.After(10 * time.Millisecond)
			}
		}
		took = time.Since(began)
		if beside {
			before := read(t, s, large).Progress.Done
			<-time.After(time.Minute)
			left = read(t, s, large)
			if left.Progress.Done < before+5000 || left.Attempts > 1 {
				t.Errorf("the large task went from %d to %+v in a minute", before, left)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		return took, left
	}
	synctest.Test(t, func(t *testing.T) {
		alone, _ := run(t, false)
		beside, _ := run(t, true)
		if beside > 3*alone+ownerWait {
			t.Errorf("ten small tasks took %v beside a large one, and %v alone", beside, alone)
		}
	})
}

// ownerWait is a batch of the large task, which is not cut off.
const ownerWait = 1500 * time.Millisecond

func read(t *testing.T, s *memstore.Store, id uuid.UUID) lifecycle.Row {
	t.Helper()
	row, err := s.Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return row.Row
}

// sized processes so many items, as many a batch as it may, each in 10 ms.
type sized struct {
	atOnce
	items int
}

func (x *sized) Execute(_ context.Context, s *session.Step, _ json.RawMessage) (session.Next, json.RawMessage, error) {
	from, to := s.Take(x.items, s.Limit, func(int) string { return "" })
	<-time.After(time.Duration(to-from) * 10 * time.Millisecond)
	return session.Next{Done: to == x.items}, json.RawMessage(`{}`), nil
}

// TestFairShareAfterWakeup: a worker that receives the notification of a task reads its owner at the next batch boundary, and the task waits
// for the batch that runs, but for no more.
func TestFairShareAfterWakeup(t *testing.T) {
	t.Parallel()
	kinds := demo(nil)
	kinds["demo"].Limit = 10
	kinds["demo"].Open = func(_ session.Task, spec json.RawMessage) (session.Call, error) {
		items, err := strconv.Atoi(string(spec))
		return &sized{items: items}, err
	}
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		submit(t, s, func(n *store.NewTask) { n.Spec = json.RawMessage("1000000") })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		c := config(t)
		c.BatchTarget = 100 * time.Millisecond
		go func() { ended <- engine.New(s, kinds, c).Run(ctx) }()
		<-time.After(time.Minute)
		for n := range 20 {
			<-time.After(3*time.Second + time.Duration(n)*50*time.Millisecond + 7*time.Millisecond) // within a batch
			id, owner := uuid.Must(uuid.NewV7()), uuid.New()
			began := time.Now()
			if err := s.Insert(t.Context(), []store.NewTask{{
				Submitted: store.Submitted{Kind: "demo", Owner: owner, RunAs: owner, Queue: "default"},
				ID:        id, Revision: 1, Spec: json.RawMessage("10"), Priority: 2, Total: -1,
			}}, true); err != nil {
				t.Fatal(err)
			}
			for read(t, s, id).Status != lifecycle.Completed {
				<-time.After(10 * time.Millisecond)
			}
			if took := time.Since(began); took > 350*time.Millisecond { // a batch of the large task, and its own
				t.Errorf("a task of 100 ms took %v", took)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestFairShareAfterFailedClaim: a task yields at most once for each reading of who waits, also if the one who waited was
// claimed by another worker in between.
func TestFairShareAfterFailedClaim(t *testing.T) {
	t.Parallel()
	kinds := demo(nil)
	kinds["demo"].Limit = 10
	kinds["demo"].Open = func(session.Task, json.RawMessage) (session.Call, error) { return &sized{items: 100_000}, nil }
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := &claimedElsewhere{Store: memstore.New(), cancel: cancel}
		id := submit(t, s.Store)
		ended := make(chan error, 1)
		go func() { ended <- engine.New(s, kinds, config(t)).Run(ctx) }()
		<-time.After(time.Minute)
		claims, row := s.claims.Load(), read(t, s.Store, id)
		if err := ctx.Err(); err != nil {
			t.Errorf("the task was claimed %d times", claims)
		}
		// Once a second at most, and the claim of the beginning.
		if row.Fence < 10 || row.Fence > 62 || row.Progress.Done < 5000 {
			t.Errorf("after a minute: fence %d, %d items", row.Fence, row.Progress.Done)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// claimedElsewhere is a store in which another worker claims what waits as soon as it has been seen.
type claimedElsewhere struct {
	*memstore.Store
	claims atomic.Int64
	cancel context.CancelFunc
}

func (s *claimedElsewhere) WaitingOwners(context.Context, store.Claim) (map[uuid.UUID]int, error) {
	return map[uuid.UUID]int{uuid.New(): 0}, nil
}

func (s *claimedElsewhere) Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error) {
	if s.claims.Add(1) > 10_000 {
		s.cancel()
	}
	return s.Store.Claim(ctx, c)
}
