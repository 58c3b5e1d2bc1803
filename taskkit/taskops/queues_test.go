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

// A revision that no live worker of the queue reads is named at once, before a worker has recorded it, and no more once a
// worker reads it.
func TestQueuesUnknownRevision(t *testing.T) {
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
		register := func(id string, revisions ...int) {
			if err := s.RegisterWorker(ctx, store.Process{ID: id, Kinds: map[string][]int{"demo": revisions}, Queues: []string{"default"}, Slots: 1, DeadAfter: time.Hour}); err != nil {
				t.Fatal(err)
			}
		}
		queue := func() taskops.QueueInfo {
			queues, err := taskops.New(taskkit.NewClient(db.DB, taskkit.WithSchema(schema))).Queues(ctx)
			if err != nil || len(queues) != 1 {
				t.Fatalf("queues %+v, %v; want one", queues, err)
			}
			return queues[0]
		}
		register("old", 1)
		for _, revision := range []int{1, 2} {
			if err := store.Insert(ctx, db.DB, schema, []store.NewTask{{
				ID: store.NewID(), Submitted: store.Submitted{Kind: "demo", Queue: "default", Owner: taskkit.SystemOwner, RunAs: taskkit.SystemOwner}, Revision: revision, Priority: 2, Total: -1,
			}}, false); err != nil {
				t.Fatal(err)
			}
		}
		if got := queue().UnknownKinds; len(got) != 1 || got[0].Kind != "demo" || got[0].Revision != 2 || got[0].Tasks != 1 || got[0].Since.IsZero() {
			t.Errorf("unknown: %+v, want revision 2", got)
		}
		if _, _, err := s.SeeUnknownKinds(ctx); err != nil {
			t.Fatal(err)
		}
		recorded, err := s.UnknownKinds(ctx)
		if err != nil || len(recorded) != 1 {
			t.Fatalf("recorded %+v, %v", recorded, err)
		}
		if got := queue().UnknownKinds; len(got) != 1 || !got[0].Since.Equal(recorded[0].First) {
			t.Errorf("unknown since %+v, want the time that was recorded, %v", got, recorded[0].First)
		}
		register("new", 1, 2)
		if got := queue().UnknownKinds; len(got) != 0 {
			t.Errorf("unknown although a worker reads it: %+v", got)
		}
	})
}
