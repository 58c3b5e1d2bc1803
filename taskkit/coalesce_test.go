package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// A waiting task is replaced by a submission of the same reference (CER-14), and
// one that has ended is not.
func TestCoalesce(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		first := submitted(t, db, countKind, countSpec{Items: 1}, taskkit.WithCoalescing("person 7"))
		if _, err := db.ExecContext(t.Context(), "UPDATE "+table(db, "taskkit_queued_task")+" SET created_date = '2001-02-03 04:05:06.789'"); err != nil {
			t.Fatal(err)
		}
		second := submitted(t, db, countKind, countSpec{Items: 2}, taskkit.WithCoalescing("person 7"), taskkit.WithReason("again"))
		other := submitted(t, db, countKind, countSpec{Items: 3}, taskkit.WithCoalescing("person 8"))
		if second != first || other == first {
			t.Fatalf("ids %s, %s, %s: want the first two equal", first, second, other)
		}
		task, err := taskkit.Get(t.Context(), clientOf(db), countKind, first)
		if err != nil || task.Spec.Items != 2 || task.Task.Reason != "again" || task.Task.Created.Year() == 2001 {
			t.Errorf("after coalescing: %+v, %v", task, err)
		}
		started(t, db, registered(countKind, &funcs[countSpec, countState]{execute: doneAtOnce}), quick(t, db))
		ended(t, db, first)
		if third := submitted(t, db, countKind, countSpec{Items: 4}, taskkit.WithCoalescing("person 7")); third == first {
			t.Errorf("coalesced with a task that has run")
		}
	})
}

// A submission never runs with the rights of the person who submitted before,
// nor in another queue.
func TestCoalesceGrantsNoRights(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		admin, clerk := uuid.New(), uuid.New()
		reference := taskkit.WithCoalescing("person 7")
		id := submitted(t, db, countKind, countSpec{Items: 1}, reference, taskkit.OwnedBy(admin))
		for name, c := range map[string]struct {
			opts    []taskkit.SubmitOption
			differs []string
		}{
			"another owner":   {[]taskkit.SubmitOption{taskkit.OwnedBy(clerk)}, []string{"owner", "run-as"}},
			"another run-as":  {[]taskkit.SubmitOption{taskkit.OwnedBy(admin), taskkit.RunAs(clerk)}, []string{"run-as"}},
			"run as the same": {[]taskkit.SubmitOption{taskkit.OwnedBy(clerk), taskkit.RunAs(admin)}, []string{"owner"}},
			"another queue":   {[]taskkit.SubmitOption{taskkit.OwnedBy(admin), taskkit.WithQueue("night")}, []string{"queue"}},
		} {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			in := taskkit.WithSchema(schemaOf(db))
			_, err = taskkit.Submit(t.Context(), tx, countKind, countSpec{Items: 2}, append(c.opts, reference, in)...)
			differ, ok := errors.AsType[*taskkit.CoalesceError](err)
			if !ok || differ.ID != id || differ.Kind != "count" || !slices.Equal(differ.Differs, c.differs) {
				t.Errorf("%s: got %v, want a *CoalesceError of task %s with %v", name, err, id, c.differs)
			}
			says := "the " + c.differs[0] + " differs;"
			if len(c.differs) == 2 {
				says = "the owner and run-as differ;"
			}
			if !strings.Contains(fmt.Sprint(err), says) {
				t.Errorf("%s: %v, want it to say %q", name, err, says)
			}
			if _, err := taskkit.Submit(t.Context(), tx, countKind, countSpec{}, taskkit.OwnedBy(clerk), taskkit.WithReason(name), in); err != nil {
				t.Errorf("%s: the transaction is not usable afterwards: %v", name, err)
			}
			if err := tx.Commit(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		task, err := taskkit.Get(t.Context(), clientOf(db), countKind, id)
		if err != nil || task.Spec.Items != 1 || task.Task.Owner != admin || task.Task.RunAs != admin {
			t.Errorf("the waiting task became %+v, %v", task, err)
		}
	})
}

// A task that failed once and waits for its retry takes the newer spec: the older
// one is never run again, and the attempts begin anew.
func TestCoalesceReplacesRetry(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var (
			mu  sync.Mutex
			ran []string
		)
		x := &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, strconv.Itoa(b.Spec.Items)+" attempt "+strconv.Itoa(b.Attempt)+" state "+strconv.Itoa(b.State.Next))
			if b.Spec.Items == 1 {
				b.Advance(1)
				b.State.Next = 5
				if len(ran) == 1 {
					return taskkit.More, nil
				}
				return taskkit.More, taskkit.RetryAfter(errors.New("not now"), time.Hour)
			}
			return taskkit.Done, nil
		}}
		started(t, db, registered(countKind, x), quick(t, db))
		reference := taskkit.WithCoalescing("person 7")
		id := submitted(t, db, countKind, countSpec{Items: 1}, reference)
		until(t, "waits for its retry", func() bool {
			task, err := clientOf(db).Task(t.Context(), id)
			return err == nil && task.Status == taskkit.StatusQueued && task.Wait > time.Minute &&
				strings.HasPrefix(task.WaitingReason, "retry: failed_at=") && strings.HasSuffix(task.WaitingReason, " error=error")
		})
		if again := submitted(t, db, countKind, countSpec{Items: 2}, reference); again != id {
			t.Errorf("a second task was stored")
		}
		task := ended(t, db, id)
		mu.Lock()
		defer mu.Unlock()
		want := []string{"1 attempt 1 state 0", "1 attempt 1 state 5", "2 attempt 1 state 0"}
		if task.Status != taskkit.StatusCompleted || !slices.Equal(ran, want) {
			t.Errorf("ended in %s after %q, want %q", task.Status, ran, want)
		}
	})
}

// A task that is half done and continues later keeps its work: the new submission
// is stored beside it.
func TestCoalesceKeepsHalfDone(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		reference := taskkit.WithCoalescing("person 7")
		started(t, db, registered(countKind, &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			b.State.Next++
			if b.Spec.Items == 1 && b.State.Next == 1 {
				return taskkit.Later(time.Hour), nil
			}
			return taskkit.Done, nil
		}}), quick(t, db))
		half := submitted(t, db, countKind, countSpec{Items: 1}, reference)
		until(t, "continues later", func() bool {
			task, err := clientOf(db).Task(t.Context(), half)
			return err == nil && task.Status == taskkit.StatusQueued && task.Checkpoints == 1
		})
		second := submitted(t, db, countKind, countSpec{Items: 2}, reference)
		if second == half {
			t.Error("a task that is half done was replaced")
		}
		ended(t, db, second)
		task, err := taskkit.Get(t.Context(), clientOf(db), countKind, half)
		if err != nil || task.Spec.Items != 1 || task.State.Next != 1 || task.Task.Status != taskkit.StatusQueued {
			t.Errorf("the task that was half done became %+v, %v", task, err)
		}
	})
}

// A delayed submission does not postpone a task that is due.
func TestCoalesceKeepsDelayedApart(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		reference := taskkit.WithCoalescing("person 7")
		due := submitted(t, db, countKind, countSpec{Items: 1}, reference)
		delayed := submitted(t, db, countKind, countSpec{Items: 2}, reference, taskkit.WithDelay(time.Hour))
		same := submitted(t, db, countKind, countSpec{Items: 3}, reference, taskkit.WithNotBefore(time.Now().Add(48*time.Hour)))
		if due == delayed || same != delayed {
			t.Fatalf("ids %s, %s, %s: want the last two equal", due, delayed, same)
		}
		first, err := clientOf(db).Task(t.Context(), due)
		if err != nil || first.Wait > 0 {
			t.Errorf("the task that was due waits %v, %v", first.Wait, err)
		}
		if second, err := clientOf(db).Task(t.Context(), delayed); err != nil || second.Wait < 47*time.Hour {
			t.Errorf("the delayed task waits %v, %v: it must not start before its own time", second.Wait, err)
		}
		submitted(t, db, countKind, countSpec{Items: 4}, reference, taskkit.WithDelay(time.Hour))
		submitted(t, db, countKind, countSpec{Items: 5}, reference, taskkit.WithDelay(2*time.Hour))
		if second, err := clientOf(db).Task(t.Context(), delayed); err != nil || second.Wait > time.Hour {
			t.Errorf("the delayed task waits %v, %v: the shorter delay must win", second.Wait, err)
		}
	})
}

// The keys of a merged submission are checked, and held by the merged task.
func TestCoalesceKeepsKeys(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		in, reference := taskkit.WithSchema(schemaOf(db)), taskkit.WithCoalescing("person 7")
		id := submitted(t, db, countKind, countSpec{Items: 1}, reference, taskkit.WithIdempotencyKey("message 1"))
		submitted(t, db, countKind, countSpec{Items: 2}, reference, taskkit.WithIdempotencyKey("message 2"), taskkit.WithUniqueKey("u"))
		for name, opts := range map[string][]taskkit.SubmitOption{
			"first message":                      {reference, taskkit.WithIdempotencyKey("message 1")},
			"second message":                     {reference, taskkit.WithIdempotencyKey("message 2")},
			"second message without a reference": {taskkit.WithIdempotencyKey("message 2")},
			"unique key without a reference":     {taskkit.WithUniqueKey("u")},
		} {
			_, err := taskkit.Submit(t.Context(), db.DB, countKind, countSpec{Items: 3}, append(opts, in, taskkit.System())...)
			if dup, ok := errors.AsType[*taskkit.DuplicateError](err); !ok || dup.ID != id {
				t.Errorf("%s: got %v, want a *DuplicateError of task %s", name, err, id)
			}
		}
		if tasks, _, err := clientOf(db).Tasks(t.Context(), taskkit.Filter{}); err != nil || len(tasks) != 1 || tasks[0].UniqueKey != "u" {
			t.Errorf("stored %d tasks, %v", len(tasks), err)
		}
	})
}

// A merge into a paused task is reported to the caller, who may drop it.
func TestCoalesceReportsPause(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		in, reference := taskkit.WithSchema(schemaOf(db)), taskkit.WithCoalescing("person 7")
		id := submitted(t, db, countKind, countSpec{Items: 1}, reference)
		if _, err := clientOf(db).Pause(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		for _, commit := range []bool{false, true} {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := taskkit.Submit(t.Context(), tx, countKind, countSpec{Items: 2}, reference, in, taskkit.System())
			if paused, ok := errors.AsType[*taskkit.PausedError](err); !ok || paused.ID != id || got != id {
				t.Errorf("got %s, %v, want task %s and a *PausedError", got, err, id)
			}
			want, end := 1, tx.Rollback
			if commit {
				want, end = 2, tx.Commit
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			if task, err := taskkit.Get(t.Context(), clientOf(db), countKind, id); err != nil || task.Spec.Items != want {
				t.Errorf("commit %v: spec %+v, %v, want %d items", commit, task.Spec, err, want)
			}
		}
		if _, err := taskkit.Submit(t.Context(), db.DB, countKind, countSpec{Items: 3}, reference, in, taskkit.System()); err == nil {
			t.Error("without a transaction: no error")
		}
		if task, err := taskkit.Get(t.Context(), clientOf(db), countKind, id); err != nil || task.Spec.Items != 3 {
			t.Errorf("without a transaction: spec %+v, %v, want 3 items", task.Spec, err)
		}
	})
}
