package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
)

// recorder is an observer that keeps all events.
type recorder struct {
	mu     sync.Mutex
	events []taskevent.Event
}

// Observe implements [taskevent.Observer].
func (r *recorder) Observe(_ context.Context, e taskevent.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// all returns the events so far.
func (r *recorder) all() []taskevent.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// of returns the events of a task so far, by fence and then in their order.
func (r *recorder) of(id taskkit.ID) []taskevent.Event {
	var found []taskevent.Event
	for _, e := range r.all() {
		if ref, ok := taskOf(e); ok && ref.Task == id {
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b taskevent.Event) int {
		ta, _ := taskOf(a)
		tb, _ := taskOf(b)
		return int(ta.Fence - tb.Fence)
	})
	return found
}

// taskOf returns the task of an event, if it has one.
func taskOf(e taskevent.Event) (taskevent.TaskRef, bool) {
	f := reflect.ValueOf(e).FieldByName("TaskRef")
	if !f.IsValid() {
		return taskevent.TaskRef{}, false
	}
	return f.Interface().(taskevent.TaskRef), true //nolint:forcetypeassert,errcheck // the field has that type
}

// describe writes an event of a task without what differs from run to run.
func describe(e taskevent.Event) string {
	switch e := e.(type) {
	case taskevent.TaskClaimed:
		return fmt.Sprintf("claimed: fence %d, attempt %d, queue %s", e.Fence, e.Attempt, e.Queue)
	case taskevent.BatchDone:
		return fmt.Sprintf("batch: limit %d, %d done, %d failed, %d skipped, code %q", e.Limit, e.Done, e.Failed, e.Skipped, e.Code)
	case taskevent.TaskRetried:
		return fmt.Sprintf("retried: attempt %d, code %s, detail %s", e.Attempt, e.Code, e.Detail)
	case taskevent.CheckpointWritten:
		return fmt.Sprintf("checkpoint %d: %+v", e.Checkpoint, e.Progress)
	case taskevent.TaskEnded:
		return fmt.Sprintf("ended: %s after checkpoint %d, code %q: %+v", e.Status, e.Checkpoint, e.Code, e.Progress)
	case taskevent.TaskReleased:
		return "released: " + e.Reason
	default:
		return fmt.Sprintf("%T", e)
	}
}

// observed runs a task of four items, in batches of two, to its end and returns
// its events.
func observed(t *testing.T, db *testdb.DB, execute func(ctx context.Context, b *countBatch) (taskkit.Next, error)) (*recorder, []string) {
	t.Helper()
	makeTouch(t, db.DB)
	k := newKind[countSpec, countState]("observed", 2)
	id := submitted(t, db, k, countSpec{Items: 4})
	c := quick(t, db)
	r := &recorder{}
	c.Observer = r
	c.BatchTarget = time.Hour // the limit stays as it is: no batch is large enough to raise it
	stop := started(t, db, registered(k, &funcs[countSpec, countState]{execute: execute}), c)
	ended(t, db, id)
	stop()
	var got []string
	for _, e := range r.of(id) {
		got = append(got, describe(e))
	}
	return r, got
}

// twoItems does the next two of four items, the fourth of which fails.
func twoItems(b *countBatch) taskkit.Next {
	b.State.Next += 2
	b.Advance(2)
	if b.State.Next < 4 {
		return taskkit.More
	}
	b.Fail("the fourth", nil)
	return taskkit.Done
}

// An observer sees what happens to a task, in order and with its counters.
func TestObserverSeesTaskInOrder(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		r, got := observed(t, db, func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			if b.State.Next == 0 && b.Attempt == 1 {
				return taskkit.More, errPlanned
			}
			return twoItems(b), nil
		})
		want := []string{
			"claimed: fence 1, attempt 1, queue default",
			`batch: limit 2, 0 done, 0 failed, 0 skipped, code "error"`,
			"retried: attempt 1, code error, detail " + errPlanned.Error(),
			"claimed: fence 2, attempt 2, queue default",
			`batch: limit 1, 2 done, 0 failed, 0 skipped, code ""`,
			"checkpoint 1: {Total:-1 Done:2 Failed:0 Skipped:0}",
			`batch: limit 2, 1 done, 1 failed, 0 skipped, code ""`,
			"checkpoint 2: {Total:-1 Done:3 Failed:1 Skipped:0}",
			`ended: COMPLETED after checkpoint 2, code "": {Total:-1 Done:3 Failed:1 Skipped:0}`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("events:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		all := r.all()
		first, last := all[0], all[len(all)-1]
		if e, ok := first.(taskevent.WorkerStarted); !ok || e.Slots != 4 || e.Worker == "" {
			t.Errorf("the first event is %#v, want WorkerStarted", first)
		}
		if e, ok := last.(taskevent.WorkerEnded); !ok || e.Err != nil {
			t.Errorf("the last event is %#v, want WorkerEnded", last)
		}
	})
}

// The end of a task that fails has the counters of its last checkpoint.
func TestObserverSeesCountersOfFailure(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		_, got := observed(t, db, func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			if b.State.Next == 2 {
				return taskkit.More, taskkit.Permanent("no_such_item", errors.New("it is gone"))
			}
			return twoItems(b), nil
		})
		want := `ended: FAILURE after checkpoint 1, code "no_such_item": {Total:-1 Done:2 Failed:0 Skipped:0}`
		if len(got) == 0 || got[len(got)-1] != want {
			t.Errorf("events:\n%s\nwant as the last:\n%s", strings.Join(got, "\n"), want)
		}
	})
}

// The worker that takes over the task of a killed one reports that.
func TestObserverSeesTakeover(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		dir := t.TempDir()
		touchFile(t, dir, "hold-first")
		id := submitted(t, db, countKind, countSpec{Items: 5000})
		first := launch(t, db, workerArgs{Name: "first", Dir: dir, BeforeTx: true, LeftToReaper: true})
		until(t, "first is inside a batch", func() bool { return exists(dir, "held-first") })
		if err := first.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-first.done

		c, r := quick(t, db), &recorder{}
		c.Observer = r
		stop := started(t, db, registered(countKind, counting("second")), c)
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
			t.Errorf("ended in %s %q", task.Status, task.StatusDetail)
		}
		stop()
		var released, claimed bool
		for _, e := range r.all() {
			switch e := e.(type) {
			case taskevent.TasksTakenOver:
				released = released || slices.Contains(e.Tasks, id) && len(e.Dead) == 1 && strings.HasPrefix(e.Dead[0], "first-")
			case taskevent.TaskClaimed:
				claimed = claimed || e.Task == id && e.Fence == 2 && e.TakenOver
			}
		}
		if !released || !claimed {
			t.Errorf("released %t, claimed %t, want both; events: %+v", released, claimed, r.all())
		}
	})
}

// panicking is an observer that always panics.
type panicking struct{}

// Observe implements [taskevent.Observer].
func (panicking) Observe(context.Context, taskevent.Event) { panic("an observer of the user's") }

// An observer that panics harms nothing, and the log says so once.
func TestObserverPanicIsContained(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		id := submitted(t, db, countKind, countSpec{Items: 1234})
		c, log := quick(t, db), &heard{}
		c.Observer, c.Logger = panicking{}, slog.New(slog.NewTextHandler(log, nil))
		stop := started(t, db, registered(countKind, counting("w")), c)
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Fence != 1 {
			t.Errorf("ended in %s %q under fence %d", task.Status, task.StatusDetail, task.Fence)
		}
		stop()
		checkTouched(t, db.DB, id, 1234)
		if n := strings.Count(log.String(), "the observer panicked"); n != 1 {
			t.Errorf("%d lines about the panic, want 1:\n%s", n, log)
		}
	})
}
