package taskkit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// A preview that would change more rows than it may fails with that batch, and cannot be
// applied. One that keeps to its limits completes.
func TestMaxChanges(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeSeats(t, db, 100)
		c, k, before := clientOf(db), seatKind(10), seats(t, db)
		x := &funcs[seatSpec, seatState]{execute: func(ctx context.Context, b *seatBatch) (taskkit.Next, error) {
			items, next := taskkit.Take(b, b.Spec.Seats)
			for _, s := range items {
				if _, err := b.Tx.ExecContext(ctx, "UPDATE seat SET status = 'kept' WHERE id = $1", s); err != nil {
					return next, err
				}
			}
			if len(b.Spec.Seats) == 7 {
				if _, err := b.Tx.ExecContext(ctx, "CREATE TABLE other_seat (id integer)"); err != nil {
					return next, err
				}
			}
			_, err := b.Tx.ExecContext(ctx, `INSERT INTO "Seat log" (seat, note) VALUES ($1, 'seen')`, items[0])
			return next, err
		}}
		started(t, db, registered(k, x), quick(t, db))
		for name, tc := range map[string]struct {
			seats  int
			limits []taskkit.SubmitOption
			says   string // "": it completes
			done   int64
		}{
			"kept to":       {25, []taskkit.SubmitOption{taskkit.WithMaxChanges("Seat", "update", 25), taskkit.WithMaxChanges("seat log", "", 3), taskkit.WithMaxChanges("", "delete", 0)}, "", 25},
			"the 25th":      {25, []taskkit.SubmitOption{taskkit.WithMaxChanges("seat", "update", 24)}, "it would update 25 rows of seat, and 24 at most are allowed", 20},
			"none":          {25, []taskkit.SubmitOption{taskkit.WithMaxChanges("", "", 100), taskkit.WithMaxChanges("", "insert", 0)}, "it would insert 1 rows of all tables", 0},
			"all together":  {25, []taskkit.SubmitOption{taskkit.WithMaxChanges("", "", 22)}, "it would change 28 rows of all tables", 20},
			"unknown rows":  {7, []taskkit.SubmitOption{taskkit.WithMaxChanges("other", "", 9)}, "of which the database does not tell the rows", 0},
			"without limit": {7, nil, "", 7},
		} {
			id := submitted(t, db, k, upToSeats(tc.seats), append(tc.limits, taskkit.WithPreview())...)
			task := ended(t, db, id)
			if tc.says == "" {
				if task.Status != taskkit.StatusCompleted || task.Progress.Done != tc.done {
					t.Errorf("%s: %s (%s) with %+v", name, task.Status, task.StatusDetail, task.Progress)
				}
				continue
			}
			if task.Status != taskkit.StatusFailure || !strings.HasPrefix(task.StatusDetail, "max_changes: ") || !strings.Contains(task.StatusDetail, tc.says) || task.Progress.Done != tc.done {
				t.Errorf("%s: %s (%s) with %+v, want FAILURE after %d seats that says %q", name, task.Status, task.StatusDetail, task.Progress, tc.done, tc.says)
			}
			if _, err := c.Apply(t.Context(), id); !asPreviewError(err, "ended in FAILURE") {
				t.Errorf("%s: applied with %v", name, err)
			}
		}
		if after := seats(t, db); !slices.Equal(before, after) {
			t.Error("rows have changed")
		}
	})
}

// Limits that are none are refused, and nothing is stored.
func TestMaxChangesRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := seatKind(10)
		for says, opts := range map[string][]taskkit.SubmitOption{
			"only a preview counts":    {taskkit.WithMaxChanges("seat", "", 1)},
			"0 at least":               {taskkit.WithMaxChanges("seat", "", -1), taskkit.WithPreview()},
			"is no verb":               {taskkit.WithMaxChanges("seat", "UPSERT", 1), taskkit.WithPreview()},
			"more than 100 limits":     append(slices.Repeat([]taskkit.SubmitOption{taskkit.WithMaxChanges("", "", 1)}, 101), taskkit.WithPreview()),
			"NUL byte":                 {taskkit.WithMaxChanges("a\x00", "", 1), taskkit.WithPreview()},
			"201 bytes, more than 200": {taskkit.WithMaxChanges(strings.Repeat("a", 201), "", 1), taskkit.WithPreview()},
		} {
			_, err := taskkit.Submit(t.Context(), db.DB, k, upToSeats(3), append(opts, taskkit.System(), taskkit.WithSchema(schemaOf(db)))...)
			if option, ok := errors.AsType[*taskkit.OptionError](err); !ok || option.Option != "WithMaxChanges" || !strings.Contains(err.Error(), says) {
				t.Errorf("%v, want an *OptionError that says %q", err, says)
			}
		}
		checkStored(t, db, 0, 0)
		_, err := clientOf(db).Apply(t.Context(), taskkit.ID{1}, taskkit.WithMaxChanges("seat", "", 1))
		if option, ok := errors.AsType[*taskkit.OptionError](err); !ok || option.Option != "WithMaxChanges" {
			t.Errorf("Apply: %v, want an *OptionError", err)
		}
	})
}
