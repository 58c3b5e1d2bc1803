package taskkit_test

import (
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
)

// A worker that cannot renew its heartbeat for so long that it gives its batches up ends no task, and costs none an attempt.
func TestOutageOfHeartbeat(t *testing.T) {
	t.Parallel()
	owner, worker, roles := asWorker(t, testdb.Postgres(t))
	x := newOutageExecutor(false)
	lost := make(chan struct{}, 10)
	c := quick(t, worker)
	c.Heartbeat, c.DeadAfter = time.Second, 10*time.Second
	c.Observer = observerFunc(func(e taskevent.Event) {
		if e, ok := e.(taskevent.WorkerEnded); ok && e.Err != nil {
			lost <- struct{}{}
		}
	})
	started(t, worker, x.registry(), c)
	ids := make([]taskkit.ID, outageTasks)
	for i := range ids {
		ids[i] = submitted(t, owner, x.parent, countSpec{Items: 3})
	}
	for range c.Slots {
		x.await(t)
	}
	on := "UPDATE ON " + table(owner, "taskkit_task_process")
	statements(owner, "REVOKE "+on+" FROM "+roles.Name("worker"))(t)
	select {
	case <-lost:
	case <-time.After(testdb.Patience(t)):
		t.Fatal("the worker did not give its batches up")
	}
	x.open()
	after := time.NewTimer(300 * time.Millisecond) // of the fault
	defer after.Stop()
	<-after.C
	statements(owner, "GRANT "+on+" TO "+roles.Name("worker"))(t)
	for _, id := range ids {
		if task := ended(t, owner, id); task.Status != taskkit.StatusCompleted {
			t.Errorf("ended in %s: %s", task.Status, task.StatusDetail)
		}
		checkTouched(t, owner.DB, id, 3)
	}
	var attempts int
	if err := owner.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table(owner, "taskkit_task_attempt")).Scan(&attempts); err != nil {
		t.Fatal(err)
	}
	if attempts != 0 || x.attempt.Load() != 1 {
		t.Errorf("%d failed attempts, and a batch at attempt %d", attempts, x.attempt.Load())
	}
}
