package taskkit_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// orphan inserts a row that a deferred constraint refuses at COMMIT.
func orphan(ctx context.Context, tx taskkit.ExecQuerier) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO child (id) VALUES (1)")
	return err
}

// makeChild creates a table with a deferred constraint.
func makeChild(t *testing.T, db *testdb.DB) {
	t.Helper()
	for _, q := range []string{
		"CREATE TABLE parent (id integer PRIMARY KEY)",
		"CREATE TABLE child (id integer REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)",
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
}

// A COMMIT that the database refuses for good ends the task with the error of the
// database, as a statement that it refuses does.
func TestRefusedCommit(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeChild(t, db)
		var tries atomic.Int32
		k := newKind[countSpec, countState]("refused", 1)
		started(t, db, registered(k, &funcs[countSpec, countState]{func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			tries.Add(1)
			return taskkit.Done, orphan(ctx, b.Tx)
		}}), quick(t, db))
		task := ended(t, db, submitted(t, db, k, countSpec{}))
		if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "database: ") ||
			!strings.Contains(strings.ToUpper(task.StatusDetail), "FOREIGN KEY") {
			t.Errorf("%s %q, want FAILURE with the error of the constraint", task.Status, task.StatusDetail)
		}
		if n := tries.Load(); n != 1 {
			t.Errorf("%d tries, want 1", n)
		}
	})
}

// A task whose Abort cannot be committed ends without it, and says why.
func TestRefusedCommitOfAbort(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeChild(t, db)
		var aborts atomic.Int32
		k := newKind[countSpec, countState]("refused", 1)
		started(t, db, registered(k, &aborting[countSpec, countState]{
			funcs: funcs[countSpec, countState]{func(context.Context, *countBatch) (taskkit.Next, error) {
				return taskkit.More, taskkit.Permanent("broken", nil)
			}},
			abort: func(ctx context.Context, b *countBatch) error {
				aborts.Add(1)
				return orphan(ctx, b.Tx)
			},
			report: func(context.Context, *countBatch) (string, error) { return "", nil },
		}), quick(t, db))
		task := ended(t, db, submitted(t, db, k, countSpec{}))
		if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "broken: ") ||
			!strings.Contains(strings.ToUpper(task.StatusDetail), "FOREIGN KEY") {
			t.Errorf("%s %q, want FAILURE with both errors", task.Status, task.StatusDetail)
		}
		if n := aborts.Load(); n != 1 {
			t.Errorf("%d calls of Abort, want 1", n)
		}
	})
}

// A task whose Abort makes it impossible to write the end in its transaction ends
// without it, after the usual number of tries.
func TestAbortThatSpoilsTheEnd(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	migrated(t, db)
	var aborts atomic.Int32
	k := newKind[countSpec, countState]("readonly", 1)
	started(t, db, registered(k, &aborting[countSpec, countState]{
		funcs: funcs[countSpec, countState]{func(context.Context, *countBatch) (taskkit.Next, error) {
			return taskkit.More, taskkit.Permanent("broken", nil)
		}},
		abort: func(ctx context.Context, b *countBatch) error {
			aborts.Add(1)
			_, err := b.Tx.ExecContext(ctx, "SET TRANSACTION READ ONLY")
			return err
		},
		report: func(context.Context, *countBatch) (string, error) { return "", nil },
	}), quick(t, db))
	task := ended(t, db, submitted(t, db, k, countSpec{}))
	if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "broken: ") {
		t.Errorf("%s %q, want FAILURE", task.Status, task.StatusDetail)
	}
	if n := aborts.Load(); n != 3 {
		t.Errorf("%d calls of Abort, want 3", n)
	}
}
