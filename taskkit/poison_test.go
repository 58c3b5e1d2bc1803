package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// namesSpec lists items. One whose name begins with "poison" kills its worker.
type namesSpec struct {
	Names []string `json:"names"`
}

type namesBatch = taskkit.Batch[namesSpec, countState]

// The kinds of the worker processes whose items may kill them.
var (
	skippingKind = taskkit.NewKind(taskkind.Definition[namesSpec, countState, string]{
		Name: "skipping", BatchSize: 4, SkipPoison: true,
	})
	// From here halving does not reach 1 within the attempts of a worker.
	skippingOf1024 = taskkit.NewKind(taskkind.Definition[namesSpec, countState, string]{
		Name: "skipping_of_1024", BatchSize: 1024, SkipPoison: true,
	})
	skippingOf100 = taskkit.NewKind(taskkind.Definition[namesSpec, countState, string]{
		Name: "skipping_of_100", BatchSize: 100, SkipPoison: true,
	})
	skippingOver = taskkit.NewKind(taskkind.Definition[namesSpec, countState, string]{
		Name: "skipping_over", BatchSize: 4, SkipPoison: true,
		Targets: taskkind.TargetsIn("names", func(s *namesSpec) *[]string { return &s.Names }),
	})
	failingKind = taskkit.NewKind(taskkind.Definition[namesSpec, countState, string]{Name: "failing", BatchSize: 4})
)

// killedByItems is the executor of all. It touches its items.
func killedByItems() *funcs[namesSpec, countState] {
	return &funcs[namesSpec, countState]{execute: func(ctx context.Context, b *namesBatch) (taskkit.Next, error) {
		names, next := taskkit.Take(b, b.Spec.Names)
		for _, name := range names {
			switch {
			case strings.HasPrefix(name, "poison"), strings.HasPrefix(name, "unlucky") && b.Attempt == 4:
				os.Exit(9)
			case strings.HasPrefix(name, "unlucky") && b.Attempt < 4:
				return taskkit.More, errPlanned
			}
			at := slices.Index(b.Spec.Names, name)
			if n, err := strconv.Atoi(name); err == nil {
				at = n
			}
			if err := touch(ctx, b.Tx, b.Task, at, at+1, "w"); err != nil {
				return taskkit.More, err
			}
		}
		return next, nil
	}}
}

// keepAlive runs one worker process at a time until end is called, and starts
// another when one has died.
func keepAlive(t *testing.T, db *testdb.DB, a workerArgs) (end func()) {
	t.Helper()
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			w := launch(t, db, a)
			select {
			case <-w.done:
			case <-stop:
				return
			}
		}
	})
	return func() { close(stop); running.Wait() }
}

// An item that kills its worker, alone in its batch too, is recorded as failed if
// the kind allows that, and the task continues: at the first item, in the middle and
// at the last.
func TestPoisonItemIsSkipped(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		names := []string{"poison 1", "a", "b", "poison 2"}
		id := submitted(t, db, skippingKind, namesSpec{Names: names})
		defer keepAlive(t, db, workerArgs{Name: "w"})()
		task := ended(t, db, id)
		if task.Status != taskkit.StatusCompleted {
			t.Fatalf("ended in %s: %s", task.Status, task.StatusDetail)
		}
		if want := (taskkit.Progress{Total: 4, Done: 2, Failed: 2}); task.Progress != want {
			t.Errorf("progress %+v, want %+v", task.Progress, want)
		}
		failed := listed(t, db, id, taskkit.OutcomeFailed)
		if len(failed) != 2 {
			t.Fatalf("failed items %+v, want two", failed)
		}
		for i, item := range []string{"poison 1", "poison 2"} {
			if f := failed[i]; f.Text() != item || f.Code != "poison" || f.Position != int64(1+3*i) {
				t.Errorf("failed item %+v, want %q with the code poison", f, item)
			}
		}
		var touches, items int
		if err := db.QueryRowContext(t.Context(), `SELECT count(*), count(DISTINCT item) FROM touch WHERE item IN (1, 2)`).Scan(&touches, &items); err != nil {
			t.Fatal(err)
		}
		if touches != 2 || items != 2 {
			t.Errorf("%d touches of %d of the other items, want 2 of 2", touches, items)
		}
	})
}

// The poison item of a large batch is found within the attempts of the worker: the
// items before and behind it are done once, and those behind it in large batches.
func TestPoisonItemOfLargeBatchIsSkipped(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind            *taskkit.Kind[namesSpec, countState, string]
		items, at, most int
	}{{skippingOf1024, 1200, 300, 10}, {skippingOf100, 120, 41, 5}} {
		t.Run(tc.kind.Name(), func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				makeTouch(t, db.DB)
				names := make([]string, tc.items)
				for i := range names {
					names[i] = fmt.Sprint("item ", i)
				}
				names[tc.at] = "poison"
				id := submitted(t, db, tc.kind, namesSpec{Names: names})
				defer keepAlive(t, db, workerArgs{Name: "w", MaxAttempts: tc.most})()
				task := ended(t, db, id)
				want := taskkit.Progress{Total: int64(tc.items), Done: int64(tc.items - 1), Failed: 1}
				if task.Status != taskkit.StatusCompleted || task.Progress != want {
					t.Fatalf("ended in %s with %+v (%s), want COMPLETED with %+v", task.Status, task.Progress, task.StatusDetail, want)
				}
				failed := listed(t, db, id, taskkit.OutcomeFailed)
				if len(failed) != 1 || failed[0].Text() != "poison" || failed[0].Code != "poison" || failed[0].Position != int64(tc.at)+1 {
					t.Errorf("failed items %+v, want the poison item with the code poison", failed)
				}
				var touches, items int
				if err := db.QueryRowContext(t.Context(), `SELECT count(*), count(DISTINCT item) FROM touch`).Scan(&touches, &items); err != nil {
					t.Fatal(err)
				}
				if touches != tc.items-1 || items != tc.items-1 {
					t.Errorf("%d touches of %d items, want each of %d once", touches, items, tc.items-1)
				}
				if behind := int64(tc.items - tc.at); task.Checkpoints >= int64(tc.at)+behind/2 {
					t.Errorf("%d checkpoints: the %d items behind the poison item were not done in larger batches", task.Checkpoints, behind)
				}
			})
		})
	}
}

// An item that failed with errors is not taken for poison when its worker is then
// lost once.
func TestItemWithErrorsIsNotPoison(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		id := submitted(t, db, skippingKind, namesSpec{Names: []string{"unlucky", "a"}})
		defer keepAlive(t, db, workerArgs{Name: "w"})()
		task := ended(t, db, id)
		if want := (taskkit.Progress{Total: 2, Done: 2}); task.Status != taskkit.StatusCompleted || task.Progress != want {
			t.Errorf("ended in %s with %+v (%s), want COMPLETED with %+v", task.Status, task.Progress, task.StatusDetail, want)
		}
	})
}

// Errors before an operator's retry are not among the attempts after it: the item is
// skipped when it has killed its worker as often as one without errors.
func TestErrorsBeforeARetryDoNotCount(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		id := submitted(t, db, skippingKind, namesSpec{Names: []string{"poison", "a"}})
		const errs = 3
		c := quick(t, db)
		c.MaxAttempts = errs
		stop := started(t, db, registered(skippingKind, &funcs[namesSpec, countState]{execute: func(context.Context, *namesBatch) (taskkit.Next, error) {
			return taskkit.More, errPlanned
		}}), c)
		if task := ended(t, db, id); task.Status != taskkit.StatusFailure {
			t.Fatalf("ended in %s: %s; want FAILURE", task.Status, task.StatusDetail)
		}
		stop()
		if attempts, err := clientOf(db).Attempts(t.Context(), id, 10); err != nil || len(attempts) != errs {
			t.Fatalf("failed attempts %+v (%v), want %d", attempts, err, errs)
		}
		if _, err := clientOf(db).Retry(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		// It is skipped at the fourth claim; with one attempt more it would be a crash loop.
		defer keepAlive(t, db, workerArgs{Name: "w", MaxAttempts: 4})()
		task := ended(t, db, id)
		if want := (taskkit.Progress{Total: 2, Done: 1, Failed: 1}); task.Status != taskkit.StatusCompleted || task.Progress != want {
			t.Errorf("ended in %s with %+v (%s), want COMPLETED with %+v", task.Status, task.Progress, task.StatusDetail, want)
		}
		if failed := listed(t, db, id, taskkit.OutcomeFailed); len(failed) != 1 || failed[0].Text() != "poison" || failed[0].Code != "poison" {
			t.Errorf("failed items %+v, want the poison item with the code poison", failed)
		}
	})
}

// The end of a task whose worker is lost in its last attempt tells errors from losses.
func TestCrashLoopAfterErrors(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		id := submitted(t, db, failingKind, namesSpec{Names: []string{"unlucky"}})
		defer keepAlive(t, db, workerArgs{Name: "w", MaxAttempts: 4})()
		task := ended(t, db, id)
		const want = "crash_loop: tried 4 times without a checkpoint (errors: 3, lost workers: 1): "
		if task.Status != taskkit.StatusError || !strings.HasPrefix(task.StatusDetail, want) {
			t.Errorf("ended in %s: %s; want ERROR with %q", task.Status, task.StatusDetail, want)
		}
	})
}

// Where the kind does not allow that, the task ends in ERROR, which says where, and
// an operator's retry can skip the item.
func TestPoisonItemIsNamed(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		id := submitted(t, db, failingKind, namesSpec{Names: []string{"a", "b", "c", "d", "e", "poison", "f"}})
		defer keepAlive(t, db, workerArgs{Name: "w", MaxAttempts: 4})()
		task := ended(t, db, id)
		if task.Status != taskkit.StatusError || !strings.HasPrefix(task.StatusDetail, "crash_loop: ") || !strings.Contains(task.StatusDetail, "at position 6 of 7") {
			t.Errorf("ended in %s: %s; want ERROR with crash_loop at position 6 of 7", task.Status, task.StatusDetail)
		}

		if _, err := clientOf(db).Retry(t.Context(), id, taskkit.WithSkip()); err != nil {
			t.Fatal(err)
		}
		if task = ended(t, db, id); task.Status != taskkit.StatusCompleted {
			t.Errorf("after a retry that skips: %s: %s; want COMPLETED", task.Status, task.StatusDetail)
		}
		if want := (taskkit.Progress{Total: 7, Done: 6, Failed: 1}); task.Progress != want {
			t.Errorf("progress %+v, want %+v", task.Progress, want)
		}
		failed := listed(t, db, id, taskkit.OutcomeFailed)
		if len(failed) != 1 || failed[0].Text() != "position 6" || failed[0].Code != "skipped" || failed[0].Position != 6 {
			t.Errorf("failed items %+v, want position 6 with the code skipped", failed)
		}
	})
}

// A retry skips nothing where there is nothing to skip, and then does nothing.
func TestRetryThatCannotSkip(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		id := submitted(t, db, countKind, countSpec{Items: 3})
		x := &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			if b.State.Next++; b.State.Next == 2 {
				return taskkit.More, taskkit.Permanent("planned", errPlanned)
			}
			return taskkit.More, nil
		}}
		started(t, db, registered(countKind, x), quick(t, db))
		ended(t, db, id)
		for name, request := range map[string]func() (*taskkit.Task, error){
			"without Take": func() (*taskkit.Task, error) { return clientOf(db).Retry(t.Context(), id, taskkit.WithSkip()) },
			"another request": func() (*taskkit.Task, error) {
				return clientOf(db).Stop(t.Context(), id, taskkit.WithSkip())
			},
			"in a transaction that is committed all the same": func() (*taskkit.Task, error) {
				tx, err := db.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				task, refused := taskkit.NewClient(tx, taskkit.WithSchema(schemaOf(db))).Retry(t.Context(), id, taskkit.WithSkip())
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
				return task, refused
			},
		} {
			if _, err := request(); !isOptionError(err) {
				t.Errorf("%s: %v, want an OptionError", name, err)
			}
		}
		if events, err := clientOf(db).Events(t.Context(), id, 10); err != nil || len(events) != 0 {
			t.Errorf("%d requests are recorded, want none (%v)", len(events), err)
		}
		if task, err := clientOf(db).Task(t.Context(), id); err != nil || task.Status != taskkit.StatusFailure || task.Progress.Failed != 0 {
			t.Errorf("the task is now %+v (%v)", task, err)
		}
	})
}

func isOptionError(err error) bool {
	_, ok := errors.AsType[*taskkit.OptionError](err)
	return ok
}
