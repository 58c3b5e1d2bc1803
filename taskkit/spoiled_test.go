package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	entsql "entgo.io/ent/dialect/sql"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

const wrongStatement = "INSERT INTO no_such_table VALUES (1)"

// failingRows is a query whose second row fails, with an error of [rowsFail].
func failingRows(b *countBatch) string {
	if b.EntDriver().Dialect() == string(dialect.SQLite) {
		return "SELECT abs(column1) FROM (VALUES (1), (-9223372036854775808))"
	}
	return "SELECT v + 1 FROM (VALUES (1), (2147483647)) AS x(v)"
}

// rowsFail is a part of the error of [failingRows] that both databases have in
// common.
const rowsFail = "integer o" // overflow, out of range

// readHalf reads [failingRows] and does not check rows.Err.
func readHalf(ctx context.Context, b *countBatch) error {
	rows, err := b.Tx.QueryContext(ctx, failingRows(b)) //nolint:rowserrcheck // that is the fault
	if err != nil {
		return taskkit.Permanent("failed_at_once", err)
	}
	defer rows.Close()
	for rows.Next() {
	}
	return nil
}

// leaveOpen reads the first row of a query and does not close it.
func leaveOpen(ctx context.Context, b *countBatch) error {
	rows, err := b.Tx.QueryContext(ctx, "SELECT 1 UNION ALL SELECT 2") //nolint:rowserrcheck,sqlclosecheck // that is the fault
	if err == nil {
		rows.Next()
	}
	return err
}

// A statement that failed is never ignored: the batch ends permanently, with that
// statement's error, and nothing of it is committed; the same on both databases.
func TestStatementFailuresAreNotIgnored(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// execute gets an error of the statement that failed and continues.
		execute func(ctx context.Context, b *countBatch) (taskkit.Next, error)
		code    string // "" when the task is to complete
		detail  string
	}{
		"ignored at once": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			_, _ = b.Tx.ExecContext(ctx, wrongStatement)
			return taskkit.Done, nil
		}, "spoiled_transaction", "no_such_table"},
		"ignored after work": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			next, err := count(ctx, b, "w")
			_, _ = b.Tx.ExecContext(ctx, wrongStatement)
			return next, err
		}, "spoiled_transaction", "no_such_table"},
		"query": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			if rows, err := b.Tx.QueryContext(ctx, "SELECT no_such_column"); err == nil {
				defer rows.Close()
				return taskkit.More, taskkit.Permanent("no_error", rows.Err())
			}
			return taskkit.Done, nil
		}, "spoiled_transaction", "no_such_column"},
		"later statements are refused": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			_, _ = b.Tx.ExecContext(ctx, wrongStatement)
			_, err := b.Tx.ExecContext(ctx, "SELECT 1")
			if err == nil || !strings.Contains(err.Error(), "b.Try") {
				return taskkit.More, taskkit.Permanent("not_refused", err)
			}
			return taskkit.More, err
		}, "database", "no_such_table"},
		"rows": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			next, err := count(ctx, b, "w")
			if err != nil {
				return next, err
			}
			return next, readHalf(ctx, b)
		}, "spoiled_transaction", rowsFail},
		"rows of ent": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			var rows entsql.Rows
			if err := b.EntDriver().Query(ctx, failingRows(b), []any{}, &rows); err != nil {
				return taskkit.More, taskkit.Permanent("failed_at_once", err)
			}
			for rows.Next() {
			}
			return taskkit.Done, rows.Close()
		}, "spoiled_transaction", rowsFail},
		"statements after rows are refused": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			if err := readHalf(ctx, b); err != nil {
				return taskkit.More, err
			}
			_, err := b.Tx.ExecContext(ctx, "SELECT 1")
			if err == nil || !strings.Contains(err.Error(), "b.Try") {
				return taskkit.More, taskkit.Permanent("not_refused", err)
			}
			return taskkit.More, err
		}, "database", rowsFail},
		"rows in Try": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			err := b.Try(ctx, func() error { return readHalf(ctx, b) })
			if err == nil || !strings.Contains(err.Error(), rowsFail) {
				return taskkit.More, taskkit.Permanent("not_reported", err)
			}
			return count(ctx, b, "w")
		}, "", ""},
		"rows after a savepoint by hand": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			if _, err := b.Tx.ExecContext(ctx, "SAVEPOINT mine"); err != nil {
				return taskkit.More, err
			}
			if err := readHalf(ctx, b); err != nil {
				return taskkit.More, err
			}
			if _, err := b.Tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT mine"); err != nil {
				return taskkit.More, err
			}
			return count(ctx, b, "w")
		}, "", ""},
		"rows that are not read to their end": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			for range 3 {
				ctx, cancel := context.WithCancel(ctx)
				rows, err := b.Tx.QueryContext(ctx, "SELECT 1 UNION ALL SELECT 2") //nolint:rowserrcheck // only its first row is read
				if err != nil {
					cancel()
					return taskkit.More, err
				}
				rows.Next()
				err = rows.Close() //nolint:sqlclosecheck // at once, before its context ends
				cancel()
				if err != nil {
					return taskkit.More, err
				}
			}
			return count(ctx, b, "w")
		}, "", ""},
		"in Try": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			err := b.Try(ctx, func() error {
				_, err := b.Tx.ExecContext(ctx, wrongStatement)
				return err
			})
			if err == nil {
				return taskkit.More, taskkit.Permanent("not_reported", errors.New("Try returned nil"))
			}
			return count(ctx, b, "w")
		}, "", ""},
		"ignored in Try": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			err := b.Try(ctx, func() error {
				_, _ = b.Tx.ExecContext(ctx, wrongStatement)
				return nil
			})
			if err == nil || !strings.Contains(err.Error(), "no_such_table") {
				return taskkit.More, taskkit.Permanent("not_reported", err)
			}
			return count(ctx, b, "w")
		}, "", ""},
		"savepoint by hand": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			if _, err := b.Tx.ExecContext(ctx, "SAVEPOINT mine"); err != nil {
				return taskkit.More, err
			}
			_, _ = b.Tx.ExecContext(ctx, wrongStatement)
			if _, err := b.Tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT mine"); err != nil {
				return taskkit.More, err
			}
			return count(ctx, b, "w")
		}, "", ""},
		"its error formatted with %v": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			_, err := b.Tx.ExecContext(ctx, wrongStatement)
			return taskkit.More, fmt.Errorf("insert: %v", err) //nolint:errorlint // that is the fault
		}, "database", "insert: "},
		"its error formatted with %v, of rows": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			if err := readHalf(ctx, b); err != nil {
				return taskkit.More, err
			}
			return taskkit.More, errors.New("read half")
		}, "database", "read half"},
		"a mark counts": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			_, err := b.Tx.ExecContext(ctx, wrongStatement)
			return taskkit.More, taskkit.Permanent("mine", fmt.Errorf("insert: %v", err)) //nolint:errorlint // that is the fault
		}, "mine", "no_such_table"},
		"rows left open": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			next, err := count(ctx, b, "w")
			return next, errors.Join(err, leaveOpen(ctx, b))
		}, "misuse", "SELECT 1 UNION ALL SELECT 2"},
		"rows of ent left open": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			next, err := count(ctx, b, "w")
			var rows entsql.Rows
			return next, errors.Join(err, b.EntDriver().Query(ctx, "SELECT 1 UNION ALL SELECT 2", []any{}, &rows))
		}, "misuse", "SELECT 1 UNION ALL SELECT 2"},
		"rows left open before a statement": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			if err := leaveOpen(ctx, b); err != nil {
				return taskkit.More, err
			}
			return count(ctx, b, "w")
		}, "misuse", "SELECT 1 UNION ALL SELECT 2"},
		"rows left open in Try": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			_ = b.Try(ctx, func() error { return leaveOpen(ctx, b) })
			return count(ctx, b, "w")
		}, "misuse", "SELECT 1 UNION ALL SELECT 2"},
		"rows left open by a failed Try": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			_ = b.Try(ctx, func() error { return errors.Join(errPlanned, leaveOpen(ctx, b)) })
			return taskkit.Done, nil
		}, "misuse", "SELECT 1 UNION ALL SELECT 2"},
		"commit": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			_, err := b.Tx.ExecContext(ctx, "COMMIT")
			return taskkit.More, err
		}, "misuse", "run COMMIT on b.Tx: the batch's transaction belongs to the runtime"},
		"commit after others": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			_, err := b.Tx.ExecContext(ctx, "SELECT 1; /* now */ commit and chain")
			return taskkit.More, err
		}, "misuse", "run COMMIT AND CHAIN on b.Tx"},
		"begin, ignored": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			next, err := count(ctx, b, "w")
			_, _ = b.Tx.ExecContext(ctx, "BEGIN")
			return next, err
		}, "misuse", "run BEGIN on b.Tx"},
		"rollback, ignored": {func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			next, err := count(ctx, b, "w")
			_, _ = b.Tx.ExecContext(ctx, "ROLLBACK")
			return next, err
		}, "misuse", "run ROLLBACK on b.Tx"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				makeTouch(t, db.DB)
				id := submitted(t, db, countKind, countSpec{Items: 3})
				started(t, db, registered(countKind, &funcs[countSpec, countState]{execute: tc.execute}), quick(t, db))
				task := ended(t, db, id)
				if tc.code == "" {
					if task.Status != taskkit.StatusCompleted {
						t.Fatalf("ended in %s: %s", task.Status, task.StatusDetail)
					}
					checkTouched(t, db.DB, id, 3)
					return
				}
				if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, tc.code+": ") || !strings.Contains(task.StatusDetail, tc.detail) {
					t.Errorf("ended in %s: %s; want FAILURE with %s and %q", task.Status, task.StatusDetail, tc.code, tc.detail)
				}
				want := 1
				if tc.code == "database" && !strings.Contains(name, "rows") {
					want = 3 // a statement that is refused as such
				}
				attempts, err := clientOf(db).Attempts(t.Context(), id, 10)
				if err != nil || len(attempts) != want {
					t.Errorf("%d attempts, want %d (%v)", len(attempts), want, err)
				}
				checkTouched(t, db.DB, id, 0)
			})
		})
	}
}
