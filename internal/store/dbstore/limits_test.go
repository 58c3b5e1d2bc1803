package dbstore_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/testdb"
)

// A request on a task that waits for a permit, in a transaction that stays open, does not keep its key locked. The task is
// woken by a later check.
func TestWakeMeetsRequest(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	s, _ := opened(t, db)
	ctx, cancel := context.WithTimeout(t.Context(), testdb.Patience(t)/2)
	defer cancel()
	admitted := func(c store.ClaimedTask) bool {
		t.Helper()
		a, err := s.TakePermits(ctx, []store.PermitRequest{{Lease: c.Lease, Limits: []store.Limit{{Key: "a", AtMost: 1}}}})
		if err != nil {
			t.Fatal(err)
		}
		return a[0].OK
	}
	woken := func() []uuid.UUID {
		t.Helper()
		ids, err := s.WakeWaiting(ctx, []string{"a"})
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	write := func(w store.Write) {
		t.Helper()
		if _, err := s.Apply(ctx, "p", []*store.Write{&w}); err != nil {
			t.Fatal(err)
		}
	}
	first, second := claimOne(t, s, db, time.Hour), claimOne(t, s, db, time.Hour)
	if !admitted(first) || admitted(second) {
		t.Fatal("the first task must have the only permit")
	}
	write(store.Write{Lease: second.Lease, To: lifecycle.Queued, At: store.Forever})
	write(store.Write{Lease: first.Lease, To: lifecycle.Completed})

	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	op := dbstore.NewClient(tx, db.Schema, db.Dialect)
	if _, err := op.Request(ctx, second.ID, store.Request{Action: lifecycle.ActPause}); err != nil {
		t.Fatal(err)
	}
	if ids := woken(); len(ids) != 0 {
		t.Errorf("woken while it is locked: %v", ids)
	}
	third := claimOne(t, s, db, time.Hour)
	if !admitted(third) {
		t.Error("the permit is free")
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	write(store.Write{Lease: third.Lease, To: lifecycle.Completed})
	if ids := woken(); !slices.Equal(ids, []uuid.UUID{second.ID}) {
		t.Errorf("woken %v, want %s", ids, second.ID)
	}
}
