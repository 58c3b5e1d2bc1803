package tasknotify_test

import (
	"maps"
	"slices"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/tasknotify"
)

// Each shape of task has one notification of its end, of the whole, and none of its parts.
func TestMID59Shapes(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		ops := new(inbox)
		kind := newKind("numbers", "ops")
		started(t, db, map[string]tasknotify.Target{"ops": ops}, func(r *taskkit.Registry) {
			taskkit.Register(r, kind, &work{})
			taskkit.Register(r, bucketKind, &bucketed{})
			taskkit.Register(r, stageKind, &staged{kind})
			taskkit.Register(r, familyKind, &family{kind})
		})
		numbers := below(40)
		for name, c := range map[string]struct {
			id      taskkit.ID
			done    int64
			failed  int64
			preview bool
		}{
			"list":       {id: submitted(t, db, kind, numbers), done: 36, failed: 4},
			"frozen set": {id: submitted(t, db, kind, spec{}, taskkit.WithTargets(slices.Values(numbers.Numbers))), done: 36, failed: 4},
			"ranges":     {id: submitted(t, db, kind, numbers, taskkit.WithMaxParallel(3)), done: 36, failed: 4},
			"preview":    {id: submitted(t, db, kind, numbers, taskkit.WithPreview()), done: 36, failed: 4, preview: true},
			"dry run":    {id: submitted(t, db, kind, numbers, taskkit.WithDryRun()), preview: true},
			"buckets":    {id: submitted(t, db, bucketKind, spec{}), done: 40},
			"stages":     {id: submitted(t, db, stageKind, numbers), done: 72, failed: 8},
			"child":      {id: submitted(t, db, familyKind, numbers), done: 36, failed: 4},
		} {
			t.Run(name, func(t *testing.T) {
				if task := ended(t, db, c.id); task.Status != taskkit.StatusCompleted {
					t.Fatalf("%s: %s", task.Status, task.StatusDetail)
				}
				all := deliveries(t, db, c.id)
				sent := ops.of(c.id)
				if len(all) != 1 || len(sent) != 1 {
					t.Fatalf("%d tasks deliver, and %d notifications came, want 1", len(all), len(sent))
				}
				m := sent[0]
				want := notice.Completed
				if name == "dry run" {
					want = notice.Partial // nothing was executed
				}
				if m.Event != want || m.Target != "ops" || m.Preview != c.preview || m.ID != "msg_"+all[0].ID.String() {
					t.Errorf("notified of %+v", m)
				}
				if !c.preview && (m.Done != c.done || m.Failed != c.failed) {
					t.Errorf("%d done and %d failed, want %d and %d", m.Done, m.Failed, c.done, c.failed)
				}
			})
		}
		var about []string
		ops.mu.Lock()
		defer ops.mu.Unlock()
		for _, m := range ops.messages {
			about = append(about, m.Kind)
		}
		slices.Sort(about)
		want := []string{"in_buckets", "in_stages", "numbers", "numbers", "numbers", "numbers", "numbers", "with_child"}
		if !slices.Equal(about, want) {
			t.Errorf("notified of %v, want %v: a part has notified", about, want)
		}
	})
}

// A notification is stored with the end: no reader sees one without the other.
func TestMID59OneTransaction(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		kind := newKind("numbers", "")
		id := submitted(t, db, kind, below(5), taskkit.WithNotifications("ops"))
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		client := taskkit.NewClient(tx, taskkit.WithSchema(schemaOf(db)))
		if _, err := client.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		of := func(c *taskkit.Client) map[taskkit.Status]int64 {
			counts, _, err := c.Counts(t.Context(), notice.Kind)
			if err != nil {
				t.Fatal(err)
			}
			maps.DeleteFunc(counts, func(_ taskkit.Status, n int64) bool { return n == 0 })
			return counts
		}
		if n := of(client)[taskkit.StatusQueued]; n != 1 {
			t.Errorf("%d notifications in the transaction of the end, want 1", n)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if left := of(clientOf(db)); task(t, db, id).Ended() || len(left) != 0 {
			t.Errorf("after a rollback there are %v", left)
		}
	})
}
