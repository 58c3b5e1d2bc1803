package engine_test

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// TestOwnersTakeTurns: the small tasks of an owner end soon although a large task of another owner has the
// only slot, and the large one goes on afterwards. Two large ones share it equally.
func TestOwnersTakeTurns(t *testing.T) {
	t.Parallel()
	// The spec is the number of items, of which each takes 10 ms.
	kinds := demo(nil)
	kinds["demo"].Limit = 10
	kinds["demo"].Open = func(_ engine.Task, spec json.RawMessage) (engine.Call, error) {
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

func (x *sized) Execute(_ context.Context, s *engine.Step, _ json.RawMessage) (engine.Next, json.RawMessage, error) {
	from, to := s.Take(x.items, s.Limit, func(int) string { return "" })
	<-time.After(time.Duration(to-from) * 10 * time.Millisecond)
	return engine.Next{Done: to == x.items}, json.RawMessage(`{}`), nil
}
