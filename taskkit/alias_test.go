package taskkit_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/taskops"
)

// renamed is the kind of oldKind under another name; its revisions continue.
func renamed() *taskkit.Kind[newSpec, newState, string] {
	return taskkit.NewKind(taskkind.Definition[newSpec, newState, string]{
		Name: "renamed", Aliases: []string{"moved"}, Revision: 2, Upgrades: []taskkind.Upgrade{upgradeOld},
	})
}

// A renamed kind runs and reads the tasks of its former name at every revision, and
// the database has both names for its workers.
func TestAlias(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		c, k := clientOf(db), renamed()
		former := submitted(t, db, oldKind(), oldSpec{Items: 2})
		later := submitted(t, db, newer(2), newSpec{Count: 2}) // under the former name, at the present revision
		present := submitted(t, db, k, newSpec{Count: 2})
		started(t, db, newWork(k), quick(t, db))
		for id, name := range map[taskkit.ID]string{former: "moved", later: "moved", present: "renamed"} {
			if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Kind != name {
				t.Errorf("a task of %s ended in %s %q as %s", name, task.Status, task.StatusDetail, task.Kind)
			}
			got, err := taskkit.Get(t.Context(), c, k, id)
			if err != nil || got.Spec.Count != 2 || got.State.At != 2 || got.Result == nil {
				t.Errorf("a task of %s is read as %+v, %v", name, got, err)
			}
		}
		workers, err := taskops.New(c).Workers(t.Context())
		if err != nil || len(workers) != 1 {
			t.Fatalf("workers: %+v, %v", workers, err)
		}
		for _, name := range []string{"moved", "renamed"} {
			if reads := workers[0].Kinds[name]; !slices.Equal(reads, []int{1, 2}) {
				t.Errorf("the worker reads %v of %s, want 1 and 2", reads, name)
			}
		}
	})
}

// A waiting task of a former name that is stopped is ended by a worker that knows the
// alias, with its result, and not as a task of an unknown kind.
func TestAliasStop(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		c, k := clientOf(db), renamed()
		id := submitted(t, db, newer(2), newSpec{Count: 2})
		work := registered(k, &aborting[newSpec, newState]{
			funcs: funcs[newSpec, newState]{execute: func(_ context.Context, b *taskkit.Batch[newSpec, newState]) (taskkit.Next, error) {
				b.State.At++
				return taskkit.Later(time.Hour), nil
			}},
			abort: func(context.Context, *taskkit.Batch[newSpec, newState]) error { return nil },
			report: func(_ context.Context, b *taskkit.Batch[newSpec, newState]) (string, error) {
				return fmt.Sprint("stopped at ", b.State.At), nil
			},
		})
		started(t, db, work, quick(t, db))
		until(t, "the task waits for its hour", func() bool {
			task, err := c.Task(t.Context(), id)
			return err == nil && task.Status == taskkit.StatusQueued && task.Checkpoints == 1
		})
		if _, err := c.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if task := ended(t, db, id); !task.Partial {
			t.Errorf("ended in %s %q", task.Status, task.StatusDetail)
		}
		if result, err := taskkit.Fetch(t.Context(), c, k, id); err != nil || result != "stopped at 1" {
			t.Errorf("result %q, %v", result, err)
		}
	})
}
