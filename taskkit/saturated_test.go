package taskkit_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// blocking is an executor of which a task with more than a hundred items keeps
// its slot until it is let go, batch after batch; what others do is up to other.
func blocking(letGo <-chan struct{}, other func(*countBatch) (taskkit.Next, error)) func(context.Context, *countBatch) (taskkit.Next, error) {
	return func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
		if b.Spec.Items <= 100 {
			return other(b)
		}
		select {
		case <-letGo:
			return taskkit.Done, nil
		case <-time.After(20 * time.Millisecond):
			b.State.Next++
			return taskkit.More, nil
		case <-ctx.Done():
			return taskkit.More, context.Cause(ctx)
		}
	}
}

// Tasks that wait, and have run before, are stopped and deleted while all slots
// are taken and others are in the queue: nobody waits for a slot to end.
func TestStopDoesNotWaitForASlot(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("count", 10)
		letGo := make(chan struct{})
		var aborted sync.Map
		x := &aborting[countSpec, countState]{
			funcs: funcs[countSpec, countState]{blocking(letGo, func(*countBatch) (taskkit.Next, error) {
				return taskkit.Later(time.Hour), nil
			})},
			abort:  func(_ context.Context, b *countBatch) error { aborted.Store(b.Task, b.EndReason()); return nil },
			report: func(context.Context, *countBatch) (string, error) { return "", nil },
		}
		c := quick(t, db)
		c.Slots = 1
		var waiting []taskkit.ID
		for range 10 {
			waiting = append(waiting, submitted(t, db, k, countSpec{Items: 1}))
		}
		started(t, db, registered(k, x), c)
		inStatus := func(id taskkit.ID, s taskkit.Status) bool {
			task, err := clientOf(db).Task(t.Context(), id)
			return err == nil && task.Status == s && task.Fence > 0
		}
		for _, id := range waiting {
			until(t, "it has run and waits", func() bool { return inStatus(id, taskkit.StatusQueued) })
		}
		blocker := submitted(t, db, k, countSpec{Items: 1000})
		until(t, "the slot is taken", func() bool { return inStatus(blocker, taskkit.StatusExecuting) })
		for range 50 { // a queue before them
			submitted(t, db, k, countSpec{Items: 2}, taskkit.WithPriority(taskkit.PriorityHigh))
		}
		for i, id := range waiting {
			if i%2 == 0 {
				if _, err := clientOf(db).Stop(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if _, err := clientOf(db).Delete(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		for i, id := range waiting {
			if i%2 == 0 {
				if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
					t.Errorf("ended in %s %q", task.Status, task.StatusDetail)
				}
			} else {
				until(t, "it is deleted", func() bool {
					_, err := clientOf(db).Task(t.Context(), id)
					return err != nil
				})
			}
			if _, ok := aborted.Load(id); !ok {
				t.Errorf("task %d ended without Abort", i)
			}
		}
		if !inStatus(blocker, taskkit.StatusExecuting) {
			t.Error("the slot was free meanwhile")
		}
		close(letGo)
		ended(t, db, blocker)
	})
}

// A worker whose slots are all taken claims nothing until one is free.
func TestSSP42FullPoolClaimsNothing(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		letGo := make(chan struct{})
		c, client := quick(t, db), clientOf(db)
		c.Slots = 2
		started(t, db, registered(countKind, &funcs[countSpec, countState]{blocking(letGo, func(*countBatch) (taskkit.Next, error) { return taskkit.Done, nil })}), c)
		checkpoints := func(id taskkit.ID) int64 {
			task, err := client.Task(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return task.Checkpoints
		}
		long := []taskkit.ID{submitted(t, db, countKind, countSpec{Items: 1000}), submitted(t, db, countKind, countSpec{Items: 1000})}
		until(t, "both slots are taken", func() bool { return checkpoints(long[0]) > 0 && checkpoints(long[1]) > 0 })
		waiting := submitted(t, db, countKind, countSpec{Items: 2})
		before := checkpoints(long[0])
		until(t, "the worker could have claimed it", func() bool { return checkpoints(long[0]) > before+10 })
		if task, err := client.Task(t.Context(), waiting); err != nil || task.Status != taskkit.StatusQueued || task.Fence != 0 {
			t.Errorf("the task that waits was claimed: %+v, %v", task, err)
		}
		close(letGo)
		for _, id := range append(long, waiting) {
			ended(t, db, id)
		}
	})
}

// A worker that was fast claims ahead. When what it gets then is slow, the tasks
// that wait for its slot go back, and another worker does them.
func TestClaimedTasksDoNotWaitForSlowOnes(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("count", 10)
		letGo := make(chan struct{})
		x := &funcs[countSpec, countState]{blocking(letGo, func(*countBatch) (taskkit.Next, error) { return taskkit.Done, nil })}
		c := quick(t, db)
		c.Slots = 1
		started(t, db, registered(k, x), c)
		for range 3 { // after tiny tasks the worker prefetches
			var last taskkit.ID
			for range 100 {
				last = submitted(t, db, k, countSpec{Items: 1})
			}
			ended(t, db, last)
		}
		specs := []countSpec{{Items: 1000}}
		for range 20 {
			specs = append(specs, countSpec{Items: 2})
		}
		ids, err := taskkit.SubmitMany(t.Context(), db.DB, k, specs, taskkit.WithSchema(schemaOf(db)), taskkit.System())
		if err != nil {
			t.Fatal(err)
		}
		prefetched := func() (n int) {
			err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table(db, "taskkit_queued_task")+" WHERE workflow_status = 'SCHEDULING'").Scan(&n)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		until(t, "the slow one runs", func() bool {
			task, err := clientOf(db).Task(t.Context(), ids[0])
			return err == nil && task.Status == taskkit.StatusExecuting
		})
		t.Logf("%d tasks are prefetched", prefetched())
		c.SystemID = "second"
		started(t, db, registered(k, x), c)
		for _, id := range ids[1:] {
			if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Attempts > 1 {
				t.Errorf("ended in %s %q, attempts %d", task.Status, task.StatusDetail, task.Attempts)
			}
		}
		if task, err := clientOf(db).Task(t.Context(), ids[0]); err != nil || task.Status != taskkit.StatusExecuting {
			t.Errorf("the slow one: %v, %v", task, err)
		}
		close(letGo)
		ended(t, db, ids[0])
	})
}

// A task that kills its worker ends in ERROR. Tasks that run on the same workers
// complete.
func TestPoisonSparesTheOthers(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		const beside = 12
		poison := submitted(t, db, countKind, countSpec{Items: poisonous})
		var others []taskkit.ID
		for range beside {
			others = append(others, submitted(t, db, countKind, countSpec{Items: patient}))
		}
		var kills atomic.Int64
		stop := make(chan struct{})
		var workers sync.WaitGroup
		workers.Go(func() {
			for n := 0; ; n++ {
				w := launch(t, db, workerArgs{Name: "w"})
				select {
				case <-w.done:
					kills.Add(1)
				case <-stop:
					return
				}
			}
		})
		defer workers.Wait()
		defer close(stop)
		if task := ended(t, db, poison); task.Status != taskkit.StatusError {
			t.Errorf("the poison task ended in %s %q", task.Status, task.StatusDetail)
		}
		for _, id := range others {
			if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
				t.Errorf("a task beside it ended in %s %q, want COMPLETED", task.Status, task.StatusDetail)
			}
		}
		if kills.Load() < 10 {
			t.Errorf("%d workers were killed, want one for each of ten tries", kills.Load())
		}
		t.Logf("%d workers killed", kills.Load())
	})
}

// Items that make a task of the worker processes one that kills them, or one that
// takes long enough to be there when that happens.
const (
	poisonous = 666_666
	patient   = 777_777
)

// patients are the batches of patient tasks that this process executes.
var patients atomic.Int64

// poisoned does what the items above ask for, and reports whether there was any.
func poisoned(ctx context.Context, b *countBatch) (next taskkit.Next, was bool, err error) {
	switch b.Spec.Items {
	case poisonous:
		// Until others fill the other slots, or do not come.
		late := time.After(300 * time.Millisecond)
		for tick := time.Tick(time.Millisecond); patients.Load() < 3; {
			select {
			case <-tick:
				continue
			case <-late:
			case <-ctx.Done():
				return taskkit.More, true, context.Cause(ctx)
			}
			break
		}
		os.Exit(9)
	case patient:
		if b.Attempt > 3 { // from the third on it runs beside no other suspect
			return taskkit.More, true, taskkit.Permanent("beside_poison", fmt.Errorf("attempt %d", b.Attempt))
		}
		patients.Add(1)
		defer patients.Add(-1)
		b.State.Next++
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return taskkit.More, true, context.Cause(ctx)
		}
		if b.State.Next < 3 {
			return taskkit.More, true, nil
		}
		return taskkit.Done, true, nil
	}
	return taskkit.More, false, nil
}
