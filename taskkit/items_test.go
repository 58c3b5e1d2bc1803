package taskkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// key is an item that is a small struct.
type key struct {
	Person uuid.UUID `json:"person"`
	Course int       `json:"course"`
}

// An item comes back as it was, with its position in the list where it is an element
// of it.
func TestItemsComeBack(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		type spec struct {
			Keys []key `json:"keys"`
		}
		type none struct{}
		person, pair := uuid.New(), key{uuid.New(), 7}
		k := newKind[spec, none]("keys", 10)
		x := &funcs[spec, none]{execute: func(_ context.Context, b *taskkit.Batch[spec, none]) (taskkit.Next, error) {
			keys, next := taskkit.Take(b, b.Spec.Keys)
			b.Fail(keys[1], taskkit.Permanent("gone", nil))
			b.Fail(person, errPlanned)
			b.Fail(1<<53+1, errPlanned)
			b.Fail(strings.Repeat("x", 5000), errPlanned)
			return next, nil
		}}
		id := submitted(t, db, k, spec{Keys: []key{{uuid.New(), 1}, pair, {uuid.New(), 2}, {uuid.New(), 3}}})
		started(t, db, registered(k, x), quick(t, db))
		if task := ended(t, db, id); task.Progress != (taskkit.Progress{Total: 4, Failed: 4}) {
			t.Errorf("progress %+v, want 4 failed", task.Progress)
		}
		items := listed(t, db, id, taskkit.OutcomeFailed)
		if len(items) != 4 {
			t.Fatalf("items %+v, want 4", items)
		}
		for i, want := range []any{person, 1<<53 + 1, nil, pair} { // those of unknown position come first
			if want == nil {
				continue
			}
			got := reflect.New(reflect.TypeOf(want))
			if err := json.Unmarshal(items[i].Key, got.Interface()); err != nil || got.Elem().Interface() != want {
				t.Errorf("item %s (%v), want %v", items[i].Key, err, want)
			}
		}
		if items[3].Position != 2 || items[0].Position != 0 || items[3].Code != "gone" || items[0].Code != "item_failed" {
			t.Errorf("items %+v, want the last at position 2 and with its code", items)
		}
		if text := items[2].Text(); len(text) > 1024 || !strings.HasPrefix(text, "xxx") || !strings.Contains(text, "sha256") {
			t.Errorf("a long item is %q, want it cut, with a hash", text)
		}
	})
}

// An item has one row, with its last outcome: in one batch it also counts once.
func TestItemsLastOutcome(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("again", 1)
		x := &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			b.State.Next++
			switch {
			case b.State.Next == 1:
				b.Fail("a", errPlanned)
				b.Fail("a", taskkit.Permanent("gone", nil))
				b.Fail("b", nil)
				b.Skip("b", "")
				b.Advance(3)
				return taskkit.More, nil
			case b.Attempt == 1:
				b.Fail("c", errPlanned) // not committed
				return taskkit.More, errPlanned
			default:
				b.Advance(1)
				b.Skip("a", "found")
				return taskkit.Done, nil
			}
		}}
		id := submitted(t, db, k, countSpec{})
		started(t, db, registered(k, x), quick(t, db))
		task := ended(t, db, id)
		if p := task.Progress; p.Done != 1 || p.Failed != 1 || p.Skipped != 2 {
			t.Errorf("progress %+v, want 1 done, 1 failed, 2 skipped", p)
		}
		if failed := listed(t, db, id, taskkit.OutcomeFailed); len(failed) != 0 {
			t.Errorf("failed items %+v, want none", failed)
		}
		var got []string
		for _, i := range listed(t, db, id, taskkit.OutcomeSkipped) {
			got = append(got, fmt.Sprint(i.Text(), " ", i.Code, " ", i.Attempt))
		}
		if want := []string{"a found 2", "b skipped 1"}; !reflect.DeepEqual(got, want) {
			t.Errorf("skipped items %q, want %q", got, want)
		}
	})
}

// The list of items is longer than a page, in order, and can be left early.
func TestItemsInPages(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		const n = 2500
		k := newKind[countSpec, countState]("many", 1000)
		x := &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			for range b.Limit {
				if b.State.Next++; b.State.Next%10 == 0 {
					b.Skip(b.State.Next, "even")
				} else {
					b.Fail(b.State.Next, nil)
				}
				if b.State.Next == n {
					return taskkit.Done, nil
				}
			}
			return taskkit.More, nil
		}}
		id := submitted(t, db, k, countSpec{})
		started(t, db, registered(k, x), quick(t, db))
		if p := ended(t, db, id).Progress; p.Failed != n-n/10 || p.Skipped != n/10 {
			t.Errorf("progress %+v", p)
		}
		next := 1
		for _, i := range listed(t, db, id, taskkit.OutcomeFailed) {
			if i.Text() != fmt.Sprint(next) {
				t.Fatalf("item %s, want %d", i.Key, next)
			}
			if next++; next%10 == 0 {
				next++
			}
		}
		if next != n+1 {
			t.Errorf("the list ends before item %d of %d", next, n)
		}
		seen := 0
		for _, err := range clientOf(db).Items(t.Context(), id, taskkit.OutcomeSkipped) {
			if seen++; err != nil || seen == 3 {
				break
			}
		}
	})
}

// What cannot be listed is an error, and so is a task that is not there.
func TestItemsRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		id := submitted(t, db, countKind, countSpec{})
		first := func(ctx context.Context, id taskkit.ID, o taskkit.Outcome) (n int, last error) {
			for _, err := range clientOf(db).Items(ctx, id, o) {
				n, last = n+1, err
			}
			return n, last
		}
		for _, o := range []taskkit.Outcome{"", "nonsense"} {
			if n, err := first(t.Context(), id, o); n != 1 || !isOptionError(err) {
				t.Errorf("outcome %q: %d elements, %v; want an OptionError", o, n, err)
			}
		}
		if n, err := first(t.Context(), uuid.New(), taskkit.OutcomeFailed); n != 1 || !errors.Is(err, taskkit.ErrNotFound) {
			t.Errorf("no task: %d elements, %v; want ErrNotFound", n, err)
		}
		if n, err := first(t.Context(), id, taskkit.OutcomeFailed); n != 0 || err != nil {
			t.Errorf("no items: %d elements, %v; want none", n, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if n, err := first(ctx, id, taskkit.OutcomeFailed); n != 1 || !errors.Is(err, context.Canceled) {
			t.Errorf("a context that has ended: %d elements, %v", n, err)
		}
	})
}

// The items of a task that is removed while they are read end with ErrNotFound, whatever is
// missing then.
func TestItemsOfRemovedTask(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		for _, n := range []int{1, 1000, 1001, 2500} { // with and without a page to read after the first item
			id := submitted(t, db, overKind[int]("removed"), overSpec[int]{Remark: "n"}, taskkit.WithTargets(slices.Values(numbers(n))))
			read, last := 0, error(nil)
			for _, err := range clientOf(db).Items(t.Context(), id, taskkit.OutcomeUnprocessed) {
				if last = err; err != nil {
					continue
				}
				if read++; read > 1 {
					continue
				}
				if _, err := clientOf(db).Delete(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
			if read != min(n, 1000) || !errors.Is(last, taskkit.ErrNotFound) {
				t.Errorf("of %d items %d were read, and then %v; want ErrNotFound", n, read, last)
			}
		}
	})
}
