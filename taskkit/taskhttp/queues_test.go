package taskhttp_test

import (
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/taskhttp"
)

// A queue is paused and resumed with the person and the reason, and the list counts what it has.
func TestQueues(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		if r := e.operate(t, "GET", "/queues", ""); r.body != "{\"queues\":[]}\n" {
			t.Errorf("no queues: %s", r.body)
		}
		e.start(t, done)
		check(t, "pause", e.operate(t, "POST", "/queues/default/pause", `{"reason":"lunch"}`), 204, nil)
		check(t, "pause one that has nothing", e.operate(t, "POST", "/queues/empty/pause", ""), 204, nil)
		check(t, "resume it", e.operate(t, "POST", "/queues/empty/resume", `{"reason":"why not"}`), 204, nil)
		check(t, "resume one that was never paused", e.operate(t, "POST", "/queues/other/resume", ""), 204, nil)
		list := listed[taskhttp.QueueList](t, e.operate(t, "GET", "/queues", "")).Queues
		if len(list) != 2 {
			t.Fatalf("%d queues, want 2: %+v", len(list), list)
		}
		if q := list[0]; q.Name != "default" || !q.Paused || q.PausedBy != e.person || q.PausedReason != "lunch" || q.PausedAt == nil ||
			q.Waiting != 1 || q.Due != 1 || q.Running != 0 || q.Workers != 0 || q.OldestDueAt == nil {
			t.Errorf("the queue with a job is %+v", q)
		}
		if q := list[1]; q.Name != "empty" || q.Paused || q.PausedBy != e.person || q.ResumedBy != e.person || q.ResumedReason != "why not" || q.ResumedAt == nil || q.OldestDueAt != nil {
			t.Errorf("the other one is %+v", q)
		}
	})
}
