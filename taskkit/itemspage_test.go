package taskkit_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// Pages have together what Items returns, of items with rows, of a set and of a ledger.
func TestItemsPage(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		set, ledger := badEvery("numbers_paged", ""), newLedgerKind("ledger_paged", 4, true)
		ofSet, ofLedger := submitted(t, db, set, below(23)), submitted(t, db, ledger, countSpec{Items: 23})
		started(t, db, registered(set, &funcs[numbersSpec, countState]{execute: func(ctx context.Context, b *numbersBatch) (taskkit.Next, error) {
			return touching(ctx, b, 5)
		}}), unhurried(t, db))
		started(t, db, registered(ledger, walking(func(_ context.Context, b *countBatch, page []int) error {
			for _, i := range page {
				if i%5 == 4 {
					b.Fail(i, errPlanned)
				} else {
					b.Succeed(i)
				}
			}
			return nil
		})), unhurried(t, db))
		for _, id := range []taskkit.ID{ofSet, ofLedger} {
			ended(t, db, id)
			for outcome, n := range map[taskkit.Outcome]int{taskkit.OutcomeFailed: 4, taskkit.OutcomeSucceeded: 19, taskkit.OutcomeSkipped: 0} {
				want := listed(t, db, id, outcome)
				if len(want) != n {
					t.Fatalf("%d %s items, want %d", len(want), outcome, n)
				}
				for _, limit := range []int{1, 3, 4, 19, 100} {
					if got := paged(t, db, id, outcome, limit); !reflect.DeepEqual(got, want) {
						t.Errorf("%s by %d:\n%v\nwant\n%v", outcome, limit, got, want)
					}
				}
			}
		}
	})
}

// paged returns the items of a task, read by so many.
func paged(t *testing.T, db *testdb.DB, id taskkit.ID, outcome taskkit.Outcome, limit int) (items []taskkit.Item) {
	t.Helper()
	for cursor := ""; ; {
		page, next, err := clientOf(db).ItemsPage(t.Context(), id, outcome, cursor, limit)
		if err != nil || len(page) > limit || next != "" && len(page) < limit {
			t.Fatalf("%d items, next %q: %v", len(page), next, err)
		}
		items = append(items, page...)
		if cursor = next; cursor == "" {
			return items
		}
	}
}

func TestItemsPageRefuses(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	migrated(t, db)
	for _, c := range []struct {
		cursor string
		limit  int
	}{
		{"x", 1},
		{"f" + strings.Repeat("0", 79), 1}, // negative
		{strings.Repeat("0", 79), 1},
		{"", 0},
		{"", 10_001},
	} {
		if _, _, err := clientOf(db).ItemsPage(t.Context(), uuid.New(), taskkit.OutcomeFailed, c.cursor, c.limit); !isOptionError(err) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
