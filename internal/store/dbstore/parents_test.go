package dbstore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/testdb"
)

// The end of a parent of which a child is just being retried waits for the retry, and is then
// not applied.
func TestParentEndMeetsRetry(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	s, _ := opened(t, db)
	parent := claimOne(t, s, db, time.Hour)
	child := store.NewTask{
		Submitted: store.Submitted{Kind: "demo", Owner: uuid.New(), RunAs: uuid.New(), Queue: "default", Parent: parent.ID},
		ID:        store.NewID(), Revision: 1, Priority: 1, Total: -1,
		Options: &store.Options{Child: &store.Child{Parent: parent.ID}},
	}
	if err := store.Insert(t.Context(), db, db.Schema, []store.NewTask{child}, false); err != nil {
		t.Fatal(err)
	}
	got, err := s.Claim(t.Context(), store.Claim{Process: "p", Queues: []string{"default"}, Kinds: map[string][]int{"demo": {1}}, Limit: 1})
	if err != nil || len(got.Tasks) != 1 || got.Tasks[0].ID != child.ID {
		t.Fatalf("claimed %v, %v", got.Tasks, err)
	}
	if _, err := s.Apply(t.Context(), "p", []*store.Write{{Lease: got.Tasks[0].Lease, To: lifecycle.Failure}}); err != nil {
		t.Fatal(err)
	}

	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	op := dbstore.NewClient(tx, db.Schema, db.Dialect)
	if _, err := op.Request(t.Context(), child.ID, store.Request{Action: lifecycle.ActRetry}); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		applied []store.Applied
		err     error
	}
	answered := make(chan answer, 1)
	go func() {
		a, err := s.Apply(t.Context(), "p", []*store.Write{{Lease: parent.Lease, To: lifecycle.Completed, HasChildren: true}})
		answered <- answer{a, err}
	}()
	until(t, "the end waits", func() bool {
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'", db.Schema).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n > 0
	})
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	end := <-answered
	if end.err != nil || end.applied[0] != (store.Applied{Open: true}) {
		t.Fatalf("got %+v, %v; want the end not applied, since a child is open", end.applied, end.err)
	}
}
