package proptest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// What is wrong with an item. An item whose fate has none of these is good.
const (
	refusedRow = "refused" // a constraint refuses its row
	ignoredRow = "ignored" // the same, and the function does not report it
	markedItem = "marked"  // the function returns a marked error after its writes
	noted      = "noted"   // the function itself records it as failed
	skipped    = "skipped" // the function itself records it as skipped
)

// itemsSpec has the fate of each item, and the calls, counted over all attempts,
// that end in a transient error after their writes.
type itemsSpec struct {
	Fates []string     `json:"fates"`
	Flaky map[int]bool `json:"flaky"`
}

// itemsExecutor passes its items to Each.
type itemsExecutor struct{ calls atomic.Int64 }

func (x *itemsExecutor) Execute(ctx context.Context, b *taskkit.Batch[itemsSpec, struct{}]) (taskkit.Next, error) {
	all := make([]int, len(b.Spec.Fates))
	for i := range all {
		all[i] = i
	}
	items, next := taskkit.Take(b, all)
	return next, taskkit.Each(ctx, b, items, func(ctx context.Context, items []int) error {
		call := int(x.calls.Add(1))
		ignored, err := x.write(ctx, b, items)
		switch {
		case err != nil && !ignored:
			return err
		case slices.ContainsFunc(items, func(i int) bool { return b.Spec.Fates[i] == markedItem }):
			return taskkit.Permanent("marked", errors.New("planned"))
		case b.Spec.Flaky[call]:
			return errors.New("planned")
		}
		return nil
	})
}

// write inserts a row for each item and records what the function is to record. It
// reports whether the caller ignores its error.
func (x *itemsExecutor) write(ctx context.Context, b *taskkit.Batch[itemsSpec, struct{}], items []int) (ignored bool, err error) {
	var values []string
	for _, i := range items {
		value := 1
		switch b.Spec.Fates[i] {
		case refusedRow:
			value = -1
		case ignoredRow:
			value, ignored = -1, true
		case noted:
			b.Fail(i, taskkit.Permanent("noted", nil))
			continue
		case skipped:
			b.Skip(i, "skipped")
		}
		values = append(values, fmt.Sprintf("('%s', %d, %d)", b.Task, i, value))
	}
	if len(values) == 0 {
		return false, nil
	}
	_, err = b.Tx.ExecContext(ctx, "INSERT INTO item (task, item, value) VALUES "+strings.Join(values, ", "))
	return ignored, err
}

// checkEach runs one task whose items are drawn: every bad item fails once, every
// other item is written once, and nothing else is recorded.
func (p *database) checkEach(t *rapid.T) {
	fate := rapid.SampledFrom([]string{"", "", "", "", "", refusedRow, ignoredRow, markedItem, noted, skipped})
	s := itemsSpec{Fates: rapid.SliceOfN(fate, 1, 60).Draw(t, "fates"), Flaky: map[int]bool{}}
	for range rapid.IntRange(0, maxAttempts-1).Draw(t, "transient errors") {
		s.Flaky[rapid.IntRange(1, 40).Draw(t, "call")] = true
	}
	name := "e" + strings.ReplaceAll(uuid.NewString(), "-", "")
	k := taskkit.NewKind(taskkind.Definition[itemsSpec, struct{}, struct{}]{
		Name: name, Queue: name, BatchSize: rapid.IntRange(1, 60).Draw(t, "batch"),
	})
	id, err := taskkit.Submit(t.Context(), p.db, k, s, taskkit.System(), taskkit.WithSchema(p.schema))
	if err != nil {
		t.Fatal(err)
	}
	var r taskkit.Registry
	taskkit.Register(&r, k, &itemsExecutor{})
	w, err := taskkit.NewWorker(context.Background(), p.db, &r, taskkit.Config{
		Schema: p.schema, Queues: []string{name}, Slots: 1, BatchTimeout: 40 * time.Second, Poll: 10 * time.Millisecond, PollListening: 50 * time.Millisecond,
		Backoff: time.Millisecond, BackoffMax: 4 * time.Millisecond, MaxAttempts: maxAttempts, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	client := taskkit.NewClient(p.db, taskkit.WithSchema(p.schema))
	waiting, give := context.WithTimeout(t.Context(), p.patience)
	defer give()
	task, err := client.Wait(waiting, id, nil)
	stop()
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	p.checkItems(t, client, task, s.Fates)
}

// checkItems compares what a task did with its items with their fates.
func (p *database) checkItems(t *rapid.T, client *taskkit.Client, task *taskkit.Task, fates []string) {
	codes := map[string]string{refusedRow: "item_failed", ignoredRow: "item_failed", markedItem: "marked", noted: "noted"}
	failed, rows := make(map[string]string), make(map[int]int)
	want := taskkit.Progress{Total: int64(len(fates))}
	for i, fate := range fates {
		switch code, bad := codes[fate]; {
		case bad:
			failed[fmt.Sprint(i)] = code
			want.Failed++
			continue
		case fate == skipped:
			want.Skipped++
		default:
			want.Done++
		}
		rows[i] = 1
	}
	if task.Status != taskkit.StatusCompleted || task.Progress != want {
		t.Fatalf("the task is %s %q with %+v, want %+v", task.Status, task.StatusDetail, task.Progress, want)
	}
	got := make(map[string]string)
	for i, err := range client.Items(t.Context(), task.ID, taskkit.OutcomeFailed) {
		if err != nil {
			t.Fatal(err)
		}
		got[i.Text()] = i.Code
	}
	if fmt.Sprint(got) != fmt.Sprint(failed) {
		t.Fatalf("failed items %v, want %v", got, failed)
	}
	if written := p.written(t, task.ID); fmt.Sprint(written) != fmt.Sprint(rows) {
		t.Fatalf("rows by item %v, want %v", written, rows)
	}
}

// written counts the rows of a task's items.
func (p *database) written(t *rapid.T, id taskkit.ID) map[int]int {
	rows, err := p.db.QueryContext(t.Context(), "SELECT item, count(*) FROM item WHERE task = $1 GROUP BY item", id.String())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := make(map[int]int)
	for rows.Next() {
		var item, times int
		if err := rows.Scan(&item, &times); err != nil {
			t.Fatal(err)
		}
		n[item] = times
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// withItems makes a database ready for checks of Each.
func withItems(tb testing.TB, db *testdb.DB) *database {
	tb.Helper()
	if _, err := db.ExecContext(tb.Context(), "CREATE TABLE item (task text NOT NULL, item integer NOT NULL, value integer NOT NULL CHECK (value > 0))"); err != nil {
		tb.Fatal(err)
	}
	return newPlace(tb, db)
}

func TestEachAgainstModel(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) { rapid.Check(t, withItems(t, db).checkEach) })
}

// FuzzEach lets the fuzzer draw.
func FuzzEach(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(withItems(f, testdb.SQLite(f)).checkEach))
}
