package taskkit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// recordedLimits collects the b.Limit of each call of an executor.
type recordedLimits struct {
	mu     sync.Mutex
	limits []int
}

func (r *recordedLimits) add(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limits = append(r.limits, n)
}

func (r *recordedLimits) all() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.limits)
}

// insertItems touches the items [from, to) by one statement with three parameters
// for each, written as ent does: SQLite takes long to look up thousands by name.
func insertItems(ctx context.Context, d dialect.Name, b *countBatch, from, to int) error {
	var query strings.Builder
	query.WriteString("INSERT INTO touch (task, item, worker) VALUES ")
	args := make([]any, 0, 3*(to-from))
	for i := from; i < to; i++ {
		if i > from {
			query.WriteString(", ")
		}
		if n := len(args); d == dialect.SQLite {
			query.WriteString("(?, ?, ?)")
		} else {
			fmt.Fprintf(&query, "($%d, $%d, $%d)", n+1, n+2, n+3)
		}
		args = append(args, b.Task.String(), i, "w")
	}
	_, err := b.Tx.ExecContext(ctx, query.String(), args...)
	return err
}

// When a statement has too many parameters because b.Limit grew, the limit is halved
// and stays below, and no attempt is spent.
func TestBatchTooLarge(t *testing.T) {
	t.Parallel()
	for name, ignored := range map[string]bool{"returned": false, "ignored": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				makeTouch(t, db.DB)
				const items, first = 75_000, 8_000
				most := 65_535 / 3
				if db.Dialect == dialect.SQLite {
					most = 32_766 / 3
				}
				var seen recordedLimits
				x := &funcs[countSpec, countState]{execute: func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
					seen.add(b.Limit)
					from, to := b.State.Next, min(b.State.Next+b.Limit, b.Spec.Items)
					if err := insertItems(ctx, db.Dialect, b, from, to); err != nil && !ignored {
						return taskkit.More, err
					}
					b.Advance(to - from)
					b.State.Next = to
					if to == b.Spec.Items {
						return taskkit.Done, nil
					}
					return taskkit.More, nil
				}}
				k := newKind[countSpec, countState]("count", first)
				id := submitted(t, db, k, countSpec{Items: items})
				c := quick(t, db)
				c.BatchTarget = 20 * time.Second
				started(t, db, registered(k, x), c)
				task := ended(t, db, id)
				if task.Status != taskkit.StatusCompleted {
					t.Fatalf("ended in %s: %s", task.Status, task.StatusDetail)
				}
				checkTouched(t, db.DB, id, items)
				if attempts, err := clientOf(db).Attempts(t.Context(), id, 10); err != nil || len(attempts) != 0 {
					t.Errorf("failed attempts %+v (%v), want none", attempts, err)
				}
				limits := seen.all()
				over := slices.IndexFunc(limits, func(n int) bool { return n > most })
				if over < 0 {
					t.Fatalf("no batch was too large: %v", limits)
				}
				if rest := limits[over+1:]; len(rest) == 0 || slices.Max(rest) != limits[over]/2 {
					t.Errorf("the limits are %v, want none above %d after the first above %d", limits, limits[over]/2, most)
				}
			})
		})
	}
}

// tooLarge runs a statement that is refused for its size, which takes SQLite no time.
func tooLarge(ctx context.Context, d dialect.Name, b *countBatch) error {
	if d == dialect.SQLite {
		_, err := b.Tx.ExecContext(ctx, "SELECT ?40000")
		return err
	}
	return insertItems(ctx, d, b, 0, 30_000)
}

// A batch that was refused for its size and then took too long was too large: tried
// again as it is, it would be so again.
func TestBatchTooLargeAndTooLong(t *testing.T) {
	t.Parallel()
	for name, ignored := range map[string]bool{"returned": false, "ignored": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				makeTouch(t, db.DB)
				x := &funcs[countSpec, countState]{execute: func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
					err := tooLarge(ctx, db.Dialect, b)
					<-ctx.Done()
					if ignored {
						err = nil
					}
					return taskkit.Done, err
				}}
				k := newKind[countSpec, countState]("count", 1)
				id := submitted(t, db, k, countSpec{Items: 1})
				c := quick(t, db)
				c.BatchTimeout, c.MaxAttempts = 5*time.Second, 100 // where the statement takes that long, again
				started(t, db, registered(k, x), c)
				task := ended(t, db, id)
				if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "batch_too_large: ") {
					t.Errorf("ended in %s: %s; want FAILURE with batch_too_large", task.Status, task.StatusDetail)
				}
			})
		})
	}
}

// A statement that is too large at any b.Limit ends the task at once, with a code of
// its own.
func TestBatchTooLargeForOneItem(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		var seen recordedLimits
		x := &funcs[countSpec, countState]{execute: func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
			seen.add(b.Limit)
			return taskkit.Done, insertItems(ctx, db.Dialect, b, 0, 30_000)
		}}
		k := newKind[countSpec, countState]("count", 20)
		id := submitted(t, db, k, countSpec{Items: 1})
		c := quick(t, db)
		started(t, db, registered(k, x), c)
		task := ended(t, db, id)
		if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "batch_too_large: ") {
			t.Errorf("ended in %s: %s; want FAILURE with batch_too_large", task.Status, task.StatusDetail)
		}
		if got, want := seen.all(), []int{20, 10, 5, 2, 1}; !slices.Equal(got, want) {
			t.Errorf("limits %v, want %v", got, want)
		}
		if attempts, err := clientOf(db).Attempts(t.Context(), id, 10); err != nil || len(attempts) != 1 {
			t.Errorf("failed attempts %+v (%v), want one", attempts, err)
		}
		checkTouched(t, db.DB, id, 0)
	})
}

// Abort is called again with half of b.Limit when a statement of it is too large, and
// the task ends together with what Abort writes.
func TestAbortTooLarge(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		var seen recordedLimits
		const first = 30_000
		k := newKind[countSpec, countState]("count", first)
		x := &aborting[countSpec, countState]{
			funcs: funcs[countSpec, countState]{execute: func(context.Context, *countBatch) (taskkit.Next, error) {
				return taskkit.More, taskkit.Permanent("broken", errPlanned)
			}},
			abort: func(ctx context.Context, b *countBatch) error {
				seen.add(b.Limit)
				return insertItems(ctx, db.Dialect, b, 0, b.Limit)
			},
			report: func(context.Context, *countBatch) (string, error) { return "", nil },
		}
		id := submitted(t, db, k, countSpec{Items: 1})
		c := quick(t, db)
		started(t, db, registered[countSpec, countState](k, x), c)
		task := ended(t, db, id)
		if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "broken: ") || strings.Contains(task.StatusDetail, "could not be completed") {
			t.Errorf("ended in %s: %.200s; want FAILURE with the code broken", task.Status, task.StatusDetail)
		}
		limits := seen.all()
		if len(limits) < 2 || limits[0] != first || limits[1] != first/2 {
			t.Fatalf("the limits are %v, want %d halved", limits, first)
		}
		checkTouched(t, db.DB, id, limits[len(limits)-1])
	})
}
