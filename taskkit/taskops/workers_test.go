package taskops_test

import (
	"testing"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// A slot is busy from the claim of its task on, and not from the next heartbeat on.
func TestWorkersBusy(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		ctx := t.Context()
		s, err := dbstore.Open(ctx, db.DB, db.Schema, dbstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Release(ctx)
		schema := db.Schema
		if schema == "" {
			schema = taskkit.DefaultSchema
		}
		w := store.Process{ID: "w", Kinds: map[string][]int{"demo": {1}}, Queues: []string{"default"}, Slots: 2, DeadAfter: time.Hour}
		if err := s.RegisterWorker(ctx, w); err != nil {
			t.Fatal(err)
		}
		operator := taskops.New(taskkit.NewClient(db.DB, taskkit.WithSchema(schema)))
		for _, want := range []int{0, 1, 2, 2} {
			workers, err := operator.Workers(ctx)
			if err != nil || len(workers) != 1 || workers[0].Busy != want {
				t.Fatalf("workers %+v, %v; want one with %d busy slots", workers, err, want)
			}
			if err := store.Insert(ctx, db.DB, schema, []store.NewTask{{
				ID: store.NewID(), Submitted: store.Submitted{Kind: "demo", Queue: "default", Owner: taskkit.SystemOwner, RunAs: taskkit.SystemOwner}, Revision: 1, Priority: 2, Total: -1,
			}}, false); err != nil {
				t.Fatal(err)
			}
			if r, err := s.Claim(ctx, store.Claim{Process: w.ID, Kinds: w.Kinds, Queues: w.Queues, Limit: 1}); err != nil || len(r.Tasks) != 1 {
				t.Fatalf("claimed %d tasks, %v", len(r.Tasks), err)
			}
		}
	})
}
