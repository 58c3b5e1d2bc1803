package taskkit_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

type listSpec struct {
	Items []int `json:"items"`
}

type listBatch = taskkit.Batch[listSpec, countState]

// scanOne reads a row of one column.
func scanOne(ctx context.Context, tx taskkit.ExecQuerier, query string, to any, args ...any) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		return errors.Join(sql.ErrNoRows, rows.Err())
	}
	return rows.Scan(to)
}

// An executor that asks for batches in which it does nothing ends in FAILURE with
// the code no_progress, and keeps what its former batches committed.
func TestNoProgress(t *testing.T) {
	t.Parallel()
	// takeItems touches the next items.
	takeItems := func(ctx context.Context, b *listBatch) (taken int, err error) {
		items, _ := taskkit.Take(b, b.Spec.Items)
		if len(items) > 0 {
			err = touch(ctx, b.Tx, b.Task, items[0], items[0]+len(items), "w")
		}
		return len(items), err
	}
	for name, tc := range map[string]struct {
		execute     func(ctx context.Context, b *listBatch) (taskkit.Next, error)
		checkpoints int64
		fails       bool
	}{
		"More after Take has returned everything": {func(ctx context.Context, b *listBatch) (taskkit.Next, error) {
			_, err := takeItems(ctx, b)
			return taskkit.More, err
		}, 3, true},
		"the same with another state each time": {func(ctx context.Context, b *listBatch) (taskkit.Next, error) {
			_, err := takeItems(ctx, b)
			b.State.Next++
			return taskkit.More, err
		}, 3, true},
		"Done in the batch after the last item": {func(ctx context.Context, b *listBatch) (taskkit.Next, error) {
			taken, err := takeItems(ctx, b)
			if taken == 0 {
				return taskkit.Done, err
			}
			return taskkit.More, err
		}, 4, false},
		"other work after the list": {func(ctx context.Context, b *listBatch) (taskkit.Next, error) {
			if b.State.Next == 0 {
				taken, err := takeItems(ctx, b)
				if taken < b.Limit {
					b.State.Next = 1
				}
				return taskkit.More, err
			}
			if b.State.Next++; b.State.Next < 4 {
				return taskkit.More, nil
			}
			return taskkit.Done, nil
		}, 6, false},
		"More for ever": {func(ctx context.Context, b *listBatch) (taskkit.Next, error) {
			if b.State.Next == 0 {
				b.State.Next = 1
				return taskkit.More, touch(ctx, b.Tx, b.Task, 0, 5, "w")
			}
			return taskkit.More, nil
		}, 100, true},
		"counts for ever beyond the total": {func(ctx context.Context, b *listBatch) (taskkit.Next, error) {
			b.Total(5)
			b.Advance(b.Limit)
			if b.State.Next == 0 {
				b.State.Next = 1
				return taskkit.More, touch(ctx, b.Tx, b.Task, 0, 5, "w")
			}
			return taskkit.More, nil
		}, 101, true}, // the first three reach the total
		"the same items again": {func(ctx context.Context, b *listBatch) (taskkit.Next, error) {
			if b.State.Next == 0 {
				b.State.Next = 1
				return taskkit.More, touch(ctx, b.Tx, b.Task, 0, 5, "w")
			}
			b.Skip(3, "as_it_was")
			b.Skip(4, "as_it_was")
			return taskkit.More, nil
		}, 2, true},
		"what is processed is no longer found": {func(ctx context.Context, b *listBatch) (taskkit.Next, error) {
			b.Total(4) // an estimate
			var done int
			if err := scanOne(ctx, b.Tx, "SELECT count(*) FROM touch WHERE task = $1", &done, b.Task.String()); err != nil || done == 5 {
				return taskkit.Done, err
			}
			b.Skip(done, "touched")
			return taskkit.More, touch(ctx, b.Tx, b.Task, done, done+1, "w")
		}, 6, false},
		"Later for a while": {func(ctx context.Context, b *listBatch) (taskkit.Next, error) {
			taken, err := takeItems(ctx, b)
			if taken > 0 {
				return taskkit.More, err
			}
			if b.State.Next++; b.State.Next < 3 {
				return taskkit.Later(time.Millisecond), nil
			}
			return taskkit.Done, nil
		}, 6, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				makeTouch(t, db.DB)
				k := taskkit.NewKind(taskkind.Definition[listSpec, countState, string]{
					Name: "list", BatchSize: 2, MaxBatchSize: 2,
				})
				id := submitted(t, db, k, listSpec{Items: []int{0, 1, 2, 3, 4}})
				started(t, db, registered(k, &funcs[listSpec, countState]{execute: tc.execute}), quick(t, db))
				task := ended(t, db, id)
				switch {
				case tc.fails && (task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "no_progress: ")):
					t.Errorf("ended in %s: %s; want FAILURE with no_progress", task.Status, task.StatusDetail)
				case !tc.fails && task.Status != taskkit.StatusCompleted:
					t.Errorf("ended in %s: %s; want COMPLETED", task.Status, task.StatusDetail)
				}
				if task.Checkpoints != tc.checkpoints {
					t.Errorf("%d checkpoints, want %d", task.Checkpoints, tc.checkpoints)
				}
				checkTouched(t, db.DB, id, 5)
			})
		})
	}
}
