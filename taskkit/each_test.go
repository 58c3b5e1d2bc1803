package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// rowSpec names the rows to insert. Those of bad items break a constraint.
type rowSpec struct {
	Items int   `json:"items"`
	Bad   []int `json:"bad,omitempty"`
}

type rowState struct{}

type rowBatch = taskkit.Batch[rowSpec, rowState]

var rowKind = newKind[rowSpec, rowState]("rows", 500)

func makeRows(tb testing.TB, db *testdb.DB) {
	tb.Helper()
	migrated(tb, db)
	if _, err := db.ExecContext(tb.Context(), "CREATE TABLE line (item integer NOT NULL UNIQUE, value integer NOT NULL CONSTRAINT positive CHECK (value > 0))"); err != nil {
		tb.Fatal(err)
	}
}

// insertRows inserts rows by one statement.
func insertRows(ctx context.Context, b *rowBatch, items []int) error {
	values := make([]string, len(items))
	for i, item := range items {
		value := 1
		if slices.Contains(b.Spec.Bad, item) {
			value = -1
		}
		values[i] = fmt.Sprintf("(%d, %d)", item, value)
	}
	_, err := b.Tx.ExecContext(ctx, "INSERT INTO line (item, value) VALUES "+strings.Join(values, ", "))
	return err
}

// upTo returns the numbers below n.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// eachRow is an executor that passes the items of its spec to Each.
func eachRow(f func(ctx context.Context, b *rowBatch, items []int) error) *funcs[rowSpec, rowState] {
	return &funcs[rowSpec, rowState]{execute: func(ctx context.Context, b *rowBatch) (taskkit.Next, error) {
		items, next := taskkit.Take(b, upTo(b.Spec.Items))
		return next, taskkit.Each(ctx, b, items, func(ctx context.Context, items []int) error { return f(ctx, b, items) })
	}}
}

// ranRows runs one task to its end.
func ranRows(t *testing.T, db *testdb.DB, x taskkit.Executor[rowSpec, rowState], spec rowSpec) *taskkit.Task {
	t.Helper()
	id := submitted(t, db, rowKind, spec)
	c := quick(t, db)
	c.BatchTarget = 20 * time.Second // calls are counted: a busy machine must not make batches smaller
	started(t, db, registered(rowKind, x), c)
	return ended(t, db, id)
}

// checkRows fails the test unless the task has completed, its bad items have failed
// with a code and every other item has one row.
func checkRows(t *testing.T, db *testdb.DB, task *taskkit.Task, spec rowSpec, code, detail string) {
	t.Helper()
	if task.Status != taskkit.StatusCompleted {
		t.Fatalf("ended in %s: %s", task.Status, task.StatusDetail)
	}
	n, bad := int64(spec.Items), int64(len(spec.Bad))
	if want := (taskkit.Progress{Total: n, Done: n - bad, Failed: bad}); task.Progress != want {
		t.Errorf("progress %+v, want %+v", task.Progress, want)
	}
	var failed []string
	for _, i := range listed(t, db, task.ID, taskkit.OutcomeFailed) {
		failed = append(failed, i.Text())
		if i.Code != code || !strings.Contains(i.Detail, detail) {
			t.Errorf("item %s failed with %q: %s; want %q and %q", i.Text(), i.Code, i.Detail, code, detail)
		}
	}
	if want := fmt.Sprint(slices.Sorted(slices.Values(spec.Bad))); fmt.Sprint(failed) != want {
		t.Errorf("failed items %v, want %v", failed, want)
	}
	rows, err := db.QueryContext(t.Context(), "SELECT item FROM line ORDER BY item")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []int
	for rows.Next() {
		var item int
		if err := rows.Scan(&item); err != nil {
			t.Fatal(err)
		}
		got = append(got, item)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(upTo(spec.Items), func(i int) bool { return slices.Contains(spec.Bad, i) })
	if !slices.Equal(got, want) {
		t.Errorf("%d rows %v, want %d", len(got), got, len(want))
	}
}

// Each finds bad items by halves, and the good items of the batch commit together.
func TestEach(t *testing.T) {
	t.Parallel()
	spread := func(n int) (bad []int) {
		for i := range n {
			bad = append(bad, (7+i*(500/n))%500)
		}
		return bad
	}
	for name, tc := range map[string]struct {
		spec rowSpec
		most int64 // calls
	}{
		"none":   {rowSpec{Items: 500}, 1},
		"first":  {rowSpec{Items: 500, Bad: []int{0}}, 12},
		"last":   {rowSpec{Items: 500, Bad: []int{499}}, 12},
		"middle": {rowSpec{Items: 500, Bad: []int{250}}, 12},
		"50":     {rowSpec{Items: 500, Bad: spread(50)}, 320},
		"all":    {rowSpec{Items: 500, Bad: upTo(500)}, 520},
		"of one": {rowSpec{Items: 1, Bad: []int{0}}, 1},
		"of two": {rowSpec{Items: 2, Bad: []int{1}}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				makeRows(t, db)
				var calls atomic.Int64
				task := ranRows(t, db, eachRow(func(ctx context.Context, b *rowBatch, items []int) error {
					calls.Add(1)
					return insertRows(ctx, b, items)
				}), tc.spec)
				checkRows(t, db, task, tc.spec, "item_failed", "positive")
				t.Logf("%d calls", calls.Load())
				if n := calls.Load(); n > tc.most || task.Checkpoints != 1 {
					t.Errorf("%d calls and %d checkpoints, want at most %d and 1", n, task.Checkpoints, tc.most)
				}
			})
		})
	}
}

// Of a batch of 500 with three poison rows, 497 are committed together: no other
// connection sees one of them before, and their checkpoint is the only one.
func TestEachOf500WithThreePoisonRows(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeRows(t, db)
		spec := rowSpec{Items: 500, Bad: []int{7, 173, 339}}
		var calls, seen atomic.Int64
		task := ranRows(t, db, eachRow(func(ctx context.Context, b *rowBatch, items []int) error {
			calls.Add(1)
			err := insertRows(ctx, b, items)
			var others int64
			if qerr := db.QueryRowContext(ctx, "SELECT count(*) FROM line").Scan(&others); qerr != nil {
				return qerr
			}
			seen.Add(others)
			return err
		}), spec)
		checkRows(t, db, task, spec, "item_failed", "positive")
		t.Logf("%d calls for 500 rows, 497 of them committed by %d checkpoint", calls.Load(), task.Checkpoints)
		if calls.Load() > 40 || task.Checkpoints != 1 || seen.Load() != 0 {
			t.Errorf("%d calls, %d checkpoints, and %d rows seen before the commit; want at most 40, one and none",
				calls.Load(), task.Checkpoints, seen.Load())
		}
	})
}

// An error belongs to an item when it is marked, when data were refused, and when
// its statement failed although f returned nil.
func TestEachErrorsOfItems(t *testing.T) {
	t.Parallel()
	spec := rowSpec{Items: 20, Bad: []int{3, 4, 11}}
	bad := func(b *rowBatch, items []int) bool {
		return slices.ContainsFunc(items, func(i int) bool { return slices.Contains(b.Spec.Bad, i) })
	}
	for name, tc := range map[string]struct {
		do           func(ctx context.Context, b *rowBatch, items []int) error
		code, detail string
	}{
		"marked": {func(ctx context.Context, b *rowBatch, items []int) error {
			good := slices.DeleteFunc(slices.Clone(items), func(i int) bool { return slices.Contains(b.Spec.Bad, i) })
			if len(good) > 0 { // written, and undone with the rest of the call
				if err := insertRows(ctx, b, good); err != nil {
					return err
				}
			}
			if bad(b, items) {
				return fmt.Errorf("insert: %w", taskkit.Permanent("negative", errors.New("it owes us")))
			}
			return nil
		}, "negative", "it owes us"},
		"ignored": {func(ctx context.Context, b *rowBatch, items []int) error {
			_ = insertRows(ctx, b, items)
			return nil
		}, "item_failed", "positive"},
		"a function of SQL": {func(ctx context.Context, b *rowBatch, items []int) error {
			if bad(b, items) {
				if err := drained(ctx, b, "SELECT abs(-9223372036854775807 - 1)"); err != nil {
					return err
				}
			}
			return insertRows(ctx, b, items)
		}, "item_failed", ""},
		"ent": {func(ctx context.Context, b *rowBatch, items []int) error {
			for _, item := range items {
				value := 1
				if slices.Contains(b.Spec.Bad, item) {
					value = -1
				}
				if err := b.EntDriver().Exec(ctx, fmt.Sprintf("INSERT INTO line (item, value) VALUES (%d, %d)", item, value), []any{}, nil); err != nil {
					return err
				}
			}
			return nil
		}, "item_failed", "positive"},
		"taken keys": {func(ctx context.Context, b *rowBatch, items []int) error {
			for _, item := range items {
				if bad(b, []int{item}) {
					item = 0 // the key of the first
				}
				if _, err := b.Tx.ExecContext(ctx, "INSERT INTO line (item, value) VALUES ($1, 1)", item); err != nil {
					return err
				}
			}
			return nil
		}, "item_failed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				makeRows(t, db)
				checkRows(t, db, ranRows(t, db, eachRow(tc.do), spec), spec, tc.code, tc.detail)
			})
		})
	}
}

// drained runs a query and reads its rows.
func drained(ctx context.Context, b *rowBatch, query string) error {
	rows, err := b.Tx.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}
