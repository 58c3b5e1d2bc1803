package taskkit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// deadlock is an error as a database reports a deadlock.
type deadlock struct{}

func (deadlock) Error() string    { return "deadlock detected" }
func (deadlock) SQLState() string { return "40P01" }

// A transient error ends Each at once; the batch is tried again whole, and nothing
// of the first attempt is recorded twice.
func TestEachTransient(t *testing.T) {
	t.Parallel()
	spec := rowSpec{Items: 500, Bad: []int{100, 300}}
	for name, handle := range map[string]func(ctx context.Context, b *rowBatch, each func() error) error{
		"returned": func(_ context.Context, _ *rowBatch, each func() error) error { return each() },
		"ignored": func(_ context.Context, _ *rowBatch, each func() error) error {
			_ = each()
			return nil
		},
		// A savepoint around Each undoes what had been kept, in the database and in
		// the counts.
		"undone": func(ctx context.Context, b *rowBatch, each func() error) error {
			if err := b.Try(ctx, each); err != nil {
				return each()
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				makeRows(t, db)
				var calls atomic.Int64
				x := &funcs[rowSpec, rowState]{execute: func(ctx context.Context, b *rowBatch) (taskkit.Next, error) {
					items, next := taskkit.Take(b, upTo(b.Spec.Items))
					return next, handle(ctx, b, func() error {
						return taskkit.Each(ctx, b, items, func(ctx context.Context, items []int) error {
							// After the first bad item has failed alone, and others were kept.
							if err := insertRows(ctx, b, items); err != nil || calls.Add(1) != 7 {
								return err
							}
							return fmt.Errorf("insert: %w", deadlock{})
						})
					})
				}}
				task := ranRows(t, db, x, spec)
				checkRows(t, db, task, spec, "item_failed", "positive")
				want := 1 // failed attempts
				if name == "undone" {
					want = 0
				}
				attempts, err := clientOf(db).Attempts(t.Context(), task.ID, 10)
				if err != nil || len(attempts) != want {
					t.Errorf("failed attempts %+v (%v), want %d", attempts, err, want)
				}
			})
		})
	}
}

// An error that concerns every item ends the batch after one call, and no item is
// blamed for it.
func TestEachErrorsOfTheBatch(t *testing.T) {
	t.Parallel()
	statement := func(query string) func(context.Context, *rowBatch) error {
		return func(ctx context.Context, b *rowBatch) error {
			_, err := b.Tx.ExecContext(ctx, query)
			return err
		}
	}
	for name, tc := range map[string]struct {
		do   func(ctx context.Context, b *rowBatch) error
		code string
	}{
		"unknown table":    {statement("INSERT INTO no_such_table VALUES (1)"), "database: "},
		"unknown column":   {statement("UPDATE line SET no_such_column = 1"), "database: "},
		"wrong syntax":     {statement("INSERT line"), "database: "},
		"unknown function": {statement("SELECT no_such_function(1)"), "database: "},
		"COMMIT":           {statement("COMMIT"), "misuse: "},
		"savepoint":        {statement("RELEASE SAVEPOINT nowhere"), "database: "},
		"panic":            {func(context.Context, *rowBatch) error { panic("nobody expects") }, "panic: nobody expects"},
		"unmarked":         {func(context.Context, *rowBatch) error { return errPlanned }, "error: gave up after 3 tries"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				makeRows(t, db)
				var calls atomic.Int64
				task := ranRows(t, db, eachRow(func(ctx context.Context, b *rowBatch, items []int) error {
					calls.Add(1)
					if err := insertRows(ctx, b, items); err != nil {
						return err
					}
					return tc.do(ctx, b)
				}), rowSpec{Items: 10})
				if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, tc.code) || task.Progress.Failed != 0 {
					t.Errorf("ended in %s %q with %+v, want FAILURE %q and no failed item", task.Status, task.StatusDetail, task.Progress, tc.code)
				}
				want := int64(1)
				if strings.HasPrefix(name, "un") || name == "wrong syntax" {
					want = 3 // an attempt each
				}
				if n := calls.Load(); n != want {
					t.Errorf("%d calls, want %d", n, want)
				}
			})
		})
	}
}

// What panics inside Each leaves neither rows nor records, also when the executor
// recovers.
func TestEachPanicRecovered(t *testing.T) {
	t.Parallel()
	spec := rowSpec{Items: 20, Bad: []int{2}}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeRows(t, db)
		x := &funcs[rowSpec, rowState]{execute: func(ctx context.Context, b *rowBatch) (taskkit.Next, error) {
			items, next := taskkit.Take(b, upTo(b.Spec.Items))
			insert := func(ctx context.Context, items []int) error { return insertRows(ctx, b, items) }
			err := b.Try(ctx, func() (err error) {
				defer func() {
					if v := recover(); v != nil {
						err = fmt.Errorf("recovered: %v", v)
					}
				}()
				return taskkit.Each(ctx, b, items, func(ctx context.Context, items []int) error {
					if err := insert(ctx, items); err != nil {
						return err
					}
					if slices.Contains(items, 19) {
						panic("at the end")
					}
					return nil
				})
			})
			if err == nil {
				return next, taskkit.Permanent("no_panic", nil)
			}
			return next, taskkit.Each(ctx, b, items, insert)
		}}
		checkRows(t, db, ranRows(t, db, x, spec), spec, "item_failed", "positive")
	})
}

// A statement that is too large halves the batch. One that is too large for a single
// item is that item's error.
func TestEachTooLarge(t *testing.T) {
	t.Parallel()
	spec := rowSpec{Items: 9, Bad: []int{6}}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeRows(t, db)
		var limits recordedLimits
		x := &funcs[rowSpec, rowState]{execute: func(ctx context.Context, b *rowBatch) (taskkit.Next, error) {
			limits.add(b.Limit)
			items, next := taskkit.Take(b, upTo(b.Spec.Items))
			return next, taskkit.Each(ctx, b, items, func(ctx context.Context, items []int) error {
				if slices.Contains(items, 6) {
					return tooLargeRows(ctx, db.Dialect, b)
				}
				return insertRows(ctx, b, items)
			})
		}}
		k := newKind[rowSpec, rowState]("rows", 8)
		id := submitted(t, db, k, spec)
		started(t, db, registered(k, x), quick(t, db))
		task := ended(t, db, id)
		checkRows(t, db, task, spec, "item_failed", "")
		if got := limits.all(); !slices.Equal(got[:4], []int{8, 4, 4, 2}) || !slices.Contains(got, 1) {
			t.Errorf("the limits are %v, want 8, 4, 4, 2 and later 1", got)
		}
	})
}

// tooLargeRows runs a statement with more parameters than either database takes.
func tooLargeRows(ctx context.Context, d dialect.Name, b *rowBatch) error {
	if d == dialect.SQLite {
		_, err := b.Tx.ExecContext(ctx, "SELECT ?40000")
		return err
	}
	args := make([]any, 70_000)
	for i := range args {
		args[i] = 1
	}
	_, err := b.Tx.ExecContext(ctx, "SELECT $1::integer"+manyParameters(len(args)), args...)
	return err
}

func manyParameters(n int) string {
	var text strings.Builder
	for i := 2; i <= n; i++ {
		fmt.Fprintf(&text, ", $%d::integer", i)
	}
	return text.String()
}

// An item that fails because the batch's time is over is not blamed for that, also
// when its error is marked.
func TestEachContextEnds(t *testing.T) {
	t.Parallel()
	spec := rowSpec{Items: 8}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeRows(t, db)
		x := eachRow(func(ctx context.Context, b *rowBatch, items []int) error {
			if b.Attempt == 1 && len(items) == 1 {
				<-ctx.Done()
			}
			if b.Attempt == 1 && slices.Contains(items, 0) {
				return taskkit.Permanent("no_answer", errPlanned)
			}
			return insertRows(ctx, b, items)
		})
		id := submitted(t, db, rowKind, spec)
		c := quick(t, db)
		c.BatchTimeout, c.MaxAttempts = 5*time.Second, 100 // a busy machine may need more than two
		started(t, db, registered(rowKind, x), c)
		task := ended(t, db, id)
		checkRows(t, db, task, spec, "", "")
		attempts, err := clientOf(db).Attempts(t.Context(), task.ID, 100)
		if err != nil || len(attempts) == 0 {
			t.Fatalf("failed attempts %+v (%v), want one", attempts, err)
		}
		for _, a := range attempts {
			if a.Code != "batch_timeout" || a.Attempt == 1 && !strings.Contains(a.Detail, "no_answer") {
				t.Errorf("failed attempt %+v, want batch_timeout, the first with the last error", a)
			}
		}
	})
}

// A call without a function says what to pass, with items and without.
func TestEachWithoutFunction(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeRows(t, db)
		for _, n := range []int{0, 1} {
			x := &funcs[rowSpec, rowState]{execute: func(ctx context.Context, b *rowBatch) (taskkit.Next, error) {
				return taskkit.Done, taskkit.Each(ctx, b, make([]int, n), nil)
			}}
			k := newKind[rowSpec, rowState](fmt.Sprint("nil", n), 1)
			id := submitted(t, db, k, rowSpec{})
			started(t, db, registered(k, x), quick(t, db))
			if task := ended(t, db, id); task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "misuse: ") {
				t.Errorf("%d items: ended in %s %q, want FAILURE misuse", n, task.Status, task.StatusDetail)
			}
		}
	})
}
