package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// newLedgerKind makes a kind of which tasks store what succeeded, or do not.
func newLedgerKind(name string, batch int, ledger bool) *taskkit.Kind[countSpec, countState, string] {
	return taskkit.NewKind(taskkind.Definition[countSpec, countState, string]{
		Name: name, BatchSize: batch, MaxBatchSize: batch, Ledger: ledger, Preview: true,
	})
}

// walking calls a function for each page of the numbers from 0, which are the items.
func walking(f func(ctx context.Context, b *countBatch, page []int) error) *funcs[countSpec, countState] {
	return &funcs[countSpec, countState]{execute: func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
		var page []int
		for ; b.State.Next < b.Spec.Items && len(page) < b.Limit; b.State.Next++ {
			page = append(page, b.State.Next)
		}
		if err := f(ctx, b, page); err != nil {
			return taskkit.More, err
		}
		if b.State.Next == b.Spec.Items {
			return taskkit.Done, nil
		}
		return taskkit.More, nil
	}}
}

// keysOf returns the items of a task with an outcome, in their order.
func keysOf(t *testing.T, db *testdb.DB, id taskkit.ID, o taskkit.Outcome) string {
	t.Helper()
	var keys []string
	for _, i := range listed(t, db, id, o) {
		if i.Outcome != o || i.Created.IsZero() || o == taskkit.OutcomeSucceeded && (i.Position != 0 || i.Attempt != 0) {
			t.Errorf("item %+v", i)
		}
		keys = append(keys, string(i.Key))
	}
	return strings.Join(keys, " ")
}

// pagesOf returns how many batches of a task have stored what succeeded.
func pagesOf(t *testing.T, db *testdb.DB, id taskkit.ID) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM taskkit_task_ledger WHERE task_id = $1", id.String()).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The last outcome of an item counts: within a batch, in a later one, and where a
// savepoint was undone. The counters are the same without the word ledger.
func TestLedgerOutcomes(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var r taskkit.Registry
		x := walking(func(ctx context.Context, b *countBatch, page []int) error {
			for _, n := range page {
				b.Succeed(n)
			}
			switch page[0] {
			case 0: // 0 to 9
				b.Fail(1, errPlanned)
				b.Skip(2, "")
				b.Fail(3, errPlanned)
				b.Succeed(3)
				b.Succeed(4) // again
				_ = b.Try(ctx, func() error {
					b.Succeed("undone")
					b.Succeed(1)
					b.Fail("kept", errPlanned)
					return errPlanned
				})
				return b.Try(ctx, func() error { b.Succeed("tried"); return nil })
			case 10: // what was recorded before
				b.Fail(5, errPlanned)
				b.Succeed(1)
				b.Advance(3)
			case 20: // nothing succeeds
				for _, n := range page {
					b.Skip(n, "")
				}
			}
			return nil
		})
		with, without := newLedgerKind("with", 10, true), newLedgerKind("without", 10, false)
		taskkit.Register(&r, with, x)
		taskkit.Register(&r, without, x)
		id, other := submitted(t, db, with, countSpec{Items: 35}), submitted(t, db, without, countSpec{Items: 35})
		preview := submitted(t, db, with, countSpec{Items: 35}, taskkit.WithPreview())
		started(t, db, &r, quick(t, db))
		want := taskkit.Progress{Total: -1, Done: 9 + 11 + 5, Failed: 3, Skipped: 11}
		for _, id := range []taskkit.ID{id, other, preview} {
			if task := ended(t, db, id); task.Progress != want || task.Status != taskkit.StatusCompleted {
				t.Errorf("%s %+v, want %+v: %s", task.Status, task.Progress, want, task.StatusDetail)
			}
		}
		for _, id := range []taskkit.ID{id, preview} {
			// 5 has failed since; 1 has succeeded since.
			if got, want := keysOf(t, db, id, taskkit.OutcomeSucceeded),
				`0 3 4 6 7 8 9 "tried" 10 11 12 13 14 15 16 17 18 19 1 30 31 32 33 34`; got != want {
				t.Errorf("succeeded: %s, want %s", got, want)
			}
			if got, want := keysOf(t, db, id, taskkit.OutcomeFailed), `"kept" 5`; got != want {
				t.Errorf("failed: %s, want %s", got, want)
			}
			if n := pagesOf(t, db, id); n != 3 {
				t.Errorf("%d pages, want one for each batch in which something succeeded", n)
			}
		}
		if n := pagesOf(t, db, other); n != 0 {
			t.Errorf("%d pages of a kind without the word", n)
		}
		if got := keysOf(t, db, other, taskkit.OutcomeFailed); got != `1 "kept" 5` {
			t.Errorf("failed without the word: %s", got)
		}
		for what, err := range map[string]error{
			"succeeded without the word": firstError(t, db, other, taskkit.OutcomeSucceeded),
			"unprocessed":                firstError(t, db, id, taskkit.OutcomeUnprocessed),
		} {
			if _, ok := errors.AsType[*taskkit.ItemsError](err); !ok {
				t.Errorf("%s: %v, want an ItemsError", what, err)
			}
		}
		if _, err := clientOf(db).Delete(t.Context(), id); err != nil || pagesOf(t, db, id) != 0 {
			t.Errorf("%d pages of a removed task (%v)", pagesOf(t, db, id), err)
		}
	})
}

// firstError returns the error of a list of items.
func firstError(t *testing.T, db *testdb.DB, id taskkit.ID, o taskkit.Outcome) error {
	t.Helper()
	for _, err := range clientOf(db).Items(t.Context(), id, o) {
		if err != nil {
			return err
		}
	}
	return nil
}

// A list of succeeded items that is not complete is an error, and so is one of a task
// that has recorded none. An empty one is none.
func TestLedgerIncomplete(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newLedgerKind("incomplete", 10, true)
		started(t, db, registered(k, walking(func(_ context.Context, b *countBatch, page []int) error {
			for _, n := range page {
				if b.Spec.Items == 10 {
					b.Fail(n, nil)
				} else if n < 10 {
					b.Succeed(n)
				}
			}
			b.Advance(len(page))
			return nil
		})), quick(t, db))
		none, some := submitted(t, db, k, countSpec{Items: 10}), submitted(t, db, k, countSpec{Items: 25})
		ended(t, db, none)
		ended(t, db, some)
		if got := keysOf(t, db, none, taskkit.OutcomeSucceeded); got != "" {
			t.Errorf("succeeded: %s", got)
		}
		err := firstError(t, db, some, taskkit.OutcomeSucceeded)
		if items, ok := errors.AsType[*taskkit.ItemsError](err); !ok || !strings.Contains(items.Problem, "15 of the 25") {
			t.Errorf("%v, want an ItemsError that says how many are missing", err)
		}
	})
}

// What Each undoes has not succeeded, and the items that fail have failed.
func TestLedgerOfEach(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newLedgerKind("each", 16, true)
		started(t, db, registered(k, walking(func(ctx context.Context, b *countBatch, page []int) error {
			return taskkit.Each(ctx, b, page, func(_ context.Context, part []int) error {
				for _, n := range part {
					b.Succeed(n)
				}
				if slices.Contains(part, 3) || slices.Contains(part, 20) {
					return taskkit.Permanent("bad", nil)
				}
				return nil
			})
		})), quick(t, db))
		id := submitted(t, db, k, countSpec{Items: 24})
		if p := ended(t, db, id).Progress; p.Done != 22 || p.Failed != 2 {
			t.Errorf("progress %+v", p)
		}
		if got := keysOf(t, db, id, taskkit.OutcomeSucceeded); got != "0 1 2 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 21 22 23" {
			t.Errorf("succeeded: %s", got)
		}
		if got := keysOf(t, db, id, taskkit.OutcomeFailed); got != "3 20" {
			t.Errorf("failed: %s", got)
		}
	})
}

// A batch whose list is too long is executed again with fewer items, and one that does
// not keep to b.Limit ends the task. Nothing of either is stored.
func TestLedgerTooLong(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		long := strings.Repeat("x", 990)
		var r taskkit.Registry
		keeps, ignores := newLedgerKind("keeps", 6000, true), newLedgerKind("ignores", 100, true)
		taskkit.Register(&r, keeps, walking(func(_ context.Context, b *countBatch, page []int) error {
			for _, n := range page {
				b.Succeed(fmt.Sprint(n, long))
			}
			return nil
		}))
		taskkit.Register(&r, ignores, walking(func(_ context.Context, b *countBatch, _ []int) error {
			for n := range 6000 {
				b.Succeed(fmt.Sprint(n, long))
			}
			return nil
		}))
		few, many := submitted(t, db, keeps, countSpec{Items: 6000}), submitted(t, db, ignores, countSpec{Items: 500})
		started(t, db, &r, quick(t, db))
		if task := ended(t, db, few); task.Status != taskkit.StatusCompleted || task.Progress.Done != 6000 {
			t.Errorf("%s %+v: %s", task.Status, task.Progress, task.StatusDetail)
		}
		if n := len(listed(t, db, few, taskkit.OutcomeSucceeded)); n != 6000 {
			t.Errorf("%d items succeeded, want 6000", n)
		}
		task := ended(t, db, many)
		if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "batch_too_large: ") || !strings.Contains(task.StatusDetail, "b.Limit") {
			t.Errorf("%s %q, want FAILURE with the code batch_too_large", task.Status, task.StatusDetail)
		}
		if n := pagesOf(t, db, many); n != 0 || task.Progress.Done != 0 {
			t.Errorf("%d pages and %d items of a task without a checkpoint", n, task.Progress.Done)
		}
	})
}

// A task that continues a live walk has a ledger of its own.
func TestLedgerOfContinuation(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newLedgerKind("continued", 10, true)
		started(t, db, registered(k, walking(func(_ context.Context, b *countBatch, page []int) error {
			for _, n := range page {
				b.Succeed(n)
			}
			if page[0] == 20 && b.Attempt == 1 && b.Spec.Items == 30 {
				if retry, err := clientOf(db).Task(t.Context(), b.Task); err == nil && retry.Follows == (taskkit.ID{}) {
					return taskkit.Permanent("broken", nil)
				}
			}
			return nil
		})), quick(t, db))
		first := submitted(t, db, k, countSpec{Items: 30})
		if task := ended(t, db, first); task.Status != taskkit.StatusFailure {
			t.Fatalf("%s", task.Status)
		}
		second, err := clientOf(db).Continue(t.Context(), first)
		if err != nil {
			t.Fatal(err)
		}
		ended(t, db, second)
		if a, b := keysOf(t, db, first, taskkit.OutcomeSucceeded), keysOf(t, db, second, taskkit.OutcomeSucceeded); a != "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19" || b != "20 21 22 23 24 25 26 27 28 29" {
			t.Errorf("%s; %s", a, b)
		}
	})
}

// ledgerKind is the kind of the executor that is killed in a batch.
var ledgerKind = newLedgerKind("ledgered", 100, true)

// killedInBatch is an executor that kills its process in the batches with the items 400,
// 800 and 1200 when these are tried first, whatever the size of a batch is.
func killedInBatch() *funcs[countSpec, countState] {
	return walking(func(ctx context.Context, b *countBatch, page []int) error {
		for _, n := range page {
			b.Succeed(n)
		}
		if err := touch(ctx, b.Tx, b.Task, page[0], page[len(page)-1]+1, "w"); err != nil {
			return err
		}
		if last := page[len(page)-1]; last >= 400 && last%400 < len(page) && b.Attempt == 1 {
			os.Exit(9)
		}
		return nil
	})
}

// The ledger has what the batches that committed have done, whatever becomes of workers.
func TestLedgerOfKilledWorkers(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		const n = 1250
		id := submitted(t, db, ledgerKind, countSpec{Items: n})
		defer keepAlive(t, db, workerArgs{Name: "w"})()
		if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Progress.Done != n || task.Fence < 2 {
			t.Fatalf("%s %+v, claimed %d times: %s", task.Status, task.Progress, task.Fence, task.StatusDetail)
		}
		checkTouched(t, db.DB, id, n)
		for i, item := range listed(t, db, id, taskkit.OutcomeSucceeded) {
			if item.Text() != fmt.Sprint(i) {
				t.Fatalf("item %d is %s", i, item.Text())
			}
		}
		if got := len(listed(t, db, id, taskkit.OutcomeSucceeded)); got != n {
			t.Errorf("%d items succeeded, want %d", got, n)
		}
	})
}
