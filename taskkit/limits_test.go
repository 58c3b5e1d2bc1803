package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// gauge counts what executes at once, by key.
type gauge struct {
	mu      sync.Mutex
	tasks   map[string]map[taskkit.ID]bool
	highest map[string]int
}

func newGauge() *gauge {
	return &gauge{tasks: make(map[string]map[taskkit.ID]bool), highest: make(map[string]int)}
}

// enter notes that a task executes, and returns what ends that.
func (g *gauge) enter(key string, id taskkit.ID) (done func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tasks[key] == nil {
		g.tasks[key] = make(map[taskkit.ID]bool)
	}
	g.tasks[key][id] = true
	g.highest[key] = max(g.highest[key], len(g.tasks[key]))
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.tasks[key], id)
	}
}

func (g *gauge) most(key string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.highest[key]
}

// limitedBy is an executor with limits by the spec: two at once for each number of items.
type limitedBy struct {
	funcs[countSpec, countState]
	limits func(t taskkit.LimitedTask[countSpec]) map[string]int
}

func (x *limitedBy) Limits(t taskkit.LimitedTask[countSpec]) map[string]int {
	return x.limits(t)
}

// Never more tasks of a key execute at once than its limit, over several workers, and all are done.
func TestLimits(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		g := newGauge()
		k := newKind[countSpec, countState]("limits", 2)
		counts := func(ctx context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			return count(ctx, b, "w")
		}
		execute := func(ctx context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			defer g.enter(fmt.Sprintf("items %d", b.Spec.Items), b.Task)()
			defer g.enter("all", b.Task)()
			if b.Attempt == 1 && b.State.Next == 2 {
				return taskkit.More, errPlanned // it gives its permit back meanwhile
			}
			return counts(ctx, b)
		}
		x := &limitedBy{funcs[countSpec, countState]{execute: execute}, func(task taskkit.LimitedTask[countSpec]) map[string]int {
			if task.ID == (taskkit.ID{}) || task.Kind != "limits" || task.Owner != taskkit.SystemOwner || task.Queue != "default" {
				t.Errorf("limits of %+v", task)
			}
			return map[string]int{fmt.Sprintf("items %d", task.Spec.Items): 2}
		}}
		var ids []taskkit.ID
		for n := range 24 {
			ids = append(ids, submitted(t, db, k, countSpec{Items: 4 + n%3}, taskkit.WithLimit("all", 5), taskkit.WithLimit("all", 9)))
		}
		for range 3 {
			started(t, db, registered(k, x), quick(t, db))
		}
		for n, id := range ids {
			if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
				t.Errorf("task %s: %s %s", id, task.Status, task.StatusDetail)
			}
			checkTouched(t, db.DB, id, 4+n%3)
		}
		for key, most := range map[string]int{"items 4": 2, "items 5": 2, "items 6": 2, "all": 5} {
			if got := g.most(key); got > most || got == 0 {
				t.Errorf("%d tasks with the key %q at once, want 1 to %d", got, key, most)
			}
		}
		until(t, "nobody has a permit", func() bool {
			uses, err := taskops.New(clientOf(db)).Limits(t.Context(), "", 100)
			if err != nil {
				t.Fatal(err)
			}
			busy := 0
			for _, u := range uses {
				busy += int(u.Executing + u.Waiting)
			}
			return busy == 0
		})
	})
}

// Tasks that wait for a permit say so, take no slot, and can be stopped; a limit can be changed.
func TestLimitIsChanged(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("limit_set", 10)
		running, release := make(chan taskkit.ID, 10), make(chan struct{})
		c := quick(t, db)
		c.Slots = 2
		started(t, db, registered(k, &funcs[countSpec, countState]{execute: func(ctx context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			running <- b.Task
			select {
			case <-release:
			case <-ctx.Done():
			}
			return taskkit.Done, ctx.Err()
		}}), c)
		limit := taskkit.WithLimit("one", 1)
		first := submitted(t, db, k, countSpec{}, limit)
		if id := receive(t, running); id != first {
			t.Fatalf("task %s runs, want %s", id, first)
		}
		second, third, fourth := submitted(t, db, k, countSpec{}, limit), submitted(t, db, k, countSpec{}, limit), submitted(t, db, k, countSpec{}, limit)
		waiting := func(ids ...taskkit.ID) func() bool {
			return func() bool {
				for _, id := range ids {
					task, err := clientOf(db).Task(t.Context(), id)
					if err != nil {
						t.Fatal(err)
					}
					if task.Status != taskkit.StatusQueued || !strings.Contains(task.WaitingReason, `"one": at most 1 at once`) || task.Attempts != 0 {
						return false
					}
				}
				return true
			}
		}
		until(t, "the others wait for a permit", waiting(second, third, fourth))
		uses, err := taskops.New(clientOf(db)).Limits(t.Context(), "", 100)
		if err != nil || len(uses) != 1 || !reflect.DeepEqual(uses[0], taskops.LimitUse{Key: "one", AtMost: 1, Executing: 1, Waiting: 3, Tasks: []taskops.LimitTask{{Task: first, Worker: workerOf(t, db, first)}}}) {
			t.Fatalf("limits: %+v, %v", uses, err)
		}
		free := submitted(t, db, k, countSpec{}) // the other slot is free
		if id := receive(t, running); id != free {
			t.Fatalf("task %s runs, want %s, which has no limit", id, free)
		}
		if _, err := clientOf(db).Stop(t.Context(), second); err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, second); task.Status != taskkit.StatusCompleted || !task.Partial {
			t.Errorf("stopped while it waited: %+v", task)
		}
		// Its end wakes waiting tasks too. Together with the end of the first it could wake both others, in any order.
		until(t, "the end of the stopped task has woken what it can", func() bool {
			var rows int
			if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM taskkit_task_limit WHERE task_id = $1", second.String()).Scan(&rows); err != nil {
				t.Fatal(err)
			}
			return rows == 0
		})
		release <- struct{}{} // one of both
		release <- struct{}{}
		if id := receive(t, running); id != third {
			t.Fatalf("task %s runs, want %s, the first that waits", id, third)
		}
		if err := taskops.New(clientOf(db)).SetLimit(t.Context(), "one", 2, taskkit.WithActor(taskkit.SystemOwner)); err != nil {
			t.Fatal(err)
		}
		if id := receive(t, running); id != fourth {
			t.Fatalf("task %s runs, want %s", id, fourth)
		}
		uses, err = taskops.New(clientOf(db)).Limits(t.Context(), "", 100)
		if err != nil || len(uses) != 1 || len(uses[0].Tasks) != 2 || uses[0].AtMost != 2 || !uses[0].Set || uses[0].Executing != 2 || uses[0].Waiting != 0 {
			t.Errorf("limits: %+v, %v", uses, err)
		}
		close(release)
		for _, id := range []taskkit.ID{first, third, fourth, free} {
			if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
				t.Errorf("task %s: %s %s", id, task.Status, task.StatusDetail)
			}
		}
		if err := taskops.New(clientOf(db)).SetLimit(t.Context(), "one", 0); err != nil {
			t.Error(err)
		}
	})
}

func TestLimitsAreChecked(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("limit_bad", 10)
		var many []taskkit.SubmitOption
		for n := range 11 {
			many = append(many, taskkit.WithLimit(fmt.Sprint(n), 1))
		}
		for problem, opts := range map[string][]taskkit.SubmitOption{
			"at least 1 task":    {taskkit.WithLimit("key", 0)},
			"at most -1":         {taskkit.WithLimit("key", -1)},
			"up to 2147483647":   {taskkit.WithLimit("key", math.MaxInt32+1)},
			"empty":              {taskkit.WithLimit("", 1)},
			"201 bytes":          {taskkit.WithLimit(strings.Repeat("k", 201), 1)},
			"NUL":                {taskkit.WithLimit("a\x00", 1)},
			"more than 10 keys":  many,
			"cannot be replaced": {taskkit.WithLimit("key", 1), taskkit.WithCoalescing("ref")},
		} {
			_, err := taskkit.Submit(t.Context(), db.DB, k, countSpec{}, append(opts, taskkit.System(), taskkit.WithSchema(schemaOf(db)))...)
			var wrong *taskkit.OptionError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: got %v", problem, err)
			}
		}
		for key, n := range map[string]int{"": 1, "key": -1} {
			var wrong *taskkit.OptionError
			if err := taskops.New(clientOf(db)).SetLimit(t.Context(), key, n); !errors.As(err, &wrong) {
				t.Errorf("set %q to %d: got %v", key, n, err)
			}
		}
		// A wrong limit of an executor fails the task.
		x := &limitedBy{funcs[countSpec, countState]{execute: doneAtOnce}, func(taskkit.LimitedTask[countSpec]) map[string]int {
			return map[string]int{"k": 0}
		}}
		started(t, db, registered(k, x), quick(t, db))
		if task := ended(t, db, submitted(t, db, k, countSpec{})); task.Status != taskkit.StatusFailure || !strings.Contains(task.StatusDetail, "misuse") || !strings.Contains(task.StatusDetail, "method Limits") {
			t.Errorf("a wrong limit of the executor: %s %s", task.Status, task.StatusDetail)
		}
	})
}

// receive waits for a value.
func receive[T any](tb testing.TB, from <-chan T) T {
	tb.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(testdb.Patience(tb)):
		tb.Fatal("nothing came")
		panic("unreachable")
	}
}

// workerOf returns the worker of a task.
func workerOf(t *testing.T, db *testdb.DB, id taskkit.ID) string {
	t.Helper()
	task, err := clientOf(db).Task(t.Context(), id)
	if err != nil || task.Worker == "" {
		t.Fatalf("task %s has no worker: %v", id, err)
	}
	return task.Worker
}
