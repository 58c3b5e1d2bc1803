package dbstore_test

import (
	"encoding/json"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
)

// Tasks that are never paused never have an entry in the index of paused tasks: not when they are submitted, claimed, checkpointed, released or ended.
// One that is paused has one.
func TestNoEntryForTasksThatAreNotPaused(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s, db := opened(t, db)
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		// On PostgreSQL an index that never had an entry is one page, whatever vacuum has removed.
		entries := "SELECT pg_relation_size('taskkit_paused') / current_setting('block_size')::bigint - 1"
		if db.Dialect == dialect.SQLite {
			entries = "SELECT count(*) FROM taskkit_queued_task INDEXED BY taskkit_paused WHERE " + lifecycle.IsPaused("")
		}
		is := func(what string, want int) {
			t.Helper()
			var got int
			if err := db.QueryRowContext(t.Context(), entries).Scan(&got); err != nil || got != want {
				t.Errorf("%s: the size of the index is %d, %v; want %d", what, got, err, want)
			}
		}
		claim := store.Claim{Process: "p", Queues: []string{"default"}, Kinds: map[string][]int{"demo": {1}}, SpecMax: 1 << 20, Limit: 100}
		ok(s.RegisterWorker(t.Context(), store.Process{ID: "p", Kinds: claim.Kinds, Queues: claim.Queues, DeadAfter: time.Hour}))
		tasks := make([]store.NewTask, 100)
		for i := range tasks {
			tasks[i] = newTask()
		}
		ok(store.Insert(t.Context(), db.DB, db.Schema, tasks, false))
		for _, to := range []lifecycle.Status{lifecycle.Queued, lifecycle.Completed} {
			got, err := s.Claim(t.Context(), claim)
			ok(err)
			if len(got.Tasks) != len(tasks) {
				t.Fatalf("claimed %d tasks", len(got.Tasks))
			}
			writes := make([]*store.Write, len(got.Tasks))
			for i, c := range got.Tasks {
				writes[i] = &store.Write{Lease: c.Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage("{}")}
			}
			for _, next := range []lifecycle.Status{lifecycle.Executing, to} {
				for _, w := range writes {
					w.To = next
				}
				applied, err := s.Apply(t.Context(), "p", writes)
				ok(err)
				for i, a := range applied {
					if !a.OK {
						t.Fatalf("write %d to %s was refused", i, next)
					}
					writes[i].Seq++
				}
			}
		}
		is("after a drain", 0)
		paused := newTask()
		ok(store.Insert(t.Context(), db.DB, db.Schema, []store.NewTask{paused}, false))
		_, err := s.Request(t.Context(), paused.ID, store.Request{Action: lifecycle.ActPause})
		ok(err)
		is("after a pause", 1)
	})
}
