package taskkit_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// familySpec says how many children a parent has.
type familySpec struct {
	Children int `json:"children"`
}

type familyState struct {
	Submitted bool `json:"submitted"`
}

type familyBatch = taskkit.Batch[familySpec, familyState]

func familyKind(name string) *taskkit.Kind[familySpec, familyState, string] {
	return taskkit.NewKind(taskkind.Definition[familySpec, familyState, string]{Name: name, BatchSize: 10, Children: true})
}

// family is a parent with children of one kind.
type family struct {
	parent *taskkit.Kind[familySpec, familyState, string]
	child  *taskkit.Kind[countSpec, countState, string]
	reg    taskkit.Registry
}

// newFamily returns a family of which each child does what execute says, and the parent
// waits for all of them.
func newFamily(name string, failure taskkit.ChildFailure, execute func(context.Context, *taskkit.Batch[countSpec, countState]) (taskkit.Next, error)) *family {
	f := &family{parent: familyKind(name), child: newKind[countSpec, countState](name+"_child", 10)}
	taskkit.Register(&f.reg, f.child, &funcs[countSpec, countState]{execute: execute})
	taskkit.Register(&f.reg, f.parent, &funcs[familySpec, familyState]{execute: f.execute(failure)})
	return f
}

// execute is the Execute of the parent.
func (f *family) execute(failure taskkit.ChildFailure) func(context.Context, *familyBatch) (taskkit.Next, error) {
	return func(ctx context.Context, b *familyBatch) (taskkit.Next, error) {
		if b.State.Submitted {
			return taskkit.Done, nil
		}
		b.State.Submitted = true
		specs := make([]countSpec, b.Spec.Children)
		for i := range specs {
			specs[i].Items = i + 1
		}
		_, err := taskkit.SubmitMany(ctx, b.Tx, f.child, specs, taskkit.WithParent(b.Task))
		return taskkit.AwaitChildren(0, failure), err
	}
}

// childrenOf lists the children of a task.
func childrenOf(tb testing.TB, db *testdb.DB, id taskkit.ID) []*taskkit.Child {
	tb.Helper()
	children, err := clientOf(db).Children(tb.Context(), id, taskkit.ID{}, 1000)
	if err != nil {
		tb.Fatal(err)
	}
	return children
}

// A parent waits for its children, sums up their progress, and goes on when they have ended.
func TestParentWaits(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		f := newFamily("waits", taskkit.FailParent, func(ctx context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			return count(ctx, b, "w")
		})
		started(t, db, &f.reg, quick(t, db))
		owner := taskkit.SystemOwner
		id := submitted(t, db, f.parent, familySpec{Children: 20})
		task := ended(t, db, id)
		if task.Status != taskkit.StatusCompleted || task.Children == nil || task.Children.Completed != 20 {
			t.Fatalf("the parent is %s %+v (%s)", task.Status, task.Children, task.StatusDetail)
		}
		if want := (taskkit.Progress{Total: 210, Done: 210}); task.Progress != want {
			t.Errorf("its progress is %+v, want the sum %+v", task.Progress, want)
		}
		for i, c := range childrenOf(t, db, id) {
			checkTouched(t, db.DB, c.ID, i+1)
			child, err := clientOf(db).Task(t.Context(), c.ID)
			if err != nil || child.Parent != id || child.Owner != owner {
				t.Errorf("the child is %+v (%v)", child, err)
			}
			if child.Stopped.After(*task.Stopped) {
				t.Errorf("child %s ended after its parent", c.ID)
			}
		}
	})
}

// A parent whose child fails does what it chose. A retry of it retries the failed children only.
func TestChildFails(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var (
			mu     sync.Mutex
			broken = true
			runs   = make(map[taskkit.ID]int)
		)
		execute := func(_ context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			mu.Lock()
			defer mu.Unlock()
			runs[b.Task]++
			if b.Spec.Items == 3 && broken {
				return taskkit.More, taskkit.Permanent("planned", errPlanned)
			}
			return taskkit.Done, nil
		}
		fail, pause, goOn := newFamily("fails", taskkit.FailParent, execute), newFamily("pauses", taskkit.PauseParent, execute), newFamily("goes_on", taskkit.ContinueParent, execute)
		for f, failure := range map[*family]taskkit.ChildFailure{pause: taskkit.PauseParent, goOn: taskkit.ContinueParent} {
			taskkit.Register(&fail.reg, f.parent, &funcs[familySpec, familyState]{execute: f.execute(failure)})
			taskkit.Register(&fail.reg, f.child, &funcs[countSpec, countState]{execute: execute})
		}
		started(t, db, &fail.reg, quick(t, db))
		c := clientOf(db)
		continued := ended(t, db, submitted(t, db, goOn.parent, familySpec{Children: 5}))
		if continued.Status != taskkit.StatusCompleted || continued.Children.Failed != 1 {
			t.Errorf("a parent that goes on ended in %s with %+v", continued.Status, continued.Children)
		}
		paused := submitted(t, db, pause.parent, familySpec{Children: 5})
		until(t, "the parent is paused", func() bool {
			task, err := c.Task(t.Context(), paused)
			return err == nil && task.Control == taskkit.ControlPause && task.Children.Open == 0
		})
		id := submitted(t, db, fail.parent, familySpec{Children: 5})
		failed := ended(t, db, id)
		if failed.Status != taskkit.StatusFailure || !strings.Contains(failed.StatusDetail, "child_failed: 1 of its children failed") {
			t.Fatalf("the parent ended in %s: %s", failed.Status, failed.StatusDetail)
		}
		mu.Lock()
		broken = false
		mu.Unlock()
		if _, err := c.Resume(t.Context(), paused); err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, paused); task.Status != taskkit.StatusCompleted || task.Children.Failed != 1 {
			t.Errorf("the resumed parent ended in %s with %+v", task.Status, task.Children)
		}
		var lone *taskkit.Child
		for _, child := range childrenOf(t, db, id) {
			if child.Status == taskkit.StatusFailure {
				lone = child
			}
		}
		var refused *taskkit.ChildError
		if _, err := c.Retry(t.Context(), lone.ID); !errors.As(err, &refused) || refused.Parent != id || refused.Reason != taskkit.ParentEnded {
			t.Errorf("the retry of a child whose parent has ended: %v", err)
		}
		if _, err := c.Retry(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Children.Completed != 5 {
			t.Errorf("the retried parent ended in %s with %+v (%s)", task.Status, task.Children, task.StatusDetail)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, child := range childrenOf(t, db, id) {
			if want := map[bool]int{true: 2, false: 1}[child.ID == lone.ID]; runs[child.ID] != want {
				t.Errorf("child %s was executed %d times, want %d", child.ID, runs[child.ID], want)
			}
		}
	})
}

// Requests on a parent reach its children; one on a child stays its own.
func TestRequestsReachChildren(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		execute := func(_ context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			b.State.Next++
			return taskkit.Later(20 * time.Millisecond), nil // until it is stopped
		}
		f := newFamily("endless", taskkit.FailParent, execute)
		started(t, db, &f.reg, quick(t, db))
		c := clientOf(db)
		begun := func(id taskkit.ID) {
			t.Helper()
			until(t, "the children run", func() bool {
				children := childrenOf(t, db, id)
				for _, child := range children {
					if task, err := c.Task(t.Context(), child.ID); err != nil || task.Checkpoints == 0 {
						return false
					}
				}
				return len(children) == 8
			})
		}
		controls := func(id taskkit.ID) map[taskkit.Control]int {
			t.Helper()
			n := make(map[taskkit.Control]int)
			for _, child := range childrenOf(t, db, id) {
				task, err := c.Task(t.Context(), child.ID)
				if err != nil {
					t.Fatal(err)
				}
				n[task.Control]++
			}
			return n
		}
		id := submitted(t, db, f.parent, familySpec{Children: 8})
		begun(id)
		own := childrenOf(t, db, id)[0].ID
		if _, err := c.Pause(t.Context(), own); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Pause(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		until(t, "all are paused", func() bool { return controls(id)[taskkit.ControlPause] == 8 })
		if _, err := c.Resume(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		until(t, "all go on but the one that a person has paused", func() bool { return controls(id)[taskkit.ControlPause] == 1 })
		alone := childrenOf(t, db, id)[1].ID
		if _, err := c.Stop(t.Context(), alone); err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, alone); !task.Partial {
			t.Errorf("the stopped child is %+v", task)
		}
		if task, err := c.Task(t.Context(), id); err != nil || task.Ended() || task.Children.Open != 7 || task.Children.Stopped != 1 {
			t.Errorf("the parent after the stop of a child: %+v (%v)", task, err)
		}
		if _, err := c.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, id); !task.Partial || task.Children.Stopped != 8 {
			t.Errorf("the stopped parent is %s, partial %t, %+v (%s)", task.Status, task.Partial, task.Children, task.StatusDetail)
		}

		gone := submitted(t, db, f.parent, familySpec{Children: 8})
		begun(gone)
		if _, err := c.Delete(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
		until(t, "all are removed", func() bool {
			_, err := c.Task(t.Context(), gone)
			return errors.Is(err, taskkit.ErrNotFound) && len(childrenOf(t, db, gone)) == 0
		})
	})
}

// Children cannot be submitted but by the batch of a parent whose kind may have some.
func TestChildOfRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		child := newKind[countSpec, countState]("lone", 10)
		parent := newKind[familySpec, familyState]("childless", 10)
		var refused error
		var reg taskkit.Registry
		taskkit.Register(&reg, parent, &funcs[familySpec, familyState]{execute: func(ctx context.Context, b *familyBatch) (taskkit.Next, error) {
			_, refused = taskkit.Submit(ctx, b.Tx, child, countSpec{}, taskkit.WithParent(b.Task))
			return taskkit.Done, nil
		}})
		careless := familyKind("careless")
		taskkit.Register(&reg, careless, &funcs[familySpec, familyState]{execute: func(ctx context.Context, b *familyBatch) (taskkit.Next, error) {
			_, err := taskkit.Submit(ctx, b.Tx, child, countSpec{}, taskkit.WithParent(b.Task))
			return taskkit.Done, err
		}})
		started(t, db, &reg, quick(t, db))
		id := submitted(t, db, parent, familySpec{})
		ended(t, db, id)
		var option *taskkit.OptionError
		if !errors.As(refused, &option) || option.Option != "WithParent" {
			t.Errorf("a child of a kind without the word: %v", refused)
		}
		_, err := taskkit.Submit(t.Context(), db.DB, child, countSpec{}, taskkit.System(), taskkit.WithParent(id), taskkit.WithSchema(schemaOf(db)))
		if option = nil; !errors.As(err, &option) || option.Option != "WithParent" {
			t.Errorf("a child outside of a batch: %v", err)
		}
		task := ended(t, db, submitted(t, db, careless, familySpec{}))
		if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "misuse: ") || task.Children != nil {
			t.Errorf("Done with a child that was just submitted: %s %s %+v", task.Status, task.StatusDetail, task.Children)
		}
	})
}

// A task whose kind has no children fails when it waits for some, instead of being executed
// for ever.
func TestAwaitChildrenOfKindWithoutChildren(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		x := &funcs[countSpec, countState]{execute: func(context.Context, *countBatch) (taskkit.Next, error) {
			return taskkit.AwaitChildren(0, taskkit.FailParent), nil
		}}
		started(t, db, registered(countKind, x), quick(t, db))
		task := ended(t, db, submitted(t, db, countKind, countSpec{}))
		if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "misuse: the executor returned AwaitChildren") {
			t.Errorf("ended in %s: %s; want FAILURE with misuse", task.Status, task.StatusDetail)
		}
	})
}

// A child that has children has their progress, in a list and in the sum of its parent.
func TestProgressOfGrandchildren(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		f := newFamily("middle", taskkit.FailParent, func(ctx context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			return count(ctx, b, "w")
		})
		top := familyKind("top")
		taskkit.Register(&f.reg, top, &funcs[familySpec, familyState]{execute: func(ctx context.Context, b *familyBatch) (taskkit.Next, error) {
			if b.State.Submitted {
				return taskkit.Done, nil
			}
			b.State.Submitted = true
			_, err := taskkit.Submit(ctx, b.Tx, f.parent, familySpec{Children: b.Spec.Children}, taskkit.WithParent(b.Task))
			return taskkit.AwaitChildren(0, taskkit.FailParent), err
		}})
		started(t, db, &f.reg, quick(t, db))
		id, want := submitted(t, db, top, familySpec{Children: 3}), taskkit.Progress{Total: 6, Done: 6}
		if task := ended(t, db, id); task.Progress != want {
			t.Errorf("the task has %+v, want %+v", task.Progress, want)
		}
		if children := childrenOf(t, db, id); len(children) != 1 || children[0].Progress != want {
			t.Errorf("the children are %+v, want one with %+v", children, want)
		}
	})
}

// Every method that reads a task has the same progress of one with children.
func TestProgressOfParent(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		release := make(chan struct{})
		f := newFamily("summed", taskkit.FailParent, func(ctx context.Context, b *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
			if b.Spec.Items == 3 {
				select {
				case <-release:
				case <-ctx.Done():
				}
			}
			return count(ctx, b, "w")
		})
		started(t, db, &f.reg, quick(t, db))
		id, c := submitted(t, db, f.parent, familySpec{Children: 3}), clientOf(db)
		check := func(when string, want taskkit.Progress) {
			task, err := c.Task(t.Context(), id)
			if err != nil || task.Progress != want {
				t.Fatalf("%s: Task has %+v, want %+v (%v)", when, task.Progress, want, err)
			}
			typed, err := taskkit.Get(t.Context(), c, f.parent, id)
			if err != nil || typed.Task.Progress != want || typed.Task.Children == nil {
				t.Errorf("%s: Get has %+v, want %+v (%v)", when, typed.Task.Progress, want, err)
			}
			list, _, err := c.Tasks(t.Context(), taskkit.Filter{IDs: []taskkit.ID{id}})
			if err != nil || len(list) != 1 || list[0].Progress != want || list[0].Children == nil {
				t.Errorf("%s: Tasks has %+v, want %+v (%v)", when, list, want, err)
			}
			p, err := c.Progress(t.Context(), id)
			if err != nil || p.Progress != want {
				t.Errorf("%s: Progress has %+v, want %+v (%v)", when, p, want, err)
			}
		}
		until(t, "two children are done", func() bool {
			n, err := c.CountChildren(t.Context(), id)
			return err == nil && n.Completed == 2
		})
		requested, err := c.Change(t.Context(), id, taskkit.Settings{Priority: taskkit.PriorityHigh})
		if err != nil || requested.Progress.Done != 3 {
			t.Errorf("a request has %+v, want 3 done (%v)", requested, err)
		}
		check("waiting", taskkit.Progress{Total: -1, Done: 3})
		close(release)
		ended(t, db, id)
		check("ended", taskkit.Progress{Total: 6, Done: 6})
	})
}

// What a batch submits by b.Tx is stored in the schema of its task.
func TestBatchSubmitsIntoItsSchema(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		const schema = "other_tasks"
		for _, s := range []string{taskkit.DefaultSchema, schema} {
			if err := taskkit.Migrate(t.Context(), db.DB, s); err != nil {
				t.Fatal(err)
			}
		}
		var f family
		f.parent, f.child = familyKind("elsewhere"), newKind[countSpec, countState]("elsewhere_child", 10)
		submits := f.execute(taskkit.FailParent)
		taskkit.Register(&f.reg, f.child, &funcs[countSpec, countState]{execute: func(context.Context, *countBatch) (taskkit.Next, error) {
			return taskkit.Done, nil
		}})
		taskkit.Register(&f.reg, f.parent, &funcs[familySpec, familyState]{execute: func(ctx context.Context, b *familyBatch) (taskkit.Next, error) {
			if b.State.Submitted {
				return taskkit.Done, nil
			}
			var option *taskkit.OptionError
			_, err := taskkit.Submit(ctx, b.Tx, f.child, countSpec{}, taskkit.System(), taskkit.WithSchema(schema))
			if !errors.As(err, &option) || option.Option != "WithSchema" {
				t.Errorf("WithSchema with b.Tx: %v", err)
			}
			if _, err := taskkit.NewClient(b.Tx, taskkit.WithSchema(schema)).Task(ctx, b.Task); !errors.As(err, &option) || option.Option != "WithSchema" {
				t.Errorf("a client of b.Tx with WithSchema: %v", err)
			}
			if _, err := taskkit.NewClient(b.Tx).Task(ctx, b.Task); err != nil {
				t.Errorf("a client of b.Tx: %v", err)
			}
			if _, err := taskkit.Submit(ctx, b.Tx, f.child, countSpec{}, taskkit.System(), taskkit.WithPredecessor(b.Task)); err != nil {
				return taskkit.More, err
			}
			return submits(ctx, b)
		}})
		config := quick(t, db)
		config.Schema = schema
		started(t, db, &f.reg, config)
		id, err := taskkit.Submit(t.Context(), db.DB, f.parent, familySpec{Children: 2}, taskkit.System(), taskkit.WithSchema(schema))
		if err != nil {
			t.Fatal(err)
		}
		c := taskkit.NewClient(db.DB, taskkit.WithSchema(schema))
		task, err := c.Wait(t.Context(), id, nil)
		if err != nil || task.Status != taskkit.StatusCompleted || task.Children == nil || task.Children.Completed != 2 {
			t.Fatalf("the parent is %+v (%v)", task, err)
		}
		followers, _, err := c.Tasks(t.Context(), taskkit.Filter{Follows: id})
		if err != nil || len(followers) != 1 {
			t.Errorf("%d other tasks were submitted into the schema, want 1 (%v)", len(followers), err)
		}
	})
}
